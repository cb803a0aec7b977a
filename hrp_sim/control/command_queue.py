"""What drives the bodies of a world: their controllers, and commands on the way to them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from urllib.parse import quote

from ..physics.by_name import ByName
from ..physics.engine import AnyArray, PhysicsError, Placement
from ..physics.state import SimulatedBody
from . import (
    BodyController,
    CancelTrajectory,
    Command,
    CommandCounts,
    ControlSettings,
    ControlState,
    JointCommand,
    Setting,
    TrajectoryRun,
    TrajectoryStatus,
)

# Commands that wait for a step; of a world that stands still only the newest are kept.
MAX_COMMANDS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A command on its way, and who sent it."""

    source: str
    body: str
    command: Command


class Drives:
    """Controllers by body, and a queue to them. ``command`` is for any thread, the rest for one.

    Attributes:
        counts: What became of commands.
    """

    def __init__(self) -> None:
        self.counts = CommandCounts()
        self._controllers = ByName[BodyController]("commandable body", {})
        self._waiting: deque[_Waiting] = deque()
        self._lock = threading.Lock()

    def add(
        self, simulated: SimulatedBody, placement: Placement, settings: ControlSettings
    ) -> None:
        """Control a body that has just been put into the world, unless it is static.

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
        """Let go of a body that is taken out of the world."""
        if (controller := self._controllers.pop(body, None)) is not None:
            controller.close()

    def move(self, placement: Placement) -> None:
        """Let a body that was put elsewhere hold the posture that it has there."""
        if placement.name in self._controllers:
            self._controllers[placement.name].hold(placement.initial_q)

    def controller(self, body: str) -> BodyController:
        """Return what drives a body.

        Raises:
            KeyError: No body of this name can be commanded.
        """
        return self._controllers[body]

    def command(self, body: str, command: Command, source: str) -> None:
        """Let a command wait for the next step.

        Where too many wait, the oldest command to joints is given up for it: one of the same
        source if there is one, so that who says much does not silence who says little.

        Raises:
            KeyError: No body of this name can be commanded.
        """
        self.controller(body)
        with self._lock:
            self._waiting.append(_Waiting(source, body, command))
            if len(self._waiting) > MAX_COMMANDS:
                self._drop(self._first_to_drop(), "too many commands were waiting")

    def take(self, time_ns: int) -> None:
        """Hand the commands that wait to the controllers, those of one source after the other.

        Sources go in the order of their names: it does not matter whose command came first.
        """
        if not self._waiting:
            return
        with self._lock:
            taken = sorted(self._waiting, key=lambda waiting: waiting.source)
            self._waiting.clear()
        for waiting in taken:  # as where the world stood still: see ``BodyCommands.cancel``
            if isinstance(waiting.command, CancelTrajectory):
                waiting.command.run.cancel()
        for waiting in taken:
            controller = self._controllers.get(waiting.body)
            if controller is None:
                self._drop(waiting, "the robot was removed")
            else:
                self.counts.taken += 1
                waiting.command.give(controller, time_ns)

    def apply_pending(self, time_ns: int) -> None:
        """Hand only the settings that wait to the controllers."""
        with self._lock:
            settings, self._waiting = self._parted()
        for waiting in settings:
            if (controller := self._controllers.get(waiting.body)) is not None:
                self.counts.taken += 1
                waiting.command.give(controller, time_ns)

    def update(self, time_ns: int, step_ns: int) -> None:
        """Write what the joints are asked to do in the step that begins at a time, in [ns]."""
        for controller in self._controllers.values():
            controller.update(time_ns, step_ns)

    def judge(self, time_ns: int) -> None:
        """Look how far trajectories have come after a step, at its end, in [ns]."""
        for controller in self._controllers.values():
            controller.judge(time_ns)

    def reset(self) -> None:
        """Forget all commands but settings, and drive the bodies as at the start."""
        with self._lock:
            self._waiting, forgotten = self._parted()
        self._drop_all(forgotten, "the world was reset")
        for controller in self._controllers.values():
            controller.reset()

    def retime(self, before_ns: int, time_ns: int) -> None:
        """Go on at another time, in [ns]; what drives the bodies has as long to go as before.

        Commands that wait are handed on first: their times are those of the clock before.
        """
        self.take(before_ns)
        for controller in self._controllers.values():
            controller.retime(before_ns, time_ns)

    def save(self) -> dict[str, AnyArray]:
        """Return what drives the bodies, as "BODY/...", quoted; nothing may wait any more."""
        return {
            f"{_quoted(name)}/{key}": array
            for name, controller in self._controllers.items()
            for key, array in controller.save().items()
        }

    def check(self, arrays: Mapping[str, AnyArray]) -> dict[str, ControlState]:
        """Return what was saved, for ``restore``; nothing has changed yet.

        Raises:
            PhysicsError: Something does not fit.
        """
        by_body: dict[str, dict[str, AnyArray]] = {_quoted(name): {} for name in self._controllers}
        for name, array in arrays.items():
            body, _, key = name.partition("/")
            if body not in by_body:
                raise PhysicsError(f"the snapshot has '{name}', which means nothing here")
            by_body[body][key] = array
        return {k: c.check(by_body[_quoted(k)]) for k, c in self._controllers.items()}

    def restore(self, states: Mapping[str, ControlState], time_ns: int) -> None:
        """Go back to a saved state; commands that wait are forgotten."""
        with self._lock:
            forgotten = list(self._waiting)
            self._waiting.clear()
        self._drop_all(forgotten, "the world went back to a saved state")
        for name, state in states.items():
            self._controllers[name].restore(state, time_ns)

    def _parted(self) -> tuple[deque[_Waiting], deque[_Waiting]]:
        """Return what waits: settings, and all else."""
        settings = deque(w for w in self._waiting if isinstance(w.command, Setting))
        return settings, deque(w for w in self._waiting if not isinstance(w.command, Setting))

    def _first_to_drop(self) -> _Waiting:
        """Return the oldest that newer ones are likely to replace, out of the queue."""
        new = self._waiting[-1]
        to_joints = (w for w in self._waiting if isinstance(w.command, JointCommand))
        own = (
            w for w in to_joints if w is not new and (w.source, w.body) == (new.source, new.body)
        )
        first = next(own, None)
        if first is None:
            to_joints = (w for w in self._waiting if isinstance(w.command, JointCommand))
            # A cancel stays: its run is over for whoever looks after it.
            others = (w for w in self._waiting if not isinstance(w.command, CancelTrajectory))
            first = next(chain(to_joints, others), self._waiting[0])
        self._waiting.remove(first)
        return first

    def _drop_all(self, waiting: Iterable[_Waiting], words: str) -> None:
        for one in waiting:
            self._drop(one, words)

    def _drop(self, waiting: _Waiting, words: str) -> None:
        self.counts.dropped += 1
        _abort(waiting.command, words)


def _quoted(body: str) -> str:
    """Return a name without a slash."""
    return quote(body, safe="")


def _abort(command: Command, words: str) -> None:
    """Tell whoever looks after a trajectory that it will never start."""
    if isinstance(command, TrajectoryRun):
        command.end(TrajectoryStatus.ABORTED, words)
