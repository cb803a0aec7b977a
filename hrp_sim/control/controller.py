"""What drives the joints of a body between commands: hold, follow, or let go."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hrp_model.rigid import Array

from ..physics.engine import AnyArray
from ..physics.snapshot import check_arrays
from ..physics.state import MAX_DRIVE_VALUE, SimulatedBody
from .command_values import columns, usable
from .commands import CommandCounts, JointCommand
from .deadlines import Deadlines
from .followers import Followers
from .joints import ControlledJoints
from .runs import Following, TrajectoryRun, TrajectoryStatus
from .settings import (
    CommandRateLimit,
    CommandTimeout,
    ControlMode,
    ControlSettings,
    Fallback,
)
from .slew import SlewedTargets
from .spline import EFFORT, POSITION, VELOCITY
from .throttled_warnings import Complaints
from .trajectories import Trajectories
from .trajectory import BadTrajectoryError, JointTrajectory, check_trajectory

_MODES = (ControlMode.POSITION, ControlMode.VELOCITY, ControlMode.EFFORT)
_POSITION, _VELOCITY, _EFFORT = range(3)
_RUNS = "trajectories/"


@dataclass(frozen=True, slots=True)
class ControlState:
    """What a controller goes back to; checked by ``BodyController.check``."""

    arrays: Mapping[str, AnyArray]
    trajectories: list[Following]


class BodyController:
    """Turns commands into the drive of one body, before every physics step.

    A position command is clipped to the range that the model states for the joint, and the
    servo's target moves there at no more than the joint's speed limit; see ``rate_limit``. A
    trajectory has speeds of its own: it is clipped to the range, and not slewed. Velocities and
    efforts go to the drive as they are commanded. A track takes the speed of its surface, as a
    velocity. What cannot be used (an unknown joint, a value that is infinite, or absurd) is
    counted, reported once and left out; the rest of the command counts.

    Args:
        simulated: The body; its ``drive`` is written, its ``motion`` read.
        settings: How it is driven until a command comes.
        q: Initial joint positions, in [rad] or [m], shape (joints,).
        fixed: Whether the root is fixed to the world.
        counts: Where it is counted what becomes of commands.

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
        self._joints = ControlledJoints(simulated.name, simulated.body, settings, q, fixed=fixed)
        self._complaints = Complaints(simulated.name, CommandCounts() if counts is None else counts)
        self._trajectories = Trajectories(simulated.body, simulated.motion)
        self._followers = Followers(simulated.body)
        self._initial = np.array(q, dtype=np.float64)
        self._targets = SlewedTargets(q, self._joints.speed, settings.rate_limit)
        self._mode = np.zeros(len(self._initial), dtype=np.int64)  # of each joint, now
        self._deadlines = Deadlines(len(self._initial) + len(simulated.body.links))
        self._deadlines.timeout = settings.timeout
        self.reset()

    @property
    def timeout(self) -> CommandTimeout | None:
        """What happens when commands stop coming; may be set between two steps."""
        return self._deadlines.timeout

    @timeout.setter
    def timeout(self, timeout: CommandTimeout | None) -> None:
        self._deadlines.timeout = timeout

    @property
    def rate_limit(self) -> CommandRateLimit:
        """How fast position commands become targets; may be set between two steps."""
        return self._targets.rate_limit

    @rate_limit.setter
    def rate_limit(self, rate_limit: CommandRateLimit) -> None:
        self._targets.rate_limit = rate_limit

    def gains(self, joint: str) -> tuple[float, float]:
        """Return kp and kd of a joint: what it is held with when it is driven by position.

        Raises:
            ValueError: There is none of this name.
        """
        i = self._joints.element(joint)
        return float(self._joints.kp[i]), float(self._joints.kd[i])

    def set_gains(self, joint: str, *, kp: float | None = None, kd: float | None = None) -> None:
        """Set gains of a joint from now on, also after a reset; None leaves one.

        Args:
            joint: Its name.
            kp: Stiffness, in [N m/rad] or [N/m].
            kd: Damping, in [N m s/rad] or [N s/m].

        Raises:
            ValueError: There is none of this name, or a gain is negative, not finite, or absurd.
        """
        i = self._joints.element(joint)
        self._joints.set_gains(i, kp, kd)
        self._set_mode(i, int(self._mode[i]))

    def mode(self, joint: str) -> ControlMode:
        """Return how a joint is driven at the start.

        Raises:
            ValueError: There is none of this name.
        """
        return self._joints.mode(self._joints.element(joint))

    def set_mode(self, joint: str, mode: ControlMode) -> None:
        """Drive a joint otherwise from now on, and after a reset; it stops, or goes limp.

        Raises:
            ValueError: There is none of this name, or it follows another.
        """
        i = self._joints.element(joint)
        if (leader := self._followers.leaders.get(joint)) is not None:
            raise ValueError(f"joint '{joint}' follows '{leader}' and has no mode of its own")
        self._joints.set_mode(i, mode)
        self._trajectories.release([i])
        if mode is ControlMode.POSITION:
            self._hold([i])
        else:
            self._set_mode(i, _MODES.index(mode))
            self._drive.dq[i] = self._drive.effort[i] = 0.0

    def refuse(self, kind: str, message: str) -> None:
        """Count a command that cannot be used; say why if it is the first of its kind."""
        self._complaints.refuse(kind, message)

    def reset(self) -> None:
        """Go back to what drives the joints at the start; gains and modes that were set stay."""
        self._trajectories.abort("the world was reset")
        self._deadlines.clear()
        drive = self._drive
        drive.q[:] = self._initial
        drive.dq[:] = drive.effort[:] = drive.track_speed[:] = 0.0
        self._targets.jump(self._initial)
        for i in range(len(self._initial)):
            self._set_mode(i, _MODES.index(self._joints.mode(i)))

    def hold(self, q: Array) -> None:
        """Aim at this posture, in [rad] or [m], shape (joints,), from now on."""
        self._trajectories.abort("the robot was moved elsewhere")
        self._drive.q[:] = q
        self._targets.jump(q)
        held = self._mode == _POSITION  # not on the way anywhere any more
        self._drive.dq[held] = self._drive.effort[held] = 0.0

    def retime(self, before_ns: int, time_ns: int) -> None:
        """Go on at another time, in [ns]: what is to come has as long to come as before."""
        self._deadlines.retime(time_ns - before_ns)
        self._trajectories.retime(before_ns, time_ns)

    def close(self) -> None:
        """Let go of a body that is removed."""
        self._trajectories.abort("the robot was removed")

    def save(self) -> dict[str, AnyArray]:
        """Return what ``restore`` needs, besides the drive."""
        runs = self._trajectories.save()
        return self._save_own() | {f"{_RUNS}{key}": array for key, array in runs.items()}

    def check(self, arrays: Mapping[str, AnyArray]) -> ControlState:
        """Return what was saved, for ``restore``; nothing has changed yet.

        Raises:
            PhysicsError: Something does not fit.
        """
        own = {key: a for key, a in arrays.items() if not key.startswith(_RUNS)}
        check_arrays(own, self._save_own())
        runs = {k.removeprefix(_RUNS): a for k, a in arrays.items() if k.startswith(_RUNS)}
        return ControlState(own, self._trajectories.check(runs))

    def restore(self, state: ControlState, time_ns: int) -> None:
        """Aim again at what was aimed at; the drive is restored by the engine."""
        arrays, joints = state.arrays, self._joints
        self._targets.final[:] = arrays["target"]
        self._targets.moving = bool(arrays["approaching"])
        self._mode[:] = np.clip(arrays["mode"], _POSITION, _EFFORT)
        own = enumerate(arrays["own_mode"].tolist())
        joints.own_modes = {i: _MODES[mode] for i, mode in own if 0 <= mode < len(_MODES)}
        np.clip(arrays["kp"], 0.0, 0.5 * MAX_DRIVE_VALUE, out=joints.kp)
        np.clip(arrays["kd"], 0.0, 0.5 * MAX_DRIVE_VALUE, out=joints.kd)
        self._deadlines.restore(arrays["commanded_ns"], time_ns)
        self._trajectories.restore(state.trajectories)

    def command(self, command: JointCommand, time_ns: int) -> None:
        """Take a command; it holds until the next one for the same joint."""
        by_kind = columns(command, self._joints.interface, self.refuse)
        for k, name in enumerate(command.names):
            values = [usable(name, c[k], self.refuse) if len(c) else None for c in by_kind]
            if (leader := self._followers.leaders.get(name)) is not None:
                self.refuse(
                    f"follower {name}",
                    f"joint '{name}' follows '{leader}'; the command to it is ignored",
                )
            elif name in self._joints.index:
                self._command_joint(self._joints.index[name], values, time_ns)
            elif name in self._joints.tracks:
                self._command_track(name, values, time_ns)
            else:
                self._complaints.refuse_unknown(name, [*self._joints.index, *self._joints.tracks])

    def follow(self, sent: JointTrajectory | TrajectoryRun, time_ns: int) -> None:
        """Follow a trajectory from its start on; see ``JointTrajectory``."""
        run = sent if isinstance(sent, TrajectoryRun) else TrajectoryRun(sent)
        if run.status is not TrajectoryStatus.WAITING:  # canceled before it came here
            return
        try:
            check_trajectory(run.trajectory, self._body, time_ns, run.tolerances)
            if run.trajectory.points:
                self._trajectories.add(run, time_ns)
                return
        except BadTrajectoryError as error:
            run.end(TrajectoryStatus.REFUSED, str(error))
            self.refuse(f"trajectory {error.kind}", f"a trajectory is ignored: {error}")
            return
        self._stop(run.trajectory.names)
        run.end(TrajectoryStatus.SUCCEEDED)

    def cancel(self, run: TrajectoryRun) -> None:
        """End a trajectory; the joints that it moves hold where they are aimed at."""
        self._hold(self._trajectories.cancel(run).tolist())

    def update(self, time_ns: int, step_ns: int) -> None:
        """Write what the joints are asked to do in the step that follows.

        Args:
            time_ns: When the step begins, in [ns].
            step_ns: How long it takes, in [ns].
        """
        self._targets.advance(self._drive.q, step_ns)
        if self._trajectories:
            self._advance_trajectories(time_ns, step_ns)
        self._followers.aim(self._motion, self._drive)
        if late := self._deadlines.expired(time_ns):
            self._fall_back(late)

    def judge(self, time_ns: int) -> None:
        """Look how far trajectories have come after a step, at its end, in [ns]."""
        if not self._trajectories:
            return
        for following, status in self._trajectories.judge(time_ns):
            joints = following.moves
            if status is TrajectoryStatus.SUCCEEDED:
                self._stand_at_end(following)
            else:
                self._hold(joints.tolist(), self._motion.q)

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

    def _set_mode(self, i: int, mode: int) -> None:
        """Give a joint the gains by which it is driven so."""
        self._mode[i] = mode
        self._drive.kp[i] = self._joints.kp[i] if mode == _POSITION else 0.0
        self._drive.kd[i] = 0.0 if mode == _EFFORT else self._joints.kd[i]

    def _hold(self, joints: Collection[int], q: Array | None = None) -> None:
        """Let joints stop where they are aimed at, or at ``q``, shape (joints of the body,)."""
        drive = self._drive
        for i in joints:
            if q is not None or self._mode[i] != _POSITION:
                drive.q[i] = (self._motion.q if q is None else q)[i]
            self._targets.final[i] = drive.q[i]
            drive.dq[i] = drive.effort[i] = 0.0
            self._set_mode(i, _POSITION)

    def _stop(self, names: Collection[str]) -> None:
        """Let joints hold: those that are named, or all that trajectories move."""
        wanted = [self._joints.index[n] for n in names] or self._trajectories.moved().tolist()
        self._trajectories.release(wanted if names else range(len(self._initial)))
        self._hold(wanted)

    def _stand_at_end(self, following: Following) -> None:
        """Hold the last point; what is still on its way to it goes on as after a command."""
        joints = following.moves
        end = following.spline.points[-1, POSITION, following.active]
        self._targets.final[joints] = self._joints.within_range(joints, end)
        self._targets.moving = True

    def _advance_trajectories(self, time_ns: int, step_ns: int) -> None:
        drive, largest = self._drive, 0.5 * MAX_DRIVE_VALUE
        for i in self._trajectories.begin_due(time_ns, self._aimed_at).tolist():
            self._set_mode(i, _POSITION)
        reach = self._targets.reach(step_ns)
        for moved, asked in self._trajectories.advance(time_ns + step_ns, reach):
            # What swings wide ends where a drive does.
            sane = np.minimum(np.maximum(asked, -largest), largest)
            q = self._joints.within_range(moved, sane[POSITION])
            drive.q[moved] = self._targets.final[moved] = q
            drive.dq[moved] = sane[VELOCITY]
            drive.effort[moved] = sane[EFFORT]
            self._deadlines.command(moved, time_ns)

    def _aimed_at(self) -> Array:
        """Return position, velocity, acceleration and effort now, shape (4, joints)."""
        drive, motion = self._drive, self._motion
        aimed = self._mode == _POSITION
        q, dq = np.where(aimed, drive.q, motion.q), np.where(aimed, drive.dq, motion.dq)
        return np.array([q, dq, np.zeros_like(q), drive.effort])

    def _fall_back(self, late: Sequence[int]) -> None:
        """Do with joints and tracks that were left alone what was chosen for them."""
        timeout = self._deadlines.timeout
        assert timeout is not None, "without a time-out nothing is late"
        count = len(self._initial)
        joints = [i for i in late if i < count]
        tracks = [i - count for i in late if i >= count]
        if timeout.fallback is Fallback.HOLD:
            self._hold(joints)
        elif timeout.fallback is Fallback.LIMP:
            for i in joints:
                self._set_mode(i, _EFFORT)
                self._drive.effort[i] = 0.0
        if timeout.fallback is not Fallback.LAST:
            self._drive.track_speed[tracks] = 0.0
        names = [self._body.moving_links[i].joint.name for i in joints]
        names += [self._body.links[i].joint.name for i in tracks]
        self._complaints.timed_out(timeout, names)

    def _command_joint(self, i: int, values: Sequence[float | None], time_ns: int) -> None:
        position, velocity, effort = values
        if position is None and velocity is None and effort is None:
            return
        if self._trajectories:
            self._trajectories.release([i])
        self._deadlines.command(i, time_ns)
        drive, joints = self._drive, self._joints
        if position is not None:
            if self._mode[i] != _POSITION:  # start from where it is
                drive.q[i] = self._motion.q[i]
            self._set_mode(i, _POSITION)
            self._targets.final[i] = min(max(position, joints.lower[i]), joints.upper[i])
            self._targets.moving = True
            drive.dq[i] = velocity or 0.0
            drive.effort[i] = effort or 0.0
        elif velocity is not None:
            self._set_mode(i, _VELOCITY)
            drive.dq[i] = velocity
            drive.effort[i] = effort or 0.0
        elif effort is not None:
            self._set_mode(i, _EFFORT)
            drive.effort[i] = effort

    def _command_track(self, name: str, values: Sequence[float | None], time_ns: int) -> None:
        position, velocity, effort = values
        link = self._joints.tracks[name]
        if velocity is not None:
            self._drive.track_speed[link] = velocity
            self._deadlines.command(len(self._initial) + link, time_ns)
        for kind, value in (("position", position), ("effort", effort)):
            if value is not None:
                self.refuse(
                    f"{kind} {name}",
                    f"joint '{name}' is a track and takes a velocity only; its {kind} is ignored",
                )
