"""Compare the motion of a URDF, as a library computes it, with that of the Body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

import numpy as np

from ..body import Body
from ..rigid import Array
from .expected import Expected
from .library import DynamicRobot, LibraryMotion, LibraryRobot, Quantity
from .report import Differences, Row, not_applicable
from .states import (
    ForwardDynamics,
    MotionState,
    random_states,
    with_still_root,
    without_rotors,
)

MOTION_TOLERANCE = 1e-6
_EXACT = 1e-9
# In [m/s]: momentum is compared as if the whole robot moved at least at this speed.
_SLOW = 1e-3
_WITHOUT_ROTORS = "without the inertias of rotors, which a URDF lacks"
_NO_MASS = "the model has no mass"
NOTHING_MOVES = "nothing in the model moves"


class AccelerationDifferences:
    """Compares accelerations with those of a Body.

    Differences are relative to the root mean square of each joint's acceleration over all
    states, and of the root's, if that exceeds 1.

    Args:
        body: The model.
        states: States of motion.

    Attributes:
        reason: Why there is nothing to compare; empty if there is.
        expected: Accelerations in each state, shape (states, 6 + n) or (states, n).
    """

    def __init__(self, body: Body, states: Sequence[MotionState]) -> None:
        self.reason = ""
        self._first = 0 if body.is_root_fixed else 6
        self._names = [link.joint.name for link in body.moving_links]
        self._states = states
        dynamics = ForwardDynamics(body)
        if not self._first and not self._names:
            self.reason = NOTHING_MOVES
        elif name := next(filter(None, map(dynamics.singular_link, states)), ""):
            without = f"link '{name}' moves without positive, finite inertia"
            self.reason = f"{without}, so its acceleration is undefined"
        if self.reason:
            return
        self.expected = np.array([dynamics.accelerations(state) for state in states])
        square = np.mean(self.expected**2, axis=0)
        for root in (slice(0, 3), slice(3, 6)) if self._first else ():
            square[root] = square[root].sum()
        self.scale = np.maximum(np.sqrt(square), 1.0)

    def row(self, source: str, found: Array, reason: str = "") -> Row:
        """Return the row that compares accelerations of the same shape.

        Args:
            source: The library or engine that computed them.
            found: Accelerations in each state, shape as of ``expected``.
            reason: A note.
        """
        differences = Differences(source, Quantity.ACCELERATIONS.value, MOTION_TOLERANCE)
        for state, seen, wanted in zip(self._states, found, self.expected, strict=True):
            for i, error in enumerate(np.abs(seen - wanted) / self.scale):
                differences.add(float(error), f"{self._name(i)} in state {state.name}")
        return differences.row(reason)

    def _name(self, column: int) -> str:
        if column >= self._first:
            return f"joint '{self._names[column - self._first]}'"
        return "linear acceleration of the root" if column < 3 else "rotation of the root"


class MotionComparison:
    """Compares the motion of a URDF in random states.

    Args:
        expected: Values of the Body.
        count: Number of states.
        seed: Of the random states.
    """

    def __init__(self, expected: Expected, count: int, seed: int) -> None:
        self._expected = expected
        self._body = body = with_still_root(expected.body)
        self._states = list(random_states(body, count, seed, expected.fixed_root))
        self._with_rotors = AccelerationDifferences(body, self._states)
        self._has_rotors = any(x.joint.equivalent_rotor_inertia for x in body.moving_links)
        self._without_rotors = self._with_rotors
        if self._has_rotors:
            self._without_rotors = AccelerationDifferences(without_rotors(body), self._states)

    def rows(self, robot: LibraryRobot) -> Iterator[Row]:
        """Yield a row for accelerations and one for momentum."""
        is_left_out = self._has_rotors and not robot.has_rotors
        compared = self._without_rotors if is_left_out else self._with_rotors
        for quantity in (Quantity.ACCELERATIONS, Quantity.MOMENTUM):
            reason = robot.unknown.get(quantity, "") or compared.reason
            if reason:
                yield not_applicable(robot.library, quantity.value, reason)
                continue
            assert isinstance(robot, DynamicRobot)
            if quantity is Quantity.MOMENTUM:
                yield self._momentum(robot)
            else:
                found = np.array([self._accelerations(robot, state) for state in self._states])
                yield compared.row(robot.library, found, _WITHOUT_ROTORS if is_left_out else "")

    def _accelerations(self, robot: DynamicRobot, state: MotionState) -> Array:
        motion = self._motion(state)
        found = robot.accelerations(motion)
        joints = [found.joints.get(name, inf) for name in self._names]
        if not self._expected.has_free_root:
            return np.array(joints)
        r, dw = state.X_WR.p - motion.X_WU[:3, 3], found.root[3:]
        dv = found.root[:3] + np.cross(dw, r) + np.cross(state.w, np.cross(state.w, r))
        return np.concatenate([dv, dw, joints])

    def _momentum(self, robot: DynamicRobot) -> Row:
        if not self._body.total_mass:
            return not_applicable(robot.library, Quantity.MOMENTUM.value, _NO_MASS)
        dynamics = ForwardDynamics(self._body)
        differences = Differences(robot.library, Quantity.MOMENTUM.value, _EXACT)
        wanted = np.array([dynamics.momentum(state) for state in self._states])
        for parts, name in ((slice(0, 3), "linear"), (slice(3, 6), "angular")):
            scale = max(float(abs(wanted[:, parts]).max()), self._body.total_mass * _SLOW)
            for state, expected in zip(self._states, wanted, strict=True):
                seen = robot.momentum(self._motion(state))
                where = f"{name} momentum in state {state.name}"
                differences.arrays(seen[parts], expected[parts], scale, where)
        return differences.row()

    @property
    def _names(self) -> list[str]:
        names = self._expected.frames.joints
        return [names[link.name] for link in self._body.moving_links]

    def _motion(self, state: MotionState) -> LibraryMotion:
        """Return a state under the URDF's names."""

        def by_name(values: Array) -> Mapping[str, float]:
            return dict(zip(self._names, values.tolist(), strict=True))

        X_WU = self._expected.root_pose(state.X_WR)
        v = state.v + np.cross(state.w, X_WU[:3, 3] - state.X_WR.p)
        efforts = by_name(state.effort)
        return LibraryMotion(by_name(state.q), by_name(state.dq), efforts, X_WU, v, state.w)
