"""Commands to one body, as plain data, and their counts by outcome."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from .settings import CommandRateLimit, CommandTimeout, ControlMode
from .trajectory import JointTrajectory, check_names
from .trajectory_run import TrajectoryRun

# No robot has so many joints; a longer list is an error that would block the simulation.
MAX_NAMES = 10_000


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
