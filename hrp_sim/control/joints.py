"""The joints that a controller of a body commands: modes, gains, limits, targets; mimic joints."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body, JointType
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.kinematics.actuation import (
    NATURAL_FREQUENCY,
    CommandInterface,
    apparent_inertias,
    controlled_joints,
    critically_damped,
)
from hrp_model.kinematics.loops import LoopClosure, loop_groups
from hrp_model.rigid import Array

from ..engine.schedule import EARLIEST_NS, NEVER_NS
from ..engine.state import MAX_DRIVE_VALUE, BodyMotion, JointDrive
from .commands import CommandRateLimit, CommandTimeout, ControlMode, ControlSettings, JointControl

Elements = slice | NDArray[np.intp]
_NEVER = -1


class JointTargets:
    """Targets of the joints of a body, and the control modes of those that they drive.

    Args:
        joints: Number of joints of the body.

    Attributes:
        q: In [rad] or [m], shape (joints,); used by joints in position mode.
        dq: In [rad/s] or [m/s], likewise, and in velocity mode; feed-forward in position mode.
        effort: In [N m] or [N], shape (joints,); feed-forward in position and velocity mode.
        values: q, dq and effort in one array, shape (3, joints).
        modes: Control modes of the driven joints, by element of q.
        driven: The driven joints, as elements of q.
        with_q: Those in position mode.
        with_dq: Those in position or velocity mode.
        with_speed: Those in velocity mode.
        has_q, has_dq: Whether there are any of those.
        applied_modes: Value of ``BodyController.mode_changes`` when the modes were applied; -1
            before.
    """

    def __init__(self, joints: int) -> None:
        self.values: Array = np.zeros((3, joints))
        self.q: Array = self.values[0]
        self.dq: Array = self.values[1]
        self.effort: Array = self.values[2]
        self._flat = self.values.reshape(-1)
        self.modes: Mapping[int, ControlMode] = {}
        self.drive({})

    def drive(self, modes: Mapping[int, ControlMode]) -> None:
        """Drive further joints in these modes, by element of q."""
        self.modes = {**self.modes, **modes}
        with_q = [i for i, mode in self.modes.items() if mode is ControlMode.POSITION]
        with_dq = [i for i, mode in self.modes.items() if mode is not ControlMode.EFFORT]
        self.driven = self._elements(list(self.modes))
        self.with_q, self.with_dq = self._elements(with_q), self._elements(with_dq)
        self.with_speed = [i for i in with_dq if self.modes[i] is ControlMode.VELOCITY]
        self.has_q, self.has_dq = bool(with_q), bool(with_dq)
        self.applied_modes = -1

    @property
    def are_valid(self) -> bool:
        """Whether all values are finite and within bounds."""
        if float(self._flat @ self._flat) < MAX_DRIVE_VALUE**2:  # not if one is NaN
            return True
        return bool(np.all(np.abs(self._flat) < MAX_DRIVE_VALUE))

    def _elements(self, joints: list[int]) -> Elements:
        """Return an index of joints; a slice for all, which is several times faster."""
        return (
            slice(None) if len(joints) == len(self.q) else np.array(sorted(joints), dtype=np.intp)
        )


class SlewedTargets:
    """Commanded positions, and the servo targets that approach them at limited speed.

    Args:
        q: Initial positions, in [rad] or [m], shape (joints,).
        speed: Speed limits of the model, in [rad/s] or [m/s], infinity for none, shape (joints,).
        rate_limit: Whether these limits apply.

    Attributes:
        final: The commanded positions, in [rad] or [m], shape (joints,).
        moving: Whether a target may not have arrived yet.
        rate_limit: May be set between two steps.
    """

    def __init__(self, q: Array, speed: Array, rate_limit: CommandRateLimit) -> None:
        self.final = np.array(q, dtype=np.float64)
        self.moving = False
        self.rate_limit = rate_limit
        self._speed = speed
        self._reach: tuple[CommandRateLimit, int, Array] | None = None  # the last one

    def jump(self, q: Array) -> None:
        """Set commanded positions that targets have reached already, in [rad] or [m]."""
        self.final[:] = q
        self.moving = False

    def reach(self, step_ns: int) -> Array:
        """Return the maximum movement of targets in a step of a length in [ns], in [rad] or [m]."""
        if self._reach is None or self._reach[:2] != (self.rate_limit, step_ns):
            is_free = self.rate_limit is CommandRateLimit.NONE
            reach = np.full_like(self._speed, np.inf) if is_free else self._speed * (step_ns * 1e-9)
            self._reach = self.rate_limit, step_ns, reach
        return self._reach[2]

    def advance(self, targets: Array, step_ns: int) -> None:
        """Move targets, shape (joints,), as far as allowed in a step of a length in [ns]."""
        reach = self.reach(step_ns)
        nearest = np.maximum(self.final, targets - reach)
        np.minimum(nearest, targets + reach, out=targets)
        # any() takes five times as long
        self.moving = bool(np.count_nonzero(targets != self.final))


class Deadlines:
    """Times of the last commands to the joints and tracks of a body.

    Args:
        count: Number of joints and tracks.

    Attributes:
        commanded_ns: Time of the last command to each, in [ns], -1 for never; shape (count,).
            Smaller values are times before zero of a clock that was set back.
        next_ns: Earliest time-out, in [ns]; see ``expired``.
    """

    def __init__(self, count: int) -> None:
        self.commanded_ns: NDArray[np.int64] = np.full(count, _NEVER, dtype=np.int64)
        self._timeout: CommandTimeout | None = None
        self.next_ns = NEVER_NS

    @property
    def timeout(self) -> CommandTimeout | None:
        """The time-out; None means never."""
        return self._timeout

    @timeout.setter
    def timeout(self, timeout: CommandTimeout | None) -> None:
        self._timeout = timeout
        self.next_ns = _NEVER  # computed by ``expired``

    def restart(self, which: int | NDArray[np.intp], time_ns: int) -> None:
        """Record that some are commanded at a time, in [ns]."""
        self.commanded_ns[which] = time_ns
        if self._timeout is not None:
            self.next_ns = min(self.next_ns, time_ns + self._timeout.after_ns)

    def clear(self) -> None:
        """Forget all commands."""
        self.commanded_ns[:] = _NEVER
        self.next_ns = NEVER_NS

    def retime(self, shift_ns: int) -> None:
        """Shift all times, in [ns].

        Times before zero of a clock that was set back are negative. None becomes -1: they are whole
        steps away from the present time, and a step takes at least a microsecond.
        """
        self.commanded_ns[self.commanded_ns != _NEVER] += shift_ns
        self.next_ns = _NEVER

    def restore(self, commanded_ns: NDArray[np.int64], time_ns: int) -> None:
        """Go back to saved times; none can lie in the future."""
        np.clip(commanded_ns, EARLIEST_NS, time_ns, out=self.commanded_ns)
        self.next_ns = _NEVER

    def expired(self, time_ns: int) -> list[int]:
        """Return those that have timed out, and clear their last commands.

        To be called from ``next_ns`` on.
        """
        if self._timeout is None:
            self.next_ns = NEVER_NS
            return []
        commanded = self.commanded_ns
        known = commanded != _NEVER
        late: list[int] = np.flatnonzero(
            known & (commanded <= time_ns - self._timeout.after_ns)
        ).tolist()
        commanded[late] = _NEVER
        waiting = commanded[commanded != _NEVER]
        first_ns = int(waiting.min()) if len(waiting) else NEVER_NS - self._timeout.after_ns
        self.next_ns = first_ns + self._timeout.after_ns
        return late


class ControlledJoints:
    """Limits, gains and control modes of the joints of a body.

    Args:
        name: Name of the body.
        body: The model.
        settings: Its control settings.
        q: Initial joint positions, in [rad] or [m], shape (joints,).
        fixed: Whether the root is fixed to the world.
        is_geared: Whether the engine holds mimic joints, which have no servo then.

    Attributes:
        index: Element of q of each joint, by name.
        tracks: Index among the links of each track, by the name of its joint.
        speed: ``Joint.max_velocity``, in [rad/s] or [m/s], shape (joints,).
        lower, upper: ``Joint.position_limits``, in [rad] or [m], shape (joints,).
        kp, kd: Gains, shape (joints,).
        damping, friction: Viscous and Coulomb friction of the joints, in [N m s/rad] or [N s/m] and
            in [N m] or [N], shape (joints,).
        own_modes: Initial modes of joints that have one of their own, by element of q.

    Raises:
        ValueError: The settings name a joint that the body does not have.
    """

    def __init__(
        self,
        name: str,
        body: Body,
        settings: ControlSettings,
        q: Array,
        *,
        fixed: bool,
        is_geared: bool = False,
    ) -> None:
        self._name = name
        self._body = body
        self._settings = settings
        self._of_followers = ControlMode.EFFORT if is_geared else ControlMode.POSITION
        self.index = {x.joint.name: i for i, x in enumerate(body.moving_links)}
        self.tracks = {
            x.joint.name: i for i, x in enumerate(body.links) if x.joint.type is JointType.TRACK
        }
        for joint in settings.joints:
            self.element(joint)
        self.speed = np.array([x.joint.max_velocity for x in body.moving_links])
        ranges = [x.joint.position_limits for x in body.moving_links]
        self.lower = np.array([r.lower for r in ranges])
        self.upper = np.array([r.upper for r in ranges])
        self.kp, self.kd = _gains(body, settings, q, fixed=fixed)
        self.damping = np.array([x.joint.damping for x in body.moving_links])
        self.friction = np.array([x.joint.friction for x in body.moving_links])
        own = {i: settings.joints.get(n, JointControl()).mode for n, i in self.index.items()}
        self.own_modes = {i: mode for i, mode in own.items() if mode is not None}
        self._passive = _passive(body, settings)
        self._interfaces: dict[str, CommandInterface | None] | None = None

    def element(self, joint: str) -> int:
        """Return the element of q of a joint.

        Raises:
            ValueError: No joint has this name.
        """
        if joint not in self.index:
            hint = did_you_mean_or_all(joint, self.index)
            raise ValueError(f"body '{self._name}' has no moving joint '{joint}'.{hint}")
        return self.index[joint]

    def within_range(self, joints: NDArray[np.intp], q: Array) -> Array:
        """Return positions of some joints, clipped to their limits.

        Args:
            joints: Elements of q.
            q: Their positions, in [rad] or [m], of the same shape.
        """
        clipped: Array = np.minimum(np.maximum(q, self.lower[joints]), self.upper[joints])
        return clipped

    def mode(self, i: int) -> ControlMode:
        """Return the initial control mode of a joint."""
        if self._body.moving_links[i].joint.mimic is not None:
            return self._of_followers  # independent of the mode of its leader
        usual = ControlMode.EFFORT if i in self._passive else self._settings.mode
        return self.own_modes.get(i, usual)

    def set_mode(self, i: int, mode: ControlMode) -> None:
        """Set the initial control mode of a joint."""
        self.own_modes[i] = mode

    def interface(self, joint: str) -> str | None:
        """Return the command interface of a joint; None if it has only state interfaces.

        It is the joint's own mode if it has one, else the interface for the mode of the body in the
        <ros2_control> block of the robot's description.
        """
        if (i := self.index.get(joint)) is None:
            return None
        if i in self.own_modes:
            return self.own_modes[i].value
        if self._interfaces is None:
            found = controlled_joints(self._body, CommandInterface(self._settings.mode.value))
            self._interfaces = {x.link.joint.name: x.command_interface for x in found}
        found_interface = self._interfaces.get(joint)
        return None if found_interface is None else found_interface.value

    def set_gains(self, i: int, kp: float | None, kd: float | None) -> None:
        """Set gains of a joint; None leaves a gain unchanged.

        Raises:
            ValueError: One is negative, not finite or too large; nothing was changed.
        """
        for name, gain in (("kp", kp), ("kd", kd)):
            if gain is not None and not (isfinite(gain) and 0.0 <= gain < MAX_DRIVE_VALUE):
                joint = self._body.moving_links[i].joint.name
                message = f"{name} must be from 0 to {MAX_DRIVE_VALUE:g}, not {gain}"
                raise ValueError(f"body '{self._name}', joint '{joint}': {message}")
        self.kp[i] = self.kp[i] if kp is None else kp
        self.kd[i] = self.kd[i] if kd is None else kd


def _gains(body: Body, settings: ControlSettings, q: Array, *, fixed: bool) -> tuple[Array, Array]:
    kp, kd = servo_gains(body, q, fixed=fixed)
    for i, link in enumerate(body.moving_links):
        own = settings.joints.get(link.joint.name, JointControl())
        kp[i] = _first_given(own.kp, settings.kp, kp[i])
        kd[i] = _first_given(own.kd, settings.kd, kd[i])
    return kp, kd


def _passive(body: Body, settings: ControlSettings) -> set[int]:
    """Return the joints without a motor, as elements of q."""
    unnumbered = {i for i, x in enumerate(body.moving_links) if x.joint.id is None}
    if len(unnumbered) < len(body.moving_links):
        return unnumbered
    passive = {i for i, x in enumerate(body.moving_links) if x.joint.is_passive}
    if any(x.parent is not None and x.joint.type is JointType.FREE for x in body.links):
        return passive  # a free joint may close a loop without these joints
    own = {name for name, control in settings.joints.items() if control.mode is not None}
    driven = [x.name for x in body.moving_links if x.joint.name in own]
    closures = [LoopClosure(body, group, driven) for group in loop_groups(body)]
    return passive | {int(i) for closure in closures for i in closure.dependent}


def _first_given(*values: float | None) -> float:
    return next(value for value in values if value is not None)


def servo_gains(body: Body, q: Array, *, fixed: bool) -> tuple[Array, Array]:
    """Return (kp, kd) of critically damped servos that hold the posture ``q``.

    Such gains are far too stiff for the lighter side in an explicit integration; drives are
    integrated implicitly.

    Args:
        body: The model.
        q: Joint positions, in [rad] or [m], shape (joints,).
        fixed: Whether the root is fixed to the world.

    Returns:
        Stiffness in [N m/rad] or [N/m] and damping in [N m s/rad] or [N s/m], shape (joints,).
    """
    return critically_damped(apparent_inertias(body, q, fixed=fixed), NATURAL_FREQUENCY)


class MimicJoints:
    """Sets the servo targets of mimic joints from the positions of their leaders.

    Followers exert no force on their leaders then.

    Args:
        body: The model.

    Attributes:
        leaders: Name of the leader by the name of its follower.
    """

    def __init__(self, body: Body) -> None:
        index = {link.name: i for i, link in enumerate(body.moving_links)}
        mimics = [
            (i, link.joint.mimic)
            for i, link in enumerate(body.moving_links)
            if link.joint.mimic is not None and link.joint.mimic.link in index
        ]
        self._joints = np.array([i for i, _ in mimics], dtype=np.int64)
        self._leaders = np.array([index[mimic.link] for _, mimic in mimics], dtype=np.int64)
        self._multiplier = np.array([mimic.multiplier for _, mimic in mimics])
        self._offset = np.array([mimic.offset for _, mimic in mimics])
        self.leaders = {
            body.moving_links[i].joint.name: body.link(mimic.link).joint.name for i, mimic in mimics
        }

    def set_targets(self, motion: BodyMotion, drive: JointDrive) -> None:
        """Write target positions and velocities of the mimic joints."""
        largest = 0.5 * MAX_DRIVE_VALUE
        q = self._multiplier * motion.q[self._leaders] + self._offset
        drive.q[self._joints] = np.clip(q, -largest, largest)
        dq = self._multiplier * motion.dq[self._leaders]
        drive.dq[self._joints] = np.clip(dq, -largest, largest)
