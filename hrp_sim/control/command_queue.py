"""The controllers of the bodies of a world, and the queue of commands to them."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter
from urllib.parse import quote

from hrp_model.late_dataclass import dataclass

from ..engine.engine import AnyArray, PhysicsError, Placement
from ..engine.schedule import NEVER_NS
from ..engine.state import ByName, SimulatedBody
from .commands import (
    CancelTrajectory,
    Command,
    CommandCounts,
    ControlSettings,
    JointCommand,
    Setting,
)
from .controller import BodyController, ControlState
from .trajectory import TrajectoryRun, TrajectoryStatus

# Maximum number of waiting commands; while the world is paused only the newest are kept.
MAX_COMMANDS = 1000


@dataclass(slots=True, eq=False)
class _Pending:
    """A command that waits for the next step, and its sender."""

    source: str
    body: str
    command: Command


class CommandQueue:
    """Controllers by body, and the commands that wait for them.

    ``put`` may be called from any thread, all other methods from the stepping thread.

    Attributes:
        counts: Numbers of commands by outcome.
    """

    def __init__(self) -> None:
        self.counts = CommandCounts()
        self._controllers = ByName[BodyController]("commandable body", {})
        self._pending: list[_Pending] = []
        self._lock = threading.Lock()

    def add(
        self, simulated: SimulatedBody, placement: Placement, settings: ControlSettings
    ) -> None:
        """Create the controller of a body just added to the world, unless it is static.

        Raises:
            ValueError: The settings name a joint that it does not have.
        """
        if not placement.body.is_static:
            self._controllers[simulated.name] = BodyController(
                simulated,
                settings,
                placement.initial_q,
                fixed=placement.fixed,
                counts=self.counts,
            )

    def remove(self, body: str) -> None:
        """Stop controlling a body that is removed from the world."""
        if (controller := self._controllers.pop(body, None)) is not None:
            controller.close()

    def move(self, placement: Placement) -> None:
        """Hold the joint positions of the new placement of a body that was moved."""
        if placement.name in self._controllers:
            self._controllers[placement.name].hold(placement.initial_q)

    def move_joints(self, placement: Placement, joints: Collection[int]) -> None:
        """Hold the positions of those joints of a body that were moved, as elements of its q."""
        if placement.name in self._controllers:
            self._controllers[placement.name].hold_joints(placement.initial_q, joints)

    def controller(self, body: str) -> BodyController:
        """Return the controller of a body.

        Raises:
            KeyError: No body of this name can be commanded.
        """
        return self._controllers[body]

    def put(self, body: str, command: Command, source: str) -> None:
        """Queue a command for the next step; drop it if its body was removed.

        If too many wait, the oldest joint command is dropped: one from the same source if there is
        one, so that one source cannot starve the others.
        """
        pending = _Pending(source, body, command)
        with self._lock:
            if body not in self._controllers:
                self._drop([pending], "the robot was removed")
                return
            self._pending.append(pending)
            if len(self._pending) > MAX_COMMANDS:
                first = self._first_to_drop(pending)
                self._pending.remove(first)
                self._drop([first], "too many commands were waiting")

    def apply(self, time_ns: int) -> None:
        """Apply the waiting commands, at a time in [ns].

        Sources are ordered by name, the commands of one source by arrival, so the result does not
        depend on which source was first.
        """
        if not self._pending:
            return
        with self._lock:
            commands = sorted(self._pending, key=attrgetter("source"))
            self._pending = []
        for pending in commands:  # before all others, as a run that is canceled in a pause
            if isinstance(pending.command, CancelTrajectory):
                pending.command.run.cancel()
        for pending in commands:
            controller = self._controllers.get(pending.body)
            if controller is None:
                self._drop([pending], "the robot was removed")
            else:
                self.counts.taken += 1
                controller.apply(pending.command, time_ns)

    def apply_settings(self, time_ns: int) -> None:
        """Apply only the waiting changes of settings, at a time in [ns]."""
        with self._lock:
            settings, self._pending = self._split()
        for pending in settings:
            if (controller := self._controllers.get(pending.body)) is not None:
                self.counts.taken += 1
                controller.apply(pending.command, time_ns)

    def update(self, time_ns: int, step_ns: int) -> int:
        """Write the joint targets of the step that begins at a time, in [ns].

        Returns:
            The beginning of the next step whose targets may differ, in [ns], or a time between
            that and the previous step; not later than ``time_ns`` means each step.
        """
        next_ns = NEVER_NS
        for controller in self._controllers.values():
            if time_ns >= controller.next_ns:
                controller.update(time_ns, step_ns)
            if controller.next_ns < next_ns:
                next_ns = controller.next_ns
        return next_ns

    def check_trajectories(self, time_ns: int) -> None:
        """Check the progress of trajectories after a step, at its end, in [ns]."""
        for controller in self._controllers.values():
            controller.check_trajectories(time_ns)

    def reset(self) -> None:
        """Drop all commands except changes of settings, and reset the controllers."""
        with self._lock:
            self._pending, dropped = self._split()
        self._drop(dropped, "the world was reset")
        for controller in self._controllers.values():
            controller.reset()

    def retime(self, before_ns: int, time_ns: int) -> None:
        """Continue at another clock time, in [ns]; remaining times do not change.

        Waiting commands are applied first, because their times refer to the previous clock.
        """
        self.apply(before_ns)
        for controller in self._controllers.values():
            controller.retime(before_ns, time_ns)

    def save(self) -> dict[str, AnyArray]:
        """Return the state of the controllers, as "BODY/...", quoted; no command may be waiting."""
        return {
            f"{_quoted(name)}/{key}": array
            for name, controller in self._controllers.items()
            for key, array in controller.save().items()
        }

    def check(self, arrays: Mapping[str, AnyArray]) -> dict[str, ControlState]:
        """Validate a saved state and return it for ``restore``.

        Raises:
            PhysicsError: A value is invalid, or does not match this world.
        """
        by_body: dict[str, dict[str, AnyArray]] = {_quoted(name): {} for name in self._controllers}
        for name, array in arrays.items():
            body, _, key = name.partition("/")
            if body not in by_body:
                raise PhysicsError(f"the snapshot has an unknown entry '{name}'")
            by_body[body][key] = array
        return {k: c.check(by_body[_quoted(k)]) for k, c in self._controllers.items()}

    def restore(self, states: Mapping[str, ControlState], time_ns: int) -> None:
        """Go back to a saved state; waiting commands are dropped."""
        with self._lock:
            dropped, self._pending = self._pending, []
        self._drop(dropped, "the world was restored from a saved state")
        for name, state in states.items():
            self._controllers[name].restore(state, time_ns)

    def _split(self) -> tuple[list[_Pending], list[_Pending]]:
        """Return the waiting changes of settings, and the other waiting commands."""
        settings = [p for p in self._pending if isinstance(p.command, Setting)]
        return settings, [p for p in self._pending if not isinstance(p.command, Setting)]

    def _first_to_drop(self, new: _Pending) -> _Pending:
        """Return the oldest command that a newer one is likely to replace."""
        oldest = None
        for pending in self._pending:
            if isinstance(pending.command, JointCommand):
                if pending is not new and (pending.source, pending.body) == (new.source, new.body):
                    return pending
                oldest = oldest or pending
        if oldest is not None:
            return oldest
        # A cancellation is never dropped: its sender was informed that the run is over.
        others = (p for p in self._pending if not isinstance(p.command, CancelTrajectory))
        return next(others, self._pending[0])

    def _drop(self, commands: Iterable[_Pending], reason: str) -> None:
        for pending in commands:
            self.counts.dropped += 1
            if isinstance(pending.command, TrajectoryRun):
                pending.command.end(TrajectoryStatus.ABORTED, reason)


def _quoted(body: str) -> str:
    """Return a name without a slash."""
    return quote(body, safe="")
