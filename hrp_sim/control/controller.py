"""The controller of one body: applies commands and writes the joint drive before every step."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import copysign, isnan

import numpy as np

from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ..engine.engine import AnyArray
from ..engine.schedule import NEVER_NS
from ..engine.snapshot import check_arrays
from ..engine.state import MAX_DRIVE_VALUE, SimulatedBody
from .commands import (
    MAX_NAMES,
    CancelTrajectory,
    Command,
    CommandCounts,
    CommandRateLimit,
    CommandTimeout,
    CommandWarnings,
    ControlMode,
    ControlSettings,
    Fallback,
    GainChange,
    JointCommand,
    ModeChange,
    RateLimitChange,
    Setting,
    TimeoutChange,
    values_by_joint,
)
from .joints import ControlledJoints, Deadlines, JointTargets, MimicJoints, SlewedTargets
from .spline import EFFORT, POSITION, VELOCITY
from .trajectory import (
    BadTrajectoryError,
    JointTrajectory,
    TrajectoryRun,
    TrajectoryStatus,
    check_trajectory,
)
from .trajectory_follower import ActiveTrajectory, TrajectoryFollower

_MODES = (ControlMode.POSITION, ControlMode.VELOCITY, ControlMode.EFFORT)
_POSITION, _VELOCITY, _EFFORT = range(3)
_TRAJECTORIES = "trajectories/"
_NOW = 0  # as ``next_ns``: before the next step


@dataclass(frozen=True, slots=True)
class ControlState:
    """Saved state of a controller; made by ``BodyController.check``."""

    arrays: Mapping[str, AnyArray]
    trajectories: list[ActiveTrajectory]


class BodyController:
    """Applies the commands to one body, and writes its joint drive before every physics step.

    A position command is clipped to the limits of the joint, and the servo's target moves there at
    no more than the joint's speed limit; see ``rate_limit``. A trajectory defines its own
    velocities: it is clipped to the limits, but its rate is not limited. Velocities and efforts are
    passed to the drive unchanged. The velocity of a track is the speed of its surface. Invalid
    parts of a command (an unknown joint, a value that is infinite or too large) are counted, logged
    once and ignored; the rest is applied.

    Args:
        simulated: The body; its ``drive`` is written, its ``motion`` read.
        settings: Initial modes, gains and so on.
        q: Initial joint positions, in [rad] or [m], shape (joints,).
        fixed: Whether the root is fixed to the world.
        counts: Where commands are counted.

    Attributes:
        next_ns: When ``update`` must be called next, in [ns]: before the first step that begins
            at this time or later. Before that it would change nothing.
        mode_changes: Increases when the present mode or the gains of a joint may have changed.
        is_commanded: Whether commands were received since the start, a reset or a restore, except
            those of controllers that run in the simulation.

    Raises:
        ValueError: The settings name a joint that the body does not have.
    """

    def __init__(
        self,
        simulated: SimulatedBody,
        settings: ControlSettings,
        q: Array,
        *,
        fixed: bool,
        counts: CommandCounts | None = None,
    ) -> None:
        self._body = simulated.body
        self._motion = simulated.motion
        self._drive = simulated.drive
        self._joints = ControlledJoints(
            simulated.name,
            simulated.body,
            settings,
            q,
            fixed=fixed,
            is_geared=simulated.is_geared,
        )
        self._warnings = CommandWarnings(
            simulated.name, CommandCounts() if counts is None else counts
        )
        self._follower = TrajectoryFollower(simulated.body, simulated.motion)
        self._mimics = MimicJoints(simulated.body)
        self._has_servos = bool(self._mimics.leaders) and not simulated.is_geared  # of followers
        geared = self._mimics.leaders if simulated.is_geared else {}
        self._geared = {self._joints.index[name] for name in geared}  # followers without a servo
        self._initial = np.array(q, dtype=np.float64)
        self._targets = SlewedTargets(q, self._joints.speed, settings.rate_limit)
        self._mode = np.zeros(len(self._initial), dtype=np.int64)  # present mode of each joint
        self.mode_changes = 0
        self._is_by_controller = False  # whether that is so for the present command
        self._controlled_tracks = np.zeros(len(simulated.body.links), dtype=bool)
        self._deadlines = Deadlines(len(self._initial) + len(simulated.body.links))
        self._deadlines.timeout = settings.timeout
        self.reset()

    @property
    def timeout(self) -> CommandTimeout | None:
        """Command time-out; may be set between two steps."""
        return self._deadlines.timeout

    @timeout.setter
    def timeout(self, timeout: CommandTimeout | None) -> None:
        self._deadlines.timeout = timeout
        self.next_ns = _NOW

    @property
    def rate_limit(self) -> CommandRateLimit:
        """Speed limit of the servo targets; may be set between two steps."""
        return self._targets.rate_limit

    @rate_limit.setter
    def rate_limit(self, rate_limit: CommandRateLimit) -> None:
        self._targets.rate_limit = rate_limit

    def gains(self, joint: str) -> tuple[float, float]:
        """Return kp and kd that a joint has in position mode.

        Raises:
            ValueError: No joint has this name.
        """
        i = self._joints.element(joint)
        return float(self._joints.kp[i]), float(self._joints.kd[i])

    def set_gains(self, joint: str, *, kp: float | None = None, kd: float | None = None) -> None:
        """Set gains of a joint, which a reset keeps; None leaves a gain unchanged.

        Args:
            joint: Its name.
            kp: Stiffness, in [N m/rad] or [N/m].
            kd: Damping, in [N m s/rad] or [N s/m].

        Raises:
            ValueError: No joint has this name, or a gain is negative, not finite or too large.
        """
        i = self._joints.element(joint)
        self._joints.set_gains(i, kp, kd)
        self._set_mode(i, int(self._mode[i]))

    def mode(self, joint: str) -> ControlMode:
        """Return the initial control mode of a joint.

        Raises:
            ValueError: No joint has this name.
        """
        return self._joints.mode(self._joints.element(joint))

    def set_mode(self, joint: str, mode: ControlMode) -> None:
        """Set the control mode of a joint, which a reset keeps; the joint stops or goes limp.

        Raises:
            ValueError: No joint has this name, or it follows another.
        """
        i = self._joints.element(joint)
        if (leader := self._mimics.leaders.get(joint)) is not None:
            raise ValueError(f"joint '{joint}' follows '{leader}' and has no mode of its own")
        self._joints.set_mode(i, mode)
        self._follower.release([i])
        if mode is ControlMode.POSITION:
            self._hold([i])
        else:
            self._set_mode(i, _MODES.index(mode))
            self._drive.dq[i] = self._drive.effort[i] = 0.0

    def apply(self, command: Command, time_ns: int, *, by_controller: bool = False) -> None:
        """Apply a command at a time in [ns].

        Does not raise: invalid commands are counted and logged.

        Args:
            command: The command.
            time_ns: Simulation time, in [ns].
            by_controller: Whether it is that of a controller that runs in the simulation.
        """
        self.next_ns = _NOW
        self._is_by_controller = by_controller
        if not by_controller and not isinstance(command, Setting):
            self.is_commanded = True
        match command:
            case JointCommand():
                self._apply_joint_command(command, time_ns)
            case JointTrajectory():
                self._follow(TrajectoryRun(command), time_ns)
            case TrajectoryRun():
                self._follow(command, time_ns)
            case CancelTrajectory():
                self._hold(self._follower.cancel(command.run).tolist())
            case GainChange():
                try:
                    self.set_gains(command.joint, kp=command.kp, kd=command.kd)
                except ValueError as error:
                    message = f"a change of gains is ignored: {error}"
                    self._warnings.refuse(f"gains {command.joint}", message)
            case ModeChange():
                try:
                    self.set_mode(command.joint, command.mode)
                except ValueError as error:
                    message = f"a change of mode is ignored: {error}"
                    self._warnings.refuse(f"mode {command.joint}", message)
            case TimeoutChange():
                self.timeout = command.timeout
            case RateLimitChange():
                self.rate_limit = command.rate_limit

    def set_targets(self, targets: JointTargets, time_ns: int) -> None:
        """Set targets at a time in [ns], as a ``JointCommand`` with the same numbers does.

        Args:
            targets: The targets, which must be valid. Joints that follow others stay theirs.
            time_ns: The present time, in [ns].
        """
        driven = targets.driven
        if targets.applied_modes != self.mode_changes:
            for i, mode in targets.modes.items():
                self._enter_mode(i, _MODES.index(mode))
            targets.applied_modes = self.mode_changes
        if self._follower.trajectories:
            self._follower.release(list(targets.modes))
        self._deadlines.commanded_ns[: len(self._initial)][driven] = time_ns
        if self._deadlines.timeout is not None:
            self._deadlines.restart(np.array([*targets.modes]), time_ns)
            self.next_ns = _NOW
        drive, joints, which = self._drive, self._joints, targets.with_q
        drive.effort[driven] = targets.effort[driven]
        if targets.has_dq:
            drive.dq[targets.with_dq] = targets.dq[targets.with_dq]
        for i in targets.with_speed:
            self._overcome_friction(i)
        if targets.has_q:
            self._targets.final[which] = np.minimum(
                np.maximum(targets.q[which], joints.lower[which]), joints.upper[which]
            )
            self._targets.moving = True
            self.next_ns = _NOW

    def release_targets(self, targets: JointTargets) -> None:
        """End the velocities and efforts of driven joints; those in position mode hold."""
        if targets.applied_modes >= 0:
            self._drive.dq[targets.with_dq] = self._drive.effort[targets.driven] = 0.0

    def release_tracks(self) -> None:
        """Stop the tracks whose last command was that of a controller."""
        self._drive.track_speed[self._controlled_tracks] = 0.0

    def reset(self) -> None:
        """Go back to the initial targets; gains and modes that were set are kept."""
        self.next_ns = _NOW
        self.is_commanded = False
        self._follower.abort("the world was reset")
        self._deadlines.clear()
        drive = self._drive
        drive.q[:] = self._initial
        drive.dq[:] = drive.effort[:] = drive.track_speed[:] = 0.0
        self._targets.jump(self._initial)
        for i in range(len(self._initial)):
            self._set_mode(i, _MODES.index(self._joints.mode(i)))

    def hold(self, q: Array) -> None:
        """Hold joint positions, in [rad] or [m], shape (joints,), from now on."""
        self._follower.abort("the robot was moved elsewhere")
        self._drive.q[:] = q
        self._targets.jump(q)
        held = self._mode == _POSITION
        self._drive.dq[held] = self._drive.effort[held] = 0.0

    def hold_joints(self, q: Array, joints: Collection[int]) -> None:
        """Hold positions of some joints from now on, which end the trajectories of these joints.

        Args:
            q: In [rad] or [m], shape (joints of the body,).
            joints: Elements of ``q``.
        """
        self.next_ns = _NOW
        self._follower.release(joints)
        for i in joints:
            self._drive.q[i] = self._targets.final[i] = q[i]
            if self._mode[i] == _POSITION:
                self._drive.dq[i] = self._drive.effort[i] = 0.0

    def retime(self, before_ns: int, time_ns: int) -> None:
        """Continue at another clock time, in [ns]; remaining times do not change."""
        self.next_ns = _NOW
        self._deadlines.retime(time_ns - before_ns)
        self._follower.retime(before_ns, time_ns)

    def close(self) -> None:
        """Abort the trajectories of a body that is removed."""
        self._follower.abort("the robot was removed")

    def save(self) -> dict[str, AnyArray]:
        """Return the state for ``check``, without the drive."""
        trajectories = self._follower.save()
        return self._save_own() | {f"{_TRAJECTORIES}{key}": a for key, a in trajectories.items()}

    def check(self, arrays: Mapping[str, AnyArray]) -> ControlState:
        """Validate a saved state and return it for ``restore``.

        Raises:
            PhysicsError: A value is invalid, or does not match this body.
        """
        start = _TRAJECTORIES
        own = {key: a for key, a in arrays.items() if not key.startswith(start)}
        check_arrays(own, self._save_own())
        rest = {key.removeprefix(start): a for key, a in arrays.items() if key.startswith(start)}
        return ControlState(own, self._follower.check(rest))

    def restore(self, state: ControlState, time_ns: int) -> None:
        """Go back to a saved state; the engine restores the drive."""
        self.next_ns = _NOW
        self.is_commanded = False
        self.mode_changes += 1
        arrays, joints = state.arrays, self._joints
        self._targets.final[:] = arrays["target"]
        self._targets.moving = bool(arrays["approaching"])
        self._mode[:] = np.clip(arrays["mode"], _POSITION, _EFFORT)
        own = enumerate(arrays["own_mode"].tolist())
        joints.own_modes = {i: _MODES[mode] for i, mode in own if 0 <= mode < len(_MODES)}
        np.clip(arrays["kp"], 0.0, 0.5 * MAX_DRIVE_VALUE, out=joints.kp)
        np.clip(arrays["kd"], 0.0, 0.5 * MAX_DRIVE_VALUE, out=joints.kd)
        self._deadlines.restore(arrays["commanded_ns"], time_ns)
        self._follower.restore(state.trajectories)

    def update(self, time_ns: int, step_ns: int) -> None:
        """Write the joint targets of the next step into the drive.

        Args:
            time_ns: When the step begins, in [ns].
            step_ns: How long it takes, in [ns].
        """
        if self._targets.moving:
            self._targets.advance(self._drive.q, step_ns)
        if self._follower.trajectories:
            self._advance_trajectories(time_ns, step_ns)
        if self._has_servos:
            self._mimics.set_targets(self._motion, self._drive)
        if time_ns >= self._deadlines.next_ns and (late := self._deadlines.expired(time_ns)):
            self._fall_back(late)
        self.next_ns = self._next_update_ns()

    def check_trajectories(self, time_ns: int) -> None:
        """Check the progress of trajectories after a step, at its end, in [ns]."""
        if not self._follower.trajectories:
            return
        for trajectory, status in self._follower.check_progress(time_ns):
            if status is TrajectoryStatus.SUCCEEDED:
                self._hold_end(trajectory)
            else:
                self._hold(trajectory.moves.tolist(), self._motion.q)

    def _next_update_ns(self) -> int:
        if self._targets.moving or self._has_servos:
            return _NOW
        if not self._follower.trajectories:
            return self._deadlines.next_ns
        starts = (_NOW if t.begun else t.start_ns for t in self._follower.trajectories)
        return min(self._deadlines.next_ns, *starts, NEVER_NS)

    def _save_own(self) -> dict[str, AnyArray]:
        own_mode = np.full(len(self._initial), -1, dtype=np.int64)  # none
        for i, mode in self._joints.own_modes.items():
            own_mode[i] = _MODES.index(mode)
        return {
            "target": self._targets.final.copy(),
            "approaching": np.array(self._targets.moving, dtype=np.int64),
            "mode": self._mode.copy(),
            "own_mode": own_mode,
            "kp": self._joints.kp.copy(),
            "kd": self._joints.kd.copy(),
            "commanded_ns": self._deadlines.commanded_ns.copy(),
        }

    def _enter_mode(self, i: int, mode: int) -> None:
        """Set the present mode of a joint for a command; a servo starts from where the joint is."""
        if mode == _POSITION and self._mode[i] != _POSITION:
            self._drive.q[i] = self._motion.q[i]
        self._set_mode(i, mode)

    def _set_mode(self, i: int, mode: int) -> None:
        """Set the present mode of a joint, and its gains in the drive."""
        self.mode_changes += 1
        if i in self._geared:
            mode = _EFFORT
        self._mode[i] = mode
        self._drive.kp[i] = self._joints.kp[i] if mode == _POSITION else 0.0
        self._drive.kd[i] = 0.0 if mode == _EFFORT else self._joints.kd[i]

    def _overcome_friction(self, i: int) -> None:
        """Add the friction of a joint at its target velocity to the effort of its velocity servo.

        As the integral part of real ones does. Without it the error of the velocity would have to
        exert it: kd (dq_ref - dq) = damping dq.
        """
        drive, joints, dq = self._drive, self._joints, float(self._drive.dq[i])
        if dq and drive.kd[i] > 0.0:
            friction = joints.damping[i] * dq + copysign(joints.friction[i], dq)
            largest = 0.5 * MAX_DRIVE_VALUE
            drive.effort[i] = min(max(drive.effort[i] + friction, -largest), largest)

    def _hold(self, joints: Collection[int], q: Array | None = None) -> None:
        """Hold the targets of joints, or ``q``, shape (joints of the body,)."""
        drive = self._drive
        for i in joints:
            if q is not None or self._mode[i] != _POSITION:
                drive.q[i] = (self._motion.q if q is None else q)[i]
            self._targets.final[i] = drive.q[i]
            drive.dq[i] = drive.effort[i] = 0.0
            self._set_mode(i, _POSITION)

    def _stop(self, names: Collection[str]) -> None:
        """Hold the named joints, or all that trajectories move."""
        wanted = [self._joints.index[n] for n in names] or self._follower.moved().tolist()
        self._follower.release(wanted if names else range(len(self._initial)))
        self._hold(wanted)

    def _hold_end(self, trajectory: ActiveTrajectory) -> None:
        """Hold the last point; targets that are not there yet approach it as after a command."""
        joints = trajectory.moves
        end = trajectory.spline.points[-1, POSITION, trajectory.active]
        self._targets.final[joints] = self._joints.within_range(joints, end)
        self._targets.moving = True

    def _advance_trajectories(self, time_ns: int, step_ns: int) -> None:
        drive, largest = self._drive, 0.5 * MAX_DRIVE_VALUE
        for i in self._follower.begin_due(time_ns, self._present_targets).tolist():
            self._set_mode(i, _POSITION)
        reach = self._targets.reach(step_ns)
        for moved, wanted in self._follower.advance(time_ns + step_ns, reach):
            # A curve may overshoot its points.
            clipped = np.minimum(np.maximum(wanted, -largest), largest)
            q = self._joints.within_range(moved, clipped[POSITION])
            drive.q[moved] = self._targets.final[moved] = q
            drive.dq[moved] = clipped[VELOCITY]
            drive.effort[moved] = clipped[EFFORT]
            self._deadlines.restart(moved, time_ns)

    def _present_targets(self) -> Array:
        """Return target or present position, velocity, acceleration, effort, shape (4, joints)."""
        drive, motion = self._drive, self._motion
        held = self._mode == _POSITION
        q, dq = np.where(held, drive.q, motion.q), np.where(held, drive.dq, motion.dq)
        return np.array([q, dq, np.zeros_like(q), drive.effort])

    def _fall_back(self, late: Sequence[int]) -> None:
        """Apply the fallback to joints and tracks whose commands have timed out."""
        timeout = self._deadlines.timeout
        assert timeout is not None, "nothing expires without a time-out"
        count = len(self._initial)
        joints = [i for i in late if i < count]
        tracks = [i - count for i in late if i >= count]
        names = self._names_of_moved(joints, tracks, is_limp=timeout.fallback is Fallback.LIMP)
        if timeout.fallback is Fallback.HOLD:
            self._hold(joints)
        elif timeout.fallback is Fallback.LIMP:
            for i in joints:
                self._set_mode(i, _EFFORT)
                self._drive.effort[i] = 0.0
        if timeout.fallback is not Fallback.LAST:
            self._drive.track_speed[tracks] = 0.0
        if names:
            self._warnings.time_out(timeout, names)

    def _names_of_moved(
        self, joints: Sequence[int], tracks: Sequence[int], *, is_limp: bool
    ) -> list[str]:
        """Return the names without wheels and tracks that stand, as planners leave them."""
        drive, body = self._drive, self._body
        moved = [i for i in joints if is_limp or self._mode[i] != _VELOCITY or drive.dq[i] != 0.0]
        names = [body.moving_links[i].joint.name for i in moved]
        return names + [body.links[i].joint.name for i in tracks if drive.track_speed[i] != 0.0]

    def _apply_joint_command(self, command: JointCommand, time_ns: int) -> None:
        """Set targets; they hold until the next command to the same joint."""
        if len(command.names) > MAX_NAMES:
            message = f"a command names {len(command.names)} joints; it is ignored"
            self._warnings.refuse("too many names", message)
            return
        joints, warnings = self._joints, self._warnings
        leaders = self._mimics.leaders
        for name, position, velocity, effort in values_by_joint(
            command, joints.interface, warnings.refuse
        ):
            is_effort = isnan(position) and isnan(velocity) and not isnan(effort)
            is_empty = not is_effort and isnan(position) and isnan(velocity)
            if name in leaders and is_empty:  # ros2_control names followers, too
                continue
            if name in leaders and not (is_effort and joints.index[name] in self._geared):
                warnings.refuse(
                    f"follower {name}",
                    f"joint '{name}' follows '{leaders[name]}'; the command to it is ignored",
                )
            elif name in joints.index:
                self._command_joint(joints.index[name], position, velocity, effort, time_ns)
            elif name in joints.tracks:
                self._command_track(name, position, velocity, effort, time_ns)
            else:
                warnings.refuse_unknown_joint(name, [*joints.index, *joints.tracks])

    def _command_joint(
        self, i: int, position: float, velocity: float, effort: float, time_ns: int
    ) -> None:
        if not isnan(position):
            mode = _POSITION
        elif not isnan(velocity):
            mode = _VELOCITY
        elif not isnan(effort):
            mode = _EFFORT
        else:
            return
        if self._follower.trajectories:
            self._follower.release([i])
        self._deadlines.restart(i, time_ns)
        drive, joints = self._drive, self._joints
        if mode == _POSITION:
            self._targets.final[i] = min(max(position, joints.lower[i]), joints.upper[i])
            self._targets.moving = True
        self._enter_mode(i, mode)
        if mode != _EFFORT:
            drive.dq[i] = 0.0 if isnan(velocity) else velocity
        drive.effort[i] = 0.0 if isnan(effort) else effort
        if mode == _VELOCITY:
            self._overcome_friction(i)

    def _command_track(
        self, name: str, position: float, velocity: float, effort: float, time_ns: int
    ) -> None:
        if not isnan(velocity):
            link = self._joints.tracks[name]
            self._drive.track_speed[link] = velocity
            self._controlled_tracks[link] = self._is_by_controller
            self._deadlines.restart(len(self._initial) + link, time_ns)
        for kind, value in (("position", position), ("effort", effort)):
            if not isnan(value):
                self._warnings.refuse(
                    f"{kind} {name}",
                    f"joint '{name}' is a track and takes a velocity only; its {kind} is ignored",
                )

    def _follow(self, run: TrajectoryRun, time_ns: int) -> None:
        """Follow a trajectory from its start; see ``JointTrajectory``."""
        if run.status is not TrajectoryStatus.WAITING:  # canceled already
            return
        try:
            check_trajectory(run.trajectory, self._body, time_ns, run.tolerances)
            if run.trajectory.points:
                self._follower.add(run, time_ns)
                return
        except BadTrajectoryError as error:
            run.end(TrajectoryStatus.REFUSED, str(error))
            message = f"a trajectory is ignored: {error}"
            self._warnings.refuse(f"trajectory {error.kind}", message)
            return
        self._stop(run.trajectory.names)
        run.end(TrajectoryStatus.SUCCEEDED)
