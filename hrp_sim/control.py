"""What drives the joints between commands: hold, follow, or let go."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf, isnan, pi

import numpy as np

from hrp_model import Body, JointType, Range
from hrp_model.diagnostics import did_you_mean
from hrp_model.kinematics.loops import LoopClosure, loop_groups
from hrp_model.rigid import Array

from .engine import AnyArray
from .gains import servo_gains
from .state import LARGEST_DRIVE, SimulatedBody

_log = logging.getLogger("hrp_sim")

# Speed at which a position command is approached where the model states no limit, so that
# a far command is a motion and not a blow; in [rad/s] or [m/s].
DEFAULT_SPEED = 2.0 * pi


class ControlMode(Enum):
    """How a joint is driven."""

    POSITION = "position"
    VELOCITY = "velocity"
    EFFORT = "effort"


@dataclass(frozen=True, kw_only=True)
class JointControl:
    """How one joint differs from the others of its body; None means it does not.

    Attributes:
        mode: How it is driven.
        kp: Stiffness, in [N m/rad] or [N/m].
        kd: Damping, in [N m s/rad] or [N s/m].
    """

    mode: ControlMode | None = None
    kp: float | None = None
    kd: float | None = None


@dataclass(frozen=True, kw_only=True)
class ControlSettings:
    """How the joints of a body are driven until a command says otherwise.

    The formats number the joints that have motors. A joint without an id, of a body where others
    have one or where a closed loop makes it follow from others, is left limp unless ``joints``
    gives it a mode.

    Attributes:
        mode: POSITION holds the initial posture; VELOCITY and EFFORT start at zero.
        kp, kd: Gains for every joint; None derives each joint's from the model.
        joints: Joints that differ, by name.
    """

    mode: ControlMode = ControlMode.POSITION
    kp: float | None = None
    kd: float | None = None
    joints: Mapping[str, JointControl] = field(default_factory=dict)


HOLD = ControlSettings()
LIMP = ControlSettings(mode=ControlMode.EFFORT)


@dataclass(frozen=True, slots=True)
class JointCommand:
    """A command to some joints of one body. NaN leaves a joint as it is.

    Attributes:
        names: Joint names.
        position: In [rad] or [m], one per name, or empty.
        velocity: In [rad/s] or [m/s], one per name, or empty.
        effort: In [N m] or [N], one per name, or empty.
    """

    names: Sequence[str]
    position: Sequence[float] = ()
    velocity: Sequence[float] = ()
    effort: Sequence[float] = ()


class BodyController:
    """Turns commands into the drive of one body, before every physics step.

    A position command is approached at no more than the joint's own speed limit, and no
    farther than its range. A track takes the speed of its surface, as a velocity. What cannot
    be used (an unknown joint, a value that is infinite, or absurd) is reported once and left
    out; the rest of the command counts.

    Args:
        simulated: The body; its ``drive`` is written, its ``motion`` read.
        settings: How it is driven until a command comes.
        q: Initial joint positions, in [rad] or [m], shape (joints,).
        fixed: Whether the root is fixed to the world.

    Raises:
        ValueError: The settings name a joint that the body does not have.
    """

    def __init__(
        self, simulated: SimulatedBody, settings: ControlSettings, q: Array, *, fixed: bool
    ) -> None:
        self._name = simulated.name
        self._motion = simulated.motion
        self._drive = simulated.drive
        self._joints = {x.joint.name: i for i, x in enumerate(simulated.body.moving_links)}
        self._tracks = {
            x.joint.name: i
            for i, x in enumerate(simulated.body.links)
            if x.joint.type is JointType.TRACK
        }
        self._speed = np.array(
            [_speed_limit(x.joint.velocity) for x in simulated.body.moving_links]
        )
        self._range = [x.joint.position for x in simulated.body.moving_links]
        self._refuse_unknown_joints(settings)
        self._kp, self._kd = _gains(simulated.body, settings, q, fixed=fixed)
        self._settings = settings
        self._passive = _passive(simulated.body, settings)
        self._initial = np.array(q, dtype=np.float64)
        self._target = self._initial.copy()
        self._approaching = False
        self._reported: set[str] = set()
        self.reset()

    def reset(self) -> None:
        """Go back to what drives the joints at the start."""
        drive = self._drive
        drive.q[:] = self._initial
        drive.dq[:] = drive.effort[:] = drive.track_speed[:] = 0.0
        self._target[:] = self._initial
        self._approaching = False
        for name, i in self._joints.items():
            own = _mode_of(name, self._settings)
            usual = ControlMode.EFFORT if i in self._passive else self._settings.mode
            mode = usual if own is None else own
            drive.kd[i] = 0.0 if mode is ControlMode.EFFORT else self._kd[i]
            drive.kp[i] = self._kp[i] if mode is ControlMode.POSITION else 0.0

    def hold(self, q: Array) -> None:
        """Aim at this posture, in [rad] or [m], shape (joints,), from now on."""
        self._drive.q[:] = q
        self._target[:] = q
        self._approaching = False

    def save(self) -> dict[str, AnyArray]:
        """Return what ``restore`` needs, besides the drive."""
        approaching = np.array(self._approaching, dtype=np.int64)
        return {"target": self._target.copy(), "approaching": approaching}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Aim again at what was aimed at; the drive is restored by the engine."""
        self._target[:] = arrays["target"]
        self._approaching = bool(arrays["approaching"])

    def command(self, command: JointCommand) -> None:
        """Take a command; it holds until the next one for the same joint."""
        columns = (command.position, command.velocity, command.effort)
        position, velocity, effort = (
            self._column(kind, values, len(command.names))
            for kind, values in zip(("position", "velocity", "effort"), columns, strict=True)
        )
        for k, name in enumerate(command.names):
            values = [
                self._usable(name, column[k]) if len(column) else None
                for column in (position, velocity, effort)
            ]
            if name in self._joints:
                self._command_joint(self._joints[name], *values)
            elif name in self._tracks:
                self._command_track(name, *values)
            else:
                self._report(
                    f"unknown {name}", f"it has no joint '{name}'; the command to it is ignored"
                )

    def update(self, time_step: float) -> None:
        """Move the positions aimed at by one step towards the commanded ones."""
        if not self._approaching:
            return
        drive = self._drive
        reach = self._speed * time_step
        left = self._target - drive.q
        drive.q += np.clip(left, -reach, reach)
        self._approaching = bool(np.any(np.abs(left) > reach))

    def _refuse_unknown_joints(self, settings: ControlSettings) -> None:
        for name in settings.joints:
            if name not in self._joints:
                hint = did_you_mean(name, self._joints)
                raise ValueError(f"body '{self._name}' has no moving joint '{name}'.{hint}")

    def _command_joint(
        self, i: int, position: float | None, velocity: float | None, effort: float | None
    ) -> None:
        drive = self._drive
        if position is not None:
            if drive.kp[i] == 0.0:  # was limp or driven otherwise: start from where it is
                drive.q[i] = self._motion.q[i]
            drive.kp[i], drive.kd[i] = self._kp[i], self._kd[i]
            self._target[i] = _within(self._range[i], position)
            self._approaching = True
            drive.dq[i] = velocity or 0.0
            drive.effort[i] = effort or 0.0
        elif velocity is not None:
            drive.kp[i], drive.kd[i] = 0.0, self._kd[i]
            drive.dq[i] = velocity
            drive.effort[i] = effort or 0.0
        elif effort is not None:
            drive.kp[i] = drive.kd[i] = 0.0
            drive.effort[i] = effort

    def _command_track(
        self, name: str, position: float | None, velocity: float | None, effort: float | None
    ) -> None:
        if velocity is not None:
            self._drive.track_speed[self._tracks[name]] = velocity
        for kind, value in (("position", position), ("effort", effort)):
            if value is not None:
                self._report(
                    f"{kind} {name}",
                    f"joint '{name}' is a track and takes a velocity only; its {kind} is ignored",
                )

    def _column(self, kind: str, values: Sequence[float], count: int) -> Sequence[float]:
        if len(values) in (0, count):
            return values
        self._report(
            f"length {kind}",
            f"a command names {count} joints but gives {len(values)} values of {kind}; "
            f"its {kind} is ignored",
        )
        return ()

    def _usable(self, name: str, value: float) -> float | None:
        if -LARGEST_DRIVE < value < LARGEST_DRIVE:
            return float(value)
        if isnan(value):
            return None
        self._report(f"value {name}", f"a command of {value} to joint '{name}' is ignored")
        return None

    def _report(self, key: str, message: str) -> None:
        if key not in self._reported:
            self._reported.add(key)
            _log.warning("body '%s': %s", self._name, message)


def _within(allowed: Range, position: float) -> float:
    """Return the position, or the end of the range beyond which it lies."""
    if allowed.lower > allowed.upper:  # an inverted range says nothing
        return position
    return min(max(position, allowed.lower), allowed.upper)


def _speed_limit(velocity: Range) -> float:
    limit = min(abs(velocity.lower), abs(velocity.upper))
    return limit if 0.0 < limit < inf else DEFAULT_SPEED


def _gains(body: Body, settings: ControlSettings, q: Array, *, fixed: bool) -> tuple[Array, Array]:
    kp, kd = servo_gains(body, q, fixed=fixed)
    for i, link in enumerate(body.moving_links):
        own = settings.joints.get(link.joint.name, JointControl())
        kp[i] = _first_given(own.kp, settings.kp, kp[i])
        kd[i] = _first_given(own.kd, settings.kd, kd[i])
    return kp, kd


def _passive(body: Body, settings: ControlSettings) -> set[int]:
    """Return the joints that have no motor, as elements of q."""
    unnumbered = {i for i, x in enumerate(body.moving_links) if x.joint.id is None}
    if len(unnumbered) < len(body.moving_links):
        return unnumbered
    if any(x.parent is not None and x.joint.type is JointType.FREE for x in body.links):
        return set()  # what moves freely may close a loop without these joints
    driven = [x.name for x in body.moving_links if _mode_of(x.joint.name, settings) is not None]
    closures = [LoopClosure(body, group, driven) for group in loop_groups(body)]
    return {int(i) for closure in closures for i in closure.dependent}


def _mode_of(joint: str, settings: ControlSettings) -> ControlMode | None:
    return settings.joints.get(joint, JointControl()).mode


def _first_given(*values: float | None) -> float:
    return next(value for value in values if value is not None)
