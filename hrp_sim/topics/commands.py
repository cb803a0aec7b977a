"""Receives external commands to one body: validates and queues them. No ROS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from math import inf, isfinite

import numpy as np

from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.late_dataclass import dataclass
from hrp_msgs.sanitize import shortened

from ..control import (
    CancelTrajectory,
    Command,
    CommandRateLimit,
    CommandTimeout,
    ControlMode,
    Fallback,
    GainChange,
    JointCommand,
    ModeChange,
    RateLimitChange,
    TimeoutChange,
    TrajectoryRun,
    array_command,
    vehicle_command,
)
from ..control.trajectory import (
    NO_TOLERANCES,
    BadTrajectoryError,
    Constraints,
    JointTrajectory,
    PartialTolerances,
    Tolerances,
    TrajectoryPoint,
    check_trajectory,
)
from ..engine.engine import PhysicsError
from ..engine.schedule import NS_PER_S
from ..engine.state import MAX_DRIVE_VALUE
from ..run.calls import NotRunningError
from ..simulation import Simulation
from .hardware import HardwareCommands

# A stamp that is later than the present time by more than this, in [ns], is of another clock.
MAX_AHEAD_NS = 24 * 3600 * NS_PER_S

# Longest travel of a gripper, in [s].
_MAX_TRAVEL = 3600.0

# Executes an action at once, or when the commands of a control period take effect. Its other
# arguments are the source and the stamp of the command in [ns], 0 for none; see ``Run.submit``.
Deliver = Callable[[str, int, Callable[[], None]], None]
# Time from the start in [ns]; positions, velocities, accelerations, effort.
Point = tuple[int, Sequence[float], Sequence[float], Sequence[float], Sequence[float]]
# Start in [ns], 0 for now; joint names; points.
PlainTrajectory = tuple[int, Sequence[str], Sequence[Point]]


def _at_once(_source: str, _stamp_ns: int, action: Callable[[], None]) -> None:
    action()


def _directly(action: Callable[[], None]) -> None:
    action()


def _at_next_step(_action: Callable[[], None]) -> None:
    """Do nothing, so that the next step executes the action."""


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """Options of received commands.

    Attributes:
        max_age: Maximum age of a stamped command, in simulated time in [s]; 0 means any age.
        wrench_duration: How long an external wrench acts, in simulated time in [s].
    """

    max_age: float = 0.0
    wrench_duration: float = 0.1


class BodyCommands:
    """Receives the commands to one body, from any thread.

    Units are those of ``JointCommand`` and the other commands. ``source`` is the name of the
    sender. An invalid command raises a ValueError with a message for the sender, and is counted.
    Commands to a removed body are dropped.

    Args:
        simulation: The simulation with the body.
        body: Its name.
        frames: Links by the names of the frames in which wrenches may be expressed.
        deliver: Executes the action that queues a command; at once by default.
        run_soon: Executes an action soon in the stepping thread, also in a pause. By default it
            does nothing, and the next step has the same effect.

    Attributes:
        options: May be replaced at any time.
        constraints: Likewise.
        deliver, run_soon: As given; may be replaced before the run begins.
        change: Executes an action that changes the world between two steps; see
            ``Run.change``. May be replaced likewise.
        hardware: Reads targets of joints first, if their interfaces are stated.
    """

    def __init__(
        self,
        simulation: Simulation,
        body: str,
        frames: Mapping[str, str],
        deliver: Deliver = _at_once,
        run_soon: Callable[[Callable[[], None]], None] = _at_next_step,
    ) -> None:
        self.options = CommandOptions()
        self.deliver = deliver
        self.run_soon = run_soon
        self.change: Callable[[Callable[[], None]], None] = _directly
        self.hardware: HardwareCommands | None = None
        self._simulation = simulation
        self._queue = simulation.commands
        self._name = body
        self._body = simulation.bodies[body].body
        self._elements = {link.joint.name: i for i, link in enumerate(self._body.moving_links)}
        controller = simulation.controller(body)
        self.constraints = Constraints.of(self._body)
        self._world_timeout = controller.timeout
        self._world_rate_limit = controller.rate_limit
        self._frames = frames

    @property
    def is_vehicle(self) -> bool:
        """Whether it has tracks or wheels to drive on."""
        return not self.objection_to_drive

    @property
    def objection_to_drive(self) -> str:
        """Why it has no tracks or wheels to drive on, or ""."""
        try:
            vehicle_command(self._body, 0.0, 0.0)
        except ValueError as error:
            return shortened(str(error))
        return ""

    def joints(
        self,
        source: str,
        stamp_ns: int,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> None:
        """Receive targets of joints."""
        self._check_age(stamp_ns)
        if self.hardware is not None:
            position, velocity, effort = self.hardware.read(names, position, velocity, effort)
        self._send(source, stamp_ns, JointCommand(names, position, velocity, effort))

    def set_positions(
        self,
        source: str,  # noqa: ARG002
        stamp_ns: int,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> None:
        """Receive positions to which joints are teleported at once, also in a pause.

        See ``Placements.set_joint_positions``.
        """
        self._check_age(stamp_ns)
        with self._counting():
            if len(position) != len(names) or len(velocity) not in (0, len(names)) or len(effort):
                raise ValueError(
                    f"{len(names)} joints need {len(names)} positions, as many velocities or none, "
                    f"and no efforts, not {len(position)}, {len(velocity)} and {len(effort)}"
                )
            wanted = dict(zip(names, position, strict=True))
            if len(wanted) < len(names):
                twice = next(name for name, count in Counter(names).items() if count > 1)
                raise ValueError(shortened(f"joint '{twice}' has two positions"))
            velocities = dict(zip(names, velocity, strict=False))
            with _as_value_errors():
                self.change(
                    lambda: self._simulation.placements.set_joint_positions(
                        self._name, wanted, velocities
                    )
                )

    def initial_position(self, joint: str) -> float:
        """Return where a joint starts at the next resets, in [rad] or [m]."""
        placement = self._simulation.placements.initial(self._name)
        return float(placement.initial_q[self._elements[joint]])

    def set_initial_position(self, joint: str, position: float) -> None:
        """Set where a joint starts at the next resets; may raise a ValueError."""
        with _as_value_errors():
            self._simulation.placements.set_initial_positions(self._name, {joint: position})

    def objection_to_initial(self, joint: str, position: float) -> str:
        """Return why a joint cannot start at a position, or ""."""
        try:
            with _as_value_errors():
                self._simulation.placements.with_initial_positions(self._name, {joint: position})
        except ValueError as error:
            return str(error)
        return ""

    def trajectory(self, source: str, trajectory: PlainTrajectory) -> None:
        """Receive a trajectory."""
        self._send(source, 0, self._checked(trajectory, NO_TOLERANCES))

    def array(self, source: str, mode: str, values: Sequence[float]) -> None:
        """Receive a "position", "velocity" or "effort" for each joint; see ``array_command``."""
        with self._counting():
            command = array_command(self._body, ControlMode(mode), values)
        self._send(source, 0, command)

    def drive(self, source: str, stamp_ns: int, linear_x: float, angular_z: float) -> None:
        """Receive the velocity of a vehicle, in [m/s] and [rad/s]."""
        self._check_age(stamp_ns)
        with self._counting():
            if not (isfinite(linear_x) and isfinite(angular_z)):
                raise ValueError(
                    f"a velocity must be finite, not {linear_x} m/s and {angular_z} rad/s"
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
        """Receive a force in [N] and a torque in [N m] about a link's origin, both in its frame.

        It acts for ``options.wrench_duration``, rotates with the link, and replaces the last one
        from this source on this link.
        """
        self._check_age(stamp_ns)
        with self._counting():
            if frame not in self._frames:
                hint = did_you_mean_or_all(frame, self._frames)
                raise ValueError(shortened(f"no link has the frame '{frame}'.{hint}"))
            vectors = np.array([force, torque], dtype=np.float64)
            if not np.all(np.abs(vectors) < MAX_DRIVE_VALUE):
                raise ValueError(
                    f"force and torque must be finite and below {MAX_DRIVE_VALUE:g}, not {force} N "
                    f"and {torque} N m"
                )
        F, tau = vectors
        link, duration = self._frames[frame], self.options.wrench_duration

        def push() -> None:
            with suppress(KeyError):  # the body was removed
                self._simulation.push(self._name, link, F, tau, duration, local=True, source=source)

        self.deliver(source, stamp_ns, push)

    def follow(
        self,
        source: str,
        goal: tuple[PlainTrajectory, PartialTolerances, PartialTolerances, int],
    ) -> TrajectoryRun:
        """Receive a trajectory with tolerances; return its status and progress.

        Args:
            source: The sender.
            goal: The trajectory; the arguments of ``Constraints.complete``.
        """
        trajectory, path, end, goal_time_ns = goal
        tolerances = self.constraints.complete(trajectory[1], path, end, goal_time_ns)
        run = TrajectoryRun(self._checked(trajectory, tolerances), tolerances)
        self._send(source, 0, run)
        return run

    def grip(
        self, source: str, positions: Mapping[str, float], speeds: Mapping[str, float]
    ) -> TrajectoryRun:
        """Receive positions of a gripper's joints, to which they move in a line.

        They press on what stops them, with the effort of their servos, until the next command.

        Args:
            source: The sender.
            positions: By joint name, in [rad] or [m].
            speeds: Maximum speeds by joint name, in [rad/s] or [m/s]; those of the model by
                default. Joints without a speed limit move at once.

        Raises:
            ValueError: The joints cannot move there.
        """
        point = (self._travel_ns(positions, speeds), list(positions.values()), (), (), ())
        return self.follow(source, ((0, list(positions), [point]), {}, {}, -1))

    def _travel_ns(self, positions: Mapping[str, float], speeds: Mapping[str, float]) -> int:
        """Return how long joints take to positions, in [ns]; unknown ones take no time."""
        seconds = 0.0
        body = self._simulation.bodies.get(self._name)
        if body is None:  # it was removed, as the run will state
            return 1
        for name in positions.keys() & self._elements.keys():
            i = self._elements[name]
            joint = self._body.moving_links[i].joint
            speed = min(speeds.get(name) or inf, joint.max_velocity)
            way = abs(np.clip(positions[name], *joint.position_limits) - body.motion.q[i])
            if way < inf and speed > 0.0:
                seconds = max(seconds, float(way) / speed)
        return max(1, round(min(seconds, _MAX_TRAVEL) * NS_PER_S))

    def cancel(self, source: str, run: TrajectoryRun) -> None:
        """Cancel a trajectory: its joints hold their targets.

        Its status changes soon, also in a pause. Its joints hold from the next step on, in the
        order of all commands: a pause does not change the motion.
        """

        def cancel() -> None:
            self._queue.put(self._name, CancelTrajectory(run), source)
            self.run_soon(run.cancel)

        self.deliver(source, 0, cancel)

    def set_joint(
        self,
        joint: str,
        *,
        kp: float | None = None,
        kd: float | None = None,
        mode: str | None = None,
    ) -> None:
        """Set gains or the mode of a joint; None leaves them unchanged."""
        if kp is not None or kd is not None:
            self._queue.put(self._name, GainChange(joint, kp, kd), "")
        if mode is not None:
            self._queue.put(self._name, ModeChange(joint, ControlMode(mode)), "")

    def set_constraints(
        self, joint: str, *, trajectory: float | None = None, goal: float | None = None
    ) -> None:
        """Set the tolerances of a joint, see ``Constraints``; None leaves them unchanged."""
        now = self.constraints
        if trajectory is not None:
            now = replace(now, trajectory={**now.trajectory, joint: trajectory})
        if goal is not None:
            now = replace(now, goal={**now.goal, joint: goal})
        self.constraints = now

    def set_timeout(self, after_s: float, fallback: str) -> None:
        """Set the command time-out.

        Args:
            after_s: Simulation time without a command, in [s]; 0 means that of the world file, a
                negative value never.
            fallback: "hold", "limp" or "last"; empty means that of the world file, or "hold".
        """
        usual, timeout = self._world_timeout, None
        if after_s == 0.0 and usual is not None:
            after_s = usual.after_s
        if after_s > 0.0:
            default = Fallback.HOLD if usual is None else usual.fallback
            chosen = Fallback(fallback) if fallback else default
            timeout = CommandTimeout(after_s=after_s, fallback=chosen)
        self._queue.put(self._name, TimeoutChange(timeout), "")

    def set_rate_limit(self, rate_limit: str) -> None:
        """Set the rate limit of position commands.

        Args:
            rate_limit: "model" or "none"; empty means that of the world file.
        """
        chosen = CommandRateLimit(rate_limit) if rate_limit else self._world_rate_limit
        self._queue.put(self._name, RateLimitChange(chosen), "")

    def _check_age(self, stamp_ns: int) -> None:
        max_age = self.options.max_age
        if not stamp_ns or max_age <= 0.0:
            return
        now_ns = self._simulation.state.time_ns
        age = (now_ns - stamp_ns) / NS_PER_S
        if stamp_ns - now_ns > MAX_AHEAD_NS:
            self._simulation.command_counts.stale += 1
            raise ValueError(f"a command is stamped {_other_clock(stamp_ns, now_ns)}")
        if age > max_age:
            self._simulation.command_counts.stale += 1
            raise ValueError(
                f"a command stamped {stamp_ns / NS_PER_S:.3f} s came {age:.3f} s later in "
                f"simulated time; command_max_age is {max_age:g} s"
            )

    def _checked(self, trajectory: PlainTrajectory, tolerances: Tolerances) -> JointTrajectory:
        start_ns, names, points = trajectory
        now_ns = self._simulation.state.time_ns
        with self._counting():
            made = JointTrajectory(names, [TrajectoryPoint(*p) for p in points], start_ns)
            if start_ns - now_ns > MAX_AHEAD_NS:
                message = f"the trajectory starts at {_other_clock(start_ns, now_ns)}"
                raise BadTrajectoryError("start", message)
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
        self.deliver(source, stamp_ns, partial(self._queue.put, self._name, command, source))


@contextmanager
def _as_value_errors() -> Iterator[None]:
    """Raise errors of a changed world as ValueErrors for the sender."""
    try:
        yield
    except KeyError as error:
        raise ValueError(shortened(str(error.args[0]))) from None
    except (NotRunningError, PhysicsError) as error:
        raise ValueError(str(error)) from None


def _other_clock(stamp_ns: int, now_ns: int) -> str:
    stamp, now = (f"{ns / NS_PER_S:.3f} s" for ns in (stamp_ns, now_ns))
    return (
        f"{stamp}, but the simulation is at {now}: its sender uses another clock; set its "
        "parameter use_sim_time, or stamp it 0 for now"
    )
