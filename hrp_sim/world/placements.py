"""Where the bodies of a simulation and their joints are and start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hrp_model import Pose

from ..control.command_queue import CommandQueue
from ..engine.by_name import ByName
from ..engine.engine import Engine, Placement
from .posture import changed_joints, check_links_have_joints, with_joints


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
