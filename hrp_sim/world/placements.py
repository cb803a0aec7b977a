"""Where the bodies of a simulation and their joints are and start, and the teleport of joints."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Set
from dataclasses import replace
from functools import lru_cache

import numpy as np

from hrp_model import Body, JointType, Pose
from hrp_model.diagnostics import names_with_hint
from hrp_model.kinematics.loops.closure import LoopClosure, LoopError
from hrp_model.rigid import Array

from ..control.command_queue import CommandQueue
from ..control.conversions import number
from ..engine.engine import Engine, Placement
from ..engine.state import ByName

# How far a position may be beyond its limit, and a closed loop from the given positions, in [rad]
# or [m]: stops and loops of simulated states yield a little.
_TOLERANCE = 1e-3


class Placements:
    """The present and initial placements of all bodies of a simulation.

    Args:
        engine: The physics.
        commands: The controllers of the joints.
        moved: Called with the name of a body after its joints were teleported.
    """

    def __init__(
        self, engine: Engine, commands: CommandQueue, moved: Callable[[str], None]
    ) -> None:
        self._engine, self._commands, self._moved = engine, commands, moved
        self._added = ByName[Placement]("body", {})
        # Replaced instead of changed, because other threads set it.
        self._initial: Mapping[str, Placement] = {}  # where they differ from ``_added``

    def add(self, body: str, placement: Placement) -> None:
        """Add the placement of a new body."""
        self._added[body] = placement

    def remove(self, body: str) -> None:
        """Remove the placement of a body."""
        del self._added[body]
        self._initial = {k: placement for k, placement in self._initial.items() if k != body}

    def reset(self) -> None:
        """Move the bodies whose initial positions were set, after a reset of the engine."""
        for placement in self._initial.values():
            self._engine.move_body(placement)
            self._commands.move(placement)

    def present(self, body: str) -> Placement:
        """Return the present state of a body, to be changed and given to ``Simulation.move``.

        Raises:
            KeyError: There is no such body.
        """
        added = self._added[body]
        motion = self._engine.state.bodies[body].motion
        return replace(
            added,
            X_WL=Pose(motion.R[0].copy(), motion.p[0].copy()),
            q=motion.q.copy(),
            dq=motion.dq.copy(),
            v=motion.v[0].copy(),
            w=motion.w[0].copy(),
        )

    def set_joint_positions(
        self,
        body: str,
        position: Mapping[str, float],
        velocity: Mapping[str, float] | None = None,
    ) -> None:
        """Teleport joints of a body; its root and its other joints stay as they are.

        Joints that follow them in closed loops or as mimic joints move along, unless they are
        given, too. Those that hold a position hold the new one, and trajectories of these joints
        end. The memory of the body's sensors is reset, and its joints to other bodies are removed.

        Args:
            body: Name of the body in the world.
            position: By joint name, in [rad] or [m].
            velocity: By joint name, in [rad/s] or [m/s]; the other joints of ``position`` stop.

        Raises:
            KeyError: There is no such body, or it has no such joint; the message lists its joints.
            TypeError: A value is not a number.
            ValueError: A position is beyond its limit, a value is not finite or too large, closed
                loops cannot have these positions, or a link of the body moves freely.
        """
        present = self.present(body)
        check_links_have_joints(present)
        velocities = {**dict.fromkeys(position, 0.0), **(velocity or {})}
        limits = self._engine.settings.joint_limits
        placement = with_joints(present, position, velocities, joint_limits=limits)
        self._engine.move_body(placement)
        self._commands.move_joints(placement, changed_joints(present, placement, position))
        self._moved(body)

    def initial(self, body: str) -> Placement:
        """Return the state to which a reset returns a body.

        Raises:
            KeyError: There is no such body.
        """
        return self._initial.get(body, self._added[body])

    @property
    def has_set_positions(self) -> bool:
        """Whether initial positions were set, to which only the next reset goes."""
        return bool(self._initial)

    def set_initial_positions(self, body: str, position: Mapping[str, float]) -> None:
        """Set where joints of a body start at the next resets. May be called from any thread.

        Joints that follow them in closed loops or as mimic joints start there, too. Not part of
        saved states.

        Args:
            body: Name of the body in the world.
            position: By joint name, in [rad] or [m].

        Raises:
            KeyError: There is no such body, or it has no such joint; the message lists its joints.
            TypeError: A value is not a number.
            ValueError: A position is beyond its limit, not finite or too large, or closed loops
                cannot have these positions.
        """
        self._initial = {**self._initial, body: self.with_initial_positions(body, position)}

    def with_initial_positions(self, body: str, position: Mapping[str, float]) -> Placement:
        """Return the initial placement that ``set_initial_positions`` would set.

        Raises:
            KeyError, TypeError, ValueError: As ``set_initial_positions``.
        """
        limits = self._engine.settings.joint_limits
        return with_joints(self.initial(body), position, {}, joint_limits=limits)


def with_joints(
    placement: Placement,
    position: Mapping[str, float],
    velocity: Mapping[str, float],
    *,
    joint_limits: bool,
) -> Placement:
    """Return a placement with other positions and velocities of some joints.

    Joints that follow these in closed loops or as mimic joints are moved along, unless they are
    given, too. The pose of the root is the same.

    Args:
        placement: The placement.
        position: By joint name, in [rad] or [m].
        velocity: By joint name, in [rad/s] or [m/s].
        joint_limits: Whether the position limits of the model hold.

    Raises:
        KeyError: The body has no moving joint of a given name; the message lists its joints.
        TypeError: A value is not a number.
        ValueError: A position is beyond its limit, a value is not finite or too large, or closed
            loops cannot have these positions.
    """
    body = placement.body
    q = np.array(placement.initial_q, dtype=np.float64)
    dq = np.zeros_like(q) if placement.dq is None else np.array(placement.dq, dtype=np.float64)
    index = {link.joint.name: i for i, link in enumerate(body.moving_links)}
    for name in (*position, *velocity):
        if name not in index:
            has = names_with_hint(str(name), index)
            raise KeyError(f"body '{placement.name}' has no moving joint '{name}'; it has {has}")
    given = {index[name] for name in (*position, *velocity)}
    for name, value in position.items():
        q[index[name]] = number(value, "position", name)
    for name, value in velocity.items():
        dq[index[name]] = number(value, "velocity", name)
    _move_followers(body, q, dq, given)
    if body.extra_joints:
        q, dq = _closed(placement.name, body, q, dq, given)
    if joint_limits:
        _check_limits(body, q, position, placement.initial_q)
    return replace(placement, q=q, dq=dq)


def changed_joints(before: Placement, after: Placement, names: Container[str]) -> list[int]:
    """Return the joints, as elements of q, that have these names or moved between placements."""
    moved = after.initial_q != before.initial_q
    links = enumerate(before.body.moving_links)
    return [i for i, link in links if moved[i] or link.joint.name in names]


def check_links_have_joints(placement: Placement) -> None:
    """Check that the pose of the root and the joint positions define the poses of all links.

    Raises:
        ValueError: A link other than the root moves freely.
    """
    for link in placement.body.links[1:]:
        if link.joint.type is JointType.FREE:
            raise ValueError(
                f"joints of body '{placement.name}' cannot be moved while it is simulated, because "
                f"its link '{link.name}' moves freely"
            )


def _move_followers(body: Body, q: Array, dq: Array, given: Set[int]) -> None:
    """Write positions and velocities of mimic joints that are not given, but whose leader is."""
    index = {link.name: i for i, link in enumerate(body.moving_links)}
    for i, link in enumerate(body.moving_links):
        mimic = link.joint.mimic
        if mimic is None or i in given or (leader := index.get(mimic.link)) not in given:
            continue
        q[i] = mimic.position(float(q[leader]))
        dq[i] = mimic.multiplier * dq[leader]


def _closed(name: str, body: Body, q: Array, dq: Array, given: Set[int]) -> tuple[Array, Array]:
    """Return positions and velocities with closed loops."""
    closure = _closure(body)
    dependent, independent = set(closure.dependent.tolist()), set(closure.independent.tolist())
    kept = None  # the independent joints
    if given & dependent and not independent <= given:
        kept = given
    try:
        closed = closure.close(q, kept)
    except LoopError as error:
        raise ValueError(f"body '{name}': {error}") from None
    for i in given & dependent:
        if not abs(closed[i] - q[i]) <= _TOLERANCE:
            link = body.moving_links[i]
            unit, found = link.joint.type.units.position, round(closed[i], 6)
            raise ValueError(
                f"body '{name}': its loops are closed with joint '{link.joint.name}' at {found:g} "
                f"{unit}, not {q[i]:.6g} {unit}, at these positions of the others"
            )
    moved = dq.copy()
    moved[closure.dependent] = closure.slopes(closed) @ dq[closure.independent]
    return closed, moved


@lru_cache(maxsize=8)
def _closure(body: Body) -> LoopClosure:
    return LoopClosure(body)


def _check_limits(body: Body, q: Array, position: Mapping[str, float], before: Array) -> None:
    """Check the limits of the given and of the moved joints."""
    for i, link in enumerate(body.moving_links):
        joint = link.joint
        lower, upper = joint.position_limits
        if joint.name not in position and q[i] == before[i]:
            continue
        if not lower - _TOLERANCE <= q[i] <= upper + _TOLERANCE:
            unit = joint.type.units.position
            verb = "is" if joint.name in position else "would be"
            raise ValueError(
                f"the position of joint '{joint.name}' {verb} {q[i]:.6g} {unit}; its limits are "
                f"{lower:.6g} and {upper:.6g} {unit}"
            )
