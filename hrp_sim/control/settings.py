"""Control settings of a body: modes and gains of its joints, time-out, rate limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite

from ..engine.schedule import NS_PER_S

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
