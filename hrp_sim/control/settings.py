"""How the joints of a body are driven until a command says otherwise, and after the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite

from ..physics.schedule import NS_PER_S


class ControlMode(Enum):
    """How a joint is driven."""

    POSITION = "position"
    VELOCITY = "velocity"
    EFFORT = "effort"


class Fallback(Enum):
    """What a joint does when commands stop coming.

    HOLD: it stays where it was aimed at, or where it is if it was not aimed at a position.
    LIMP: nothing drives it. LAST: it goes on with the last command.
    """

    HOLD = "hold"
    LIMP = "limp"
    LAST = "last"


class CommandRateLimit(Enum):
    """How fast a position command becomes the target of a joint's servo.

    MODEL: at the speed limit that the model states for the joint, as a drive's own slew-rate limit
    does it; at once where it states none. NONE: always at once.
    """

    MODEL = "model"
    NONE = "none"


# The longest time-out that makes sense, in [s]; thirty years.
LONGEST_TIMEOUT = 1e9


@dataclass(frozen=True, kw_only=True)
class CommandTimeout:
    """When a joint that was commanded counts as left alone, and what it does then.

    A trajectory commands its joints until its end.

    Attributes:
        after_s: In simulated time, in [s].
        fallback: What the joint does.

    Raises:
        ValueError: The time is not greater than 0, or not finite.
    """

    after_s: float
    fallback: Fallback = Fallback.HOLD

    def __post_init__(self) -> None:
        if not (isfinite(self.after_s) and 0.0 < self.after_s <= LONGEST_TIMEOUT):
            raise ValueError(f"a command time-out must be greater than 0 s: {self.after_s}")

    @property
    def after_ns(self) -> int:
        """The time as an integer, in [ns]."""
        return max(1, round(self.after_s * NS_PER_S))


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
        timeout: What happens when commands stop coming; None lets the last one count for ever.
        rate_limit: How fast position commands become the targets of servos.
    """

    mode: ControlMode = ControlMode.POSITION
    kp: float | None = None
    kd: float | None = None
    joints: Mapping[str, JointControl] = field(default_factory=dict)
    timeout: CommandTimeout | None = None
    rate_limit: CommandRateLimit = CommandRateLimit.MODEL


HOLD = ControlSettings()
LIMP = ControlSettings(mode=ControlMode.EFFORT)
