"""The commands to a body and the settings of its control, and the warnings about commands."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from math import isfinite, isnan, nan
from numbers import Real

import numpy as np

from hrp_model.diagnostics import did_you_mean, listed
from hrp_model.late_dataclass import dataclass
from hrp_msgs.sanitize import one_line, shortened

from ..engine.schedule import NS_PER_S
from ..engine.state import MAX_DRIVE_VALUE
from .trajectory import JointTrajectory, TrajectoryRun, check_names

# Thirty years, in [s].
MAX_TIMEOUT = 1e9


class ControlMode(Enum):
    """Control mode of a joint."""

    POSITION = "position"
    VELOCITY = "velocity"
    EFFORT = "effort"


class Fallback(Enum):
    """What a joint does after a command time-out.

    HOLD: it holds its target position, or its present one if it has none. LIMP: nothing drives it.
    LAST: it continues with the last command.
    """

    HOLD = "hold"
    LIMP = "limp"
    LAST = "last"


class CommandRateLimit(Enum):
    """Limit of the speed at which the target of a joint's servo approaches a position command.

    MODEL: the model's speed limit of the joint, if any, like the slew-rate limit of a motor drive.
    NONE: no limit.
    """

    MODEL = "model"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class CommandTimeout:
    """Time without a command after which a joint falls back to a safe behaviour.

    A trajectory commands its joints until its end.

    Attributes:
        after_s: In simulated time, in [s].
        fallback: What the joint does after it.

    Raises:
        ValueError: The time is not positive and finite.
    """

    after_s: float
    fallback: Fallback = Fallback.HOLD

    def __post_init__(self) -> None:
        if not (isfinite(self.after_s) and 0.0 < self.after_s <= MAX_TIMEOUT):
            raise ValueError(f"a command time-out must be greater than 0 s: {self.after_s}")

    @property
    def after_ns(self) -> int:
        """The time as an integer, in [ns]."""
        return max(1, round(self.after_s * NS_PER_S))


@dataclass(frozen=True, kw_only=True)
class JointControl:
    """Settings of one joint that override those of its body; None means no override.

    Attributes:
        mode: Its control mode.
        kp: Stiffness, in [N m/rad] or [N/m].
        kd: Damping, in [N m s/rad] or [N s/m].
    """

    mode: ControlMode | None = None
    kp: float | None = None
    kd: float | None = None


@dataclass(frozen=True, kw_only=True)
class ControlSettings:
    """Initial control of the joints of a body, until the first command.

    In the model formats joints with motors have ids. A joint without an id is limp if other joints
    of the body have ids, or if it is a dependent joint of a closed loop, unless ``joints`` gives it
    a mode.

    Attributes:
        mode: POSITION holds the initial posture; VELOCITY and EFFORT start at zero.
        kp, kd: Gains of all joints; None derives those of each joint from the model.
        joints: Settings of single joints, by name.
        timeout: Command time-out; None means never.
        rate_limit: Speed limit of the servo targets.
    """

    mode: ControlMode = ControlMode.POSITION
    kp: float | None = None
    kd: float | None = None
    joints: Mapping[str, JointControl] = field(default_factory=dict)
    timeout: CommandTimeout | None = None
    rate_limit: CommandRateLimit = CommandRateLimit.MODEL


HOLD = ControlSettings()
LIMP = ControlSettings(mode=ControlMode.EFFORT)


# No robot has so many joints; a longer list is an error that would block the simulation.
MAX_NAMES = 10_000
_log = logging.getLogger("hrp_sim")
MAX_WARNINGS = 100
_MAX_KIND_LENGTH = 200


@dataclass(frozen=True, slots=True)
class JointCommand:
    """Targets for some joints of one body. NaN leaves the target of a joint unchanged.

    A list of values may be shorter than the list of names, as ros2_control sends it: then it
    contains the values of only those joints that are commanded by this kind of value.

    Attributes:
        names: Joint names.
        position: In [rad] or [m], one per name, or empty.
        velocity: In [rad/s] or [m/s], one per name, or empty.
        effort: In [N m] or [N], one per name, or empty.

    Raises:
        TypeError: Names are not a sequence of strings, or values not a sequence of numbers.
    """

    names: Sequence[str]
    position: Sequence[float] = ()
    velocity: Sequence[float] = ()
    effort: Sequence[float] = ()

    def __post_init__(self) -> None:
        check_names(self.names)
        _check_numbers("position", self.position)
        _check_numbers("velocity", self.velocity)
        _check_numbers("effort", self.effort)


@dataclass(frozen=True, slots=True)
class CancelTrajectory:
    """Ends a trajectory early; the joints that it moves hold their present targets.

    Its run ends before any other command of the same step takes effect, and may end earlier; a run
    that is still waiting then never starts. The joints hold when this command is applied.
    """

    run: TrajectoryRun


@dataclass(frozen=True, slots=True)
class GainChange:
    """Sets gains of a joint; a reset keeps them.

    Attributes:
        joint: Its name.
        kp: Stiffness, in [N m/rad] or [N/m]; None leaves it unchanged.
        kd: Damping, in [N m s/rad] or [N s/m]; None leaves it unchanged.

    Raises:
        TypeError: The name is not a string, or a gain not a number.
    """

    joint: str
    kp: float | None = None
    kd: float | None = None

    def __post_init__(self) -> None:
        _check_name(self.joint)
        _check_gain("kp", self.kp)
        _check_gain("kd", self.kd)


@dataclass(frozen=True, slots=True)
class ModeChange:
    """Sets the control mode of a joint; a reset keeps it.

    Raises:
        TypeError: The name is not a string, or the mode not a ``ControlMode``.
    """

    joint: str
    mode: ControlMode

    def __post_init__(self) -> None:
        _check_name(self.joint)
        if not isinstance(self.mode, ControlMode):
            raise TypeError(f"mode must be a ControlMode, not {self.mode!r}")


@dataclass(frozen=True, slots=True)
class TimeoutChange:
    """Sets the command time-out of the body; None means never. A reset keeps it."""

    timeout: CommandTimeout | None


@dataclass(frozen=True, slots=True)
class RateLimitChange:
    """Sets the rate limit of position commands; a reset keeps it."""

    rate_limit: CommandRateLimit


# Changes of settings, which a reset does not drop.
Setting = GainChange | ModeChange | TimeoutChange | RateLimitChange
Command = JointCommand | JointTrajectory | TrajectoryRun | CancelTrajectory | Setting


@dataclass(slots=True)
class CommandCounts:
    """Numbers of commands by outcome since the simulation was created; a reset keeps them.

    Attributes:
        taken: Commands applied by the controllers.
        dropped: Discarded because too many were waiting, because their body was removed, or
            because of a reset or the like.
        refused: Commands of which at least a part was invalid.
        stale: Too old when they arrived; counted by the receiver.
        timed_out: Command time-outs of joints; see ``CommandTimeout``.
    """

    taken: int = 0
    dropped: int = 0
    refused: int = 0
    stale: int = 0
    timed_out: int = 0


def _check_name(joint: object) -> None:
    if not isinstance(joint, str):
        raise TypeError(f"a joint name must be a string, not {joint!r}")


def _check_gain(name: str, gain: object) -> None:
    if gain is not None and not isinstance(gain, Real):
        raise TypeError(f"{name} must be a number or None, not {gain!r}")


def _check_numbers(kind: str, values: object) -> None:
    """Check that a value is a sequence of numbers."""
    if isinstance(values, array) and values.typecode == "d":  # as messages have them
        return
    if not isinstance(values, str) and hasattr(values, "__len__"):
        found = np.asarray(values)
        if found.ndim == 1 and (found.dtype.kind in "fiu" or not len(found)):
            return
    raise TypeError(f"{kind} must be a list of numbers, one per name, not {values!r}")


def values_by_joint(
    command: JointCommand,
    interface: Callable[[str], str | None],
    refuse: Callable[[str, str], None],
) -> Iterator[tuple[str, float, float, float]]:
    """Return name, position, velocity and effort of each joint; NaN where nothing is commanded.

    Args:
        command: The command.
        interface: Returns the kind of value by which a joint is commanded.
        refuse: Called with the kind of an error and its message.
    """
    names, none = command.names, [nan] * len(command.names)
    columns: list[Sequence[float]] = []
    for kind, values in (
        ("position", command.position),
        ("velocity", command.velocity),
        ("effort", command.effort),
    ):
        column = values if len(values) else none
        if len(column) != len(names):
            places = [k for k, name in enumerate(names) if interface(name) == kind]
            column = none
            if len(values) == len(places):
                column = none.copy()
                for k, value in zip(places, values, strict=True):
                    column[k] = value
            else:
                refuse(
                    f"length {kind}",
                    f"a command names {len(names)} joints but gives {len(values)} values of "
                    f"{kind}, and {len(places)} of them are commanded by {kind}; its {kind} is "
                    "ignored",
                )
        if column is not none:
            column = _checked(names, column, refuse)
        columns.append(column)
    position, velocity, effort = columns
    return zip(names, position, velocity, effort, strict=True)


def _checked(
    names: Sequence[str], values: Sequence[float], refuse: Callable[[str, str], None]
) -> Sequence[float]:
    """Return values with NaN in place of those that are infinite or too large."""
    checked = values
    for k, value in enumerate(values):
        if not (-MAX_DRIVE_VALUE < value < MAX_DRIVE_VALUE or isnan(value)):
            refuse(f"value {names[k]}", f"a command of {value} to joint '{names[k]}' is ignored")
            checked = [*checked[:k], nan, *checked[k + 1 :]]
    return checked


class CommandWarnings:
    """Counts and logs invalid commands to a body.

    Args:
        body: Name of the body.
        counts: Counts of the commands.
    """

    def __init__(self, body: str, counts: CommandCounts) -> None:
        self.counts = counts
        self._body = body
        self._logged: set[str] = set()

    def refuse(self, kind: str, message: str) -> None:
        """Count an invalid command; log the first of its kind."""
        self.counts.refused += 1
        self.warn(kind, message)

    def refuse_unknown_joint(self, joint: str, joints: Iterable[str]) -> None:
        """Refuse a command to a joint that does not exist; ``joints`` are the existing ones."""
        kind = f"unknown {joint}"
        hint = "" if kind in self._logged else did_you_mean(joint, joints)  # slow
        end = f".{hint}" if hint else ""
        self.refuse(kind, f"it has no joint '{joint}'; the command to it is ignored{end}")

    def time_out(self, timeout: CommandTimeout, joints: Sequence[str]) -> None:
        """Count a command time-out of joints; log the first one."""
        self.counts.timed_out += 1
        self.warn(
            "timed out",
            f"no command for {timeout.after_s:g} s to {listed(joints, 3)}; "
            f"fallback: {timeout.fallback.value}",
        )

    def warn(self, kind: str, message: str) -> None:
        """Log a warning if it is the first of its kind."""
        kind = shortened(kind, _MAX_KIND_LENGTH)  # it may hold a name from a sender
        if kind in self._logged or len(self._logged) > MAX_WARNINGS:
            return
        self._logged.add(kind)
        if len(self._logged) > MAX_WARNINGS:
            message = "further warnings about its commands are suppressed, but still counted"
        _log.warning("body '%s': %s", self._body, one_line(message))
