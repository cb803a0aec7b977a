"""Postures in which closed loops are closed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import degrees, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...body import Body, ExtraJoint, JointType
from ...diagnostics import listed
from ...rigid import Array
from .constraints import Indices, LoopConstraints, loop_name
from .equations import LoopEquations, independent_columns

_MAX_CLOSED_GAP = 1e-6  # of a closed loop, in [m] and [rad]
_MAX_LISTED_JOINTS = 6  # in a message
_DISTANT_STARTS = 4  # of searches for closed postures far from the initial one
_REGULAR_STEP = 0.1  # to postures that are not singular, relative to the mechanism


class Gap(NamedTuple):
    """Error of a loop constraint.

    Attributes:
        length: In [m].
        angle: In [rad].
    """

    length: float
    angle: float

    def __str__(self) -> str:
        length, angle = self
        shown = f"{length:.4g} m" if length >= 1.0 else f"{1e3 * length:.4g} mm"
        parts = [shown] if length > 1e-9 or angle <= 1e-9 else []
        parts += [f"{degrees(angle):.3g} degrees"] if angle > 1e-9 else []
        return " and ".join(parts)


class LoopError(ValueError):
    """Loops cannot be closed; the message names the loop, the posture and the gap.

    Attributes:
        q: The posture with the smallest error, shape (n,).
    """

    def __init__(self, message: str, q: Array) -> None:
        super().__init__(message)
        self.q = q


class LoopClosure:
    """Closes the loops that extra joints make in a body.

    As many joints of the loops are dependent as the loops remove degrees of freedom. Joints
    without an id are chosen first, later ones before earlier ones, so that the actuated joints
    stay independent.

    Errors that no joint can change are ignored when closing: the offset along the common axis
    of a planar four-bar stays as modelled, and ``gap_messages`` reports it if it is not zero.

    Attributes:
        body: The model.
        extra_joints: The constraints that make the loops.
        ends: Pose of each extra joint's frame J in link A, and in link B when it is closed.
        axes: The axis of each extra joint, expressed in its frame J.
        joints: Joints in the loops, as elements of the joint vector, shape (m,).
        dependent: Those of them that follow from the others.
        independent: The others; as many as the loops have degrees of freedom.
        size: Longest lever arm of a joint on an end of a loop, in [m].
        assembled: Joint vector nearest to the model's initial posture with all loops closed, by
            moving only the dependent joints if possible, shape (n,).
        closes: Whether the loops are closed there; if not, no posture closes them.
        regular: Postures in which the dependent joints are determined by the others:
            ``assembled``, or some near it if that one is singular.

    Args:
        body: The model.
        extra_joints: Some of its extra joints; by default all.
        prefer: Names of links whose joints shall be independent before any others.

    Raises:
        KeyError: An extra joint names a link that does not exist.
        ValueError: A number is not finite or too large, or an axis is zero.
    """

    def __init__(
        self,
        body: Body,
        extra_joints: Sequence[ExtraJoint] | None = None,
        prefer: Iterable[str] = (),
    ) -> None:
        self.body = body
        self._constraints = LoopConstraints(body, extra_joints)
        self.extra_joints = self._constraints.extra_joints
        self.ends, self.axes = self._constraints.ends, self._constraints.axes
        self.joints = self._constraints.joints
        self._elements = self.joints.tolist()
        self._links = [body.moving_links[i] for i in self.joints]
        sliding = np.array([x.joint.type is JointType.PRISMATIC for x in self._links], dtype=bool)
        self._equations = LoopEquations(self._constraints, sliding)
        self._sums = self._constraints.sums()
        self.size = self._equations.size
        all_joints = np.ones(len(self.joints), dtype=bool)
        initial = self._equations.scaled(self._constraints.initial)
        x = self._equations.minimized(initial, all_joints)
        regular = self._regular_postures(x)
        preferred = np.isin([link.name for link in self._links], list(prefer))
        self._moved = self._dependent(regular, preferred)
        if (preferred & self._moved).any() and (~preferred & ~self._moved).any():
            regular += self._distant_postures(x)
            self._moved = self._dependent(regular, preferred)
        self.dependent: Indices = self.joints[self._moved]
        self.independent: Indices = self.joints[~self._moved]
        if self._equations.is_closed(x):
            nearest = self._equations.continued(x, initial, self._moved)
            x = x if nearest is None else nearest
        self.closes = self._equations.is_closed(x)
        rest = np.array([link.joint.initial for link in body.moving_links])
        self.assembled = self._joint_vector(x, rest, all_joints)
        starts = [x] if self._is_regular(x) else [y for y in regular if self._is_regular(y)]
        self.regular = tuple(self._joint_vector(y, rest, all_joints) for y in starts)

    def residual(self, q: Array) -> Array:
        """Return the errors of the extra joints, in [m] and [rad], shape (r,).

        Args:
            q: Joint positions, shape (n,).

        Returns:
            The rows of one extra joint after the other; see ``LoopConstraints``.
        """
        return self._constraints.residual(q[self.joints])

    def jacobian(self, q: Array) -> Array:
        """Return the derivative of ``residual`` by the joint positions, shape (r, n)."""
        J = np.zeros((sum(self._constraints.rows), len(q)))
        J[:, self.joints] = self._constraints.evaluate(q[self.joints])[1]
        return J

    def slopes(self, q: Array) -> Array:
        """Return the derivatives of the dependent joints by the independent ones.

        Args:
            q: A posture with closed loops, shape (n,).

        Returns:
            One row per element of ``dependent`` and one column per element of ``independent``;
            multiplied by the velocities of the independent joints it gives the others'.
        """
        return self._equations.slopes(self._equations.scaled(q[self.joints]), self._moved)

    @np.errstate(over="ignore", invalid="ignore")  # an overflow means out of reach
    def close(
        self, q: Array, given: Iterable[int] | None = None, near: Array | None = None
    ) -> Array:
        """Return a joint vector that closes the loops.

        The loops keep their assembly mode: the given joints move to their positions in steps so
        small that the solution cannot jump to another branch. Only if that path is blocked,
        another solution is searched.

        Args:
            q: Joint positions, shape (n,); those of joints not in ``given`` are a first guess.
            given: Joints that keep their positions, as elements of ``q``; by default all but
                the dependent ones. If they leave some freedom, the others move little.
            near: A posture with closed loops to start from. By default ``q`` itself if the
                loops are nearly closed there, else ``assembled``.

        Returns:
            As ``q``, but for the joints that are not given.

        Raises:
            LoopError: No posture was found; ``q`` of the error has the smallest gap.
        """
        moved = self._moved
        if given is not None:
            kept = set(given)
            moved = np.array([i not in kept for i in self._elements], dtype=bool)
        equations = self._equations
        target = equations.scaled(q[self.joints])
        x = equations.corrected(target, moved) if near is None else None
        if x is not None:
            return self._joint_vector(x, q, moved)
        postures = [self.assembled if near is None else near, *self.regular[:1]]
        starts = [equations.scaled(posture[self.joints]) for posture in postures]
        usual = moved is self._moved or np.array_equal(moved, self._moved)
        rank = len(self.dependent) if usual else 0
        ends = (equations.continued(start, target, moved, rank) for start in starts)
        x = next((end for end in ends if end is not None), None)
        if x is not None:
            return self._joint_vector(x, q, moved)
        x = equations.minimized(np.where(moved, starts[0], target), moved, pushes=1)
        closed = self._joint_vector(x, q, moved)
        if not equations.is_closed(x):
            raise LoopError(self._open_message(x, closed, moved), closed)
        return closed

    def gaps(self, q: Array) -> list[Gap]:
        """Return the gap of each extra joint, without the part that no joint can change.

        Args:
            q: Joint positions, shape (n,).
        """
        residual, upright = self._constraints.check(q[self.joints])
        gaps = self._gaps(self._equations.changing(residual))
        return [
            gap if is_upright else Gap(gap.length, pi)
            for gap, is_upright in zip(gaps, upright, strict=True)
        ]

    def positions_text(self, q: Array, joints: Collection[int]) -> str:
        """Return the positions of joints as text, such as "J1 = 0.5 rad, J2 = 0.1 m".

        Args:
            q: Joint positions, shape (n,).
            joints: Elements of ``q``; only the first few in the loops are listed.
        """
        positions = [
            f"{link.joint.name} = {q[i]:.4g} {link.joint.type.units.position}"
            for i, link in zip(self._elements, self._links, strict=True)
            if i in joints
        ]
        return listed(positions, _MAX_LISTED_JOINTS)

    def gap_messages(self) -> list[str]:
        """Return a sentence for each loop that is open in ``assembled``."""
        residual = self.residual(self.assembled)
        messages = []
        for joint, gap in zip(self.extra_joints, self._gaps(residual), strict=True):
            if max(gap) > _MAX_CLOSED_GAP:
                suffix = "in every posture" if self.closes else "and no posture closes it"
                messages.append(f"the loop '{loop_name(joint)}' is open by {gap} {suffix}")
        return messages

    def _joint_vector(self, x: Array, q: Array, moved: NDArray[np.bool_]) -> Array:
        """Return ``q`` with the positions of the moved joints taken from ``x``."""
        q = np.array(q, dtype=np.float64)
        q[self.joints[moved]] = self._equations.unscaled(x)[moved]
        return q

    def _regular_postures(self, x: Array) -> list[Array]:
        """Return a posture, and closed ones near it if there are any.

        Models are often drawn in a singular posture, such as folded flat, where the equations
        have a lower rank than elsewhere.
        """
        equations = self._equations
        if not equations.is_closed(x):
            return [x]
        random = np.random.default_rng(0)
        postures = [x]
        for _ in range(4):
            step = equations.free_direction(x, random)
            y = equations.corrected(x + _REGULAR_STEP * step, np.ones(len(x), dtype=bool))
            if y is not None and equations.is_closed(y):
                postures.append(y)
        return postures

    def _distant_postures(self, x: Array) -> list[Array]:
        """Return closed postures far from one.

        Two branches of motion may meet in the posture in which a model is drawn, and the
        dependencies of the joints differ between them.
        """
        random, all_joints = np.random.default_rng(0), np.ones(len(x), dtype=bool)
        starts = (x + random.normal(size=len(x)) for _ in range(_DISTANT_STARTS))
        ends = (self._equations.minimized(start, all_joints, pushes=0) for start in starts)
        return [y for y in ends if self._equations.is_closed(y)]

    def _is_regular(self, x: Array) -> bool:
        """Return whether the dependent joints are determined by the others."""
        J = self._equations.jacobian(x)[:, self._moved]
        count = int(J.shape[1])
        return len(independent_columns(J, range(count))) == count

    def _dependent(self, postures: list[Array], preferred: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Choose the dependent joints: the first columns that span the equations.

        Several postures are tried, as the rank may be lower in a singular one.
        """
        # Joints with ids come first in every joint vector.
        order = sorted(range(len(self.joints)), key=lambda i: (preferred[i], -i))
        bases = [independent_columns(self._equations.jacobian(x), order) for x in postures]
        rank = max(map(len, bases))
        chosen = min((x for x in bases if len(x) == rank), key=lambda x: [*map(order.index, x)])
        moved = np.zeros(len(order), dtype=bool)
        moved[chosen] = True
        return moved

    def _gaps(self, residual: Array) -> list[Gap]:
        """Return the gap of each extra joint."""
        squares = self._sums @ (residual * residual)
        return list(map(Gap, *np.sqrt(squares).tolist()))

    def _open_message(self, x: Array, q: Array, moved: NDArray[np.bool_]) -> str:
        residual, upright = self._constraints.check(self._equations.unscaled(x))
        gaps = self._gaps(residual)
        worst = max(range(len(gaps)), key=lambda i: (not upright[i], max(gaps[i])))
        name = loop_name(self.extra_joints[worst])
        positions = self.positions_text(q, self.joints[~moved].tolist())
        at = f" at {positions}" if positions else ""
        if not upright.all():
            return f"the loop '{name}' cannot close{at}: its axis would point backwards"
        return f"the loop '{name}' cannot close{at}: off by {gaps[worst]}"
