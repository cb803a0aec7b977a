"""Commands to one body as they arrive from outside: judged, then handed on. Knows no ROS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite

import numpy as np

from hrp_model.diagnostics import did_you_mean_or_all
from hrp_msgs.sanitize import shortened

from ..control import (
    BodyController,
    CancelTrajectory,
    Command,
    CommandRateLimit,
    CommandTimeout,
    ControlMode,
    Fallback,
    GainChange,
    JointCommand,
    ModeChange,
    Setting,
    TrajectoryRun,
    array_command,
    vehicle_command,
)
from ..control.trajectory import (
    ANYWHERE,
    BadTrajectoryError,
    JointTrajectory,
    Tolerance,
    Tolerances,
    TrajectoryPoint,
    check_trajectory,
)
from ..physics.schedule import NS_PER_S
from ..physics.state import MAX_DRIVE_VALUE
from ..simulation import Simulation

# What is stamped so much later than now was stamped by another clock. In [ns].
LATEST_AHEAD_NS = 24 * 3600 * NS_PER_S

# Hands a command on: who sent it, the time in [ns] that it is stamped with, 0 for none, and what
# takes it to the simulation. As ``LockStep.take``.
Deliver = Callable[[str, int, Callable[[], None]], None]
# Time from the start in [ns]; positions, velocities, accelerations, effort.
Point = tuple[int, Sequence[float], Sequence[float], Sequence[float], Sequence[float]]
# Start in [ns], 0 for now; joint names; points.
PlainTrajectory = tuple[int, Sequence[str], Sequence[Point]]
PlainTolerances = Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True, slots=True)
class TimeoutChange(Setting):
    """Another time-out for commands, from now on and after a reset; None means never."""

    timeout: CommandTimeout | None

    def give(self, controller: BodyController, time_ns: int) -> None:  # noqa: ARG002
        """Have a controller take it."""
        controller.timeout = self.timeout


@dataclass(frozen=True, slots=True)
class RateLimitChange(Setting):
    """Another rate limit of position commands, from now on and after a reset."""

    rate_limit: CommandRateLimit

    def give(self, controller: BodyController, time_ns: int) -> None:  # noqa: ARG002
        """Have a controller take it."""
        controller.rate_limit = self.rate_limit


def _never(_act: Callable[[], None]) -> None:
    """Leave it to the next step."""


def _at_once(_source: str, _stamp_ns: int, act: Callable[[], None]) -> None:
    act()


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """How commands are taken.

    Attributes:
        max_age: How old a stamped command may be, in simulated time in [s]; 0 means any age.
        push: How long a force from outside acts, in simulated time in [s].
    """

    max_age: float = 0.0
    push: float = 0.1


class BodyCommands:
    """Takes the commands to one body from any thread.

    Numbers are those of ``JointCommand`` and the like. Who sends them is told as ``source``. What
    cannot be used is refused by a ValueError, in words, and counted.

    Args:
        simulation: The world that the body is in.
        body: Its name.
        frames: Of each frame that forces may be told in: the link.
        deliver: Hands commands on; at once by default.
        hasten: Called with what should not wait for the next step: the thread that steps is to
            call it soon. By default it waits for the step, which does it, too.

    Attributes:
        options: May be replaced at any time.
    """

    def __init__(
        self,
        simulation: Simulation,
        body: str,
        frames: Mapping[str, str],
        deliver: Deliver = _at_once,
        hasten: Callable[[Callable[[], None]], None] = _never,
    ) -> None:
        self.options = CommandOptions()
        self._simulation = simulation
        self._name = body
        self._body = simulation.bodies[body].body
        self._usual_timeout = simulation.controller(body).timeout
        self._usual_rate_limit = simulation.controller(body).rate_limit
        self._frames = frames
        self._deliver = deliver
        self._hasten = hasten

    @property
    def is_vehicle(self) -> bool:
        """Whether it has tracks or wheels to drive on."""
        try:
            vehicle_command(self._body, 0.0, 0.0)
        except ValueError:
            return False
        return True

    def joints(
        self,
        source: str,
        stamp_ns: int,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> None:
        """Take targets of joints."""
        self._check_age(stamp_ns)
        self._send(source, stamp_ns, JointCommand(names, position, velocity, effort))

    def trajectory(self, source: str, trajectory: PlainTrajectory) -> None:
        """Take a trajectory."""
        self._send(source, 0, self._checked(trajectory, ANYWHERE))

    def array(self, source: str, mode: str, values: Sequence[float]) -> None:
        """Take one "position", "velocity" or "effort" for each joint; see ``array_command``."""
        with self._counting():
            command = array_command(self._body, ControlMode(mode), values)
        self._send(source, 0, command)

    def drive(self, source: str, stamp_ns: int, linear_x: float, angular_z: float) -> None:
        """Take the speed of a vehicle, in [m/s] and [rad/s]."""
        self._check_age(stamp_ns)
        with self._counting():
            if not (isfinite(linear_x) and isfinite(angular_z)):
                raise ValueError(
                    f"a velocity of {linear_x} m/s and {angular_z} rad/s is no velocity"
                )
            command = vehicle_command(self._body, linear_x, angular_z)
        self._send(source, stamp_ns, command)

    def wrench(
        self,
        source: str,
        stamp_ns: int,
        frame: str,
        force: Sequence[float],
        torque: Sequence[float],
    ) -> None:
        """Take a force in [N] and a torque in [N m], in a link's frame and about its origin.

        It acts for a while, in the axes of the link, in place of the one that this source sent
        for this link before.
        """
        self._check_age(stamp_ns)
        with self._counting():
            if frame not in self._frames:
                known = did_you_mean_or_all(frame, self._frames)
                problem = f"there is no link with the frame '{frame}' to push"
                raise ValueError(shortened(f"{problem}.{known}"))
            vectors = np.array([force, torque], dtype=np.float64)
            if not np.all(np.abs(vectors) < MAX_DRIVE_VALUE):
                raise ValueError(f"a force of {force} N and a torque of {torque} N m push nothing")
        push = partial(self._simulation.push, self._name, self._frames[frame], *vectors)
        duration = self.options.push
        self._act(source, stamp_ns, partial(push, duration, local=True, source=source))

    def follow(
        self,
        source: str,
        goal: tuple[PlainTrajectory, PlainTolerances, PlainTolerances, int | None],
    ) -> TrajectoryRun:
        """Take a trajectory to look after.

        Args:
            source: Who sends it.
            goal: The trajectory; by joint name the tolerances of position and velocity on the
                way and at the end, None for any; how long the end may take, in [ns], None for ever.
        """
        trajectory, path, end, goal_time_ns = goal
        tolerances = Tolerances(_tolerances(path), _tolerances(end), goal_time_ns)
        run = TrajectoryRun(self._checked(trajectory, tolerances), tolerances)
        self._send(source, 0, run)
        return run

    def cancel(self, source: str, run: TrajectoryRun) -> None:
        """End a run before its time: its joints hold where they are aimed at.

        The run is over soon, also where the world stands still. What it moves stops only in the
        next step, in the order of all commands: a pause does not change where the world goes.
        """

        def act() -> None:
            self._simulation.command(self._name, CancelTrajectory(run), source)
            self._hasten(run.cancel)

        self._act(source, 0, act)

    def set_joint(
        self,
        joint: str,
        *,
        kp: float | None = None,
        kd: float | None = None,
        mode: str | None = None,
    ) -> None:
        """Set gains or the mode of a joint from now on; None leaves them."""
        if kp is not None or kd is not None:
            self._hand_on("", GainChange(joint, kp, kd))
        if mode is not None:
            self._hand_on("", ModeChange(joint, ControlMode(mode)))

    def set_timeout(self, after_s: float, fallback: str) -> None:
        """Set what happens when commands stop coming.

        Args:
            after_s: Simulated time without a command, in [s]; 0 means what the world says,
                less than 0 never.
            fallback: "hold", "limp" or "last"; empty means what the world says, or "hold".
        """
        usual, timeout = self._usual_timeout, None
        if after_s == 0.0 and usual is not None:
            after_s = usual.after_s
        if after_s > 0.0:
            otherwise = Fallback.HOLD if usual is None else usual.fallback
            chosen = Fallback(fallback) if fallback else otherwise
            timeout = CommandTimeout(after_s=after_s, fallback=chosen)
        self._hand_on("", TimeoutChange(timeout))

    def set_rate_limit(self, rate_limit: str) -> None:
        """Set how fast position commands become targets of servos.

        Args:
            rate_limit: "model" or "none"; empty means what the world says.
        """
        chosen = CommandRateLimit(rate_limit) if rate_limit else self._usual_rate_limit
        self._hand_on("", RateLimitChange(chosen))

    def _check_age(self, stamp_ns: int) -> None:
        max_age, now_ns = self.options.max_age, self._simulation.state.time_ns
        if not stamp_ns or max_age <= 0.0:
            return
        age = (now_ns - stamp_ns) / NS_PER_S
        if stamp_ns - now_ns > LATEST_AHEAD_NS:
            self._simulation.command_counts.stale += 1
            raise ValueError(f"a command is stamped {_other_clock(stamp_ns, now_ns)}")
        if age > max_age:
            self._simulation.command_counts.stale += 1
            raise ValueError(
                f"a command that is stamped {stamp_ns / NS_PER_S:.3f} s came {age:.3f} s later in "
                f"simulated time, and may be {max_age:g} s old"
            )

    def _checked(self, trajectory: PlainTrajectory, tolerances: Tolerances) -> JointTrajectory:
        start_ns, names, points = trajectory
        now_ns = self._simulation.state.time_ns
        with self._counting():
            made = JointTrajectory(names, [TrajectoryPoint(*p) for p in points], start_ns)
            if start_ns - now_ns > LATEST_AHEAD_NS:
                words = f"the trajectory starts at {_other_clock(start_ns, now_ns)}"
                raise BadTrajectoryError("start", words)
            check_trajectory(made, self._body, now_ns, tolerances)
        return made

    @contextmanager
    def _counting(self) -> Iterator[None]:
        try:
            yield
        except ValueError:
            self._simulation.command_counts.refused += 1
            raise

    def _send(self, source: str, stamp_ns: int, command: Command) -> None:
        self._act(source, stamp_ns, partial(self._simulation.command, self._name, command, source))

    def _hand_on(self, source: str, command: Command) -> None:
        self._unless_gone(partial(self._simulation.command, self._name, command, source))

    def _act(self, source: str, stamp_ns: int, act: Callable[[], None]) -> None:
        """Have something done, maybe later."""
        self._deliver(source, stamp_ns, partial(self._unless_gone, act))

    def _unless_gone(self, act: Callable[[], None]) -> None:
        with suppress(KeyError):  # the body was removed
            act()


def _other_clock(stamp_ns: int, now_ns: int) -> str:
    stamp, now = (f"{ns / NS_PER_S:.3f} s" for ns in (stamp_ns, now_ns))
    return (
        f"{stamp}, and the simulation is at {now}: its sender has another clock; set its parameter "
        "use_sim_time, or stamp it 0 for now"
    )


def _tolerances(given: PlainTolerances) -> dict[str, Tolerance]:
    return {
        name: Tolerance(*(inf if value is None else value for value in values))
        for name, values in given.items()
    }
