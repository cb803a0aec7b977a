"""Control of the joints of bodies: settings, commands, and the controllers that apply them."""

from .commands import (
    CancelTrajectory,
    Command,
    CommandCounts,
    GainChange,
    JointCommand,
    ModeChange,
    RateLimitChange,
    Setting,
    TimeoutChange,
)
from .controller import BodyController, ControlState
from .conversions import array_command, vehicle_command
from .settings import (
    HOLD,
    LIMP,
    CommandRateLimit,
    CommandTimeout,
    ControlMode,
    ControlSettings,
    Fallback,
    JointControl,
)
from .trajectory import TrajectoryProgress, TrajectoryRun, TrajectoryStatus

__all__ = [
    "HOLD",
    "LIMP",
    "BodyController",
    "CancelTrajectory",
    "Command",
    "CommandCounts",
    "CommandRateLimit",
    "CommandTimeout",
    "ControlMode",
    "ControlSettings",
    "ControlState",
    "Fallback",
    "GainChange",
    "JointCommand",
    "JointControl",
    "ModeChange",
    "RateLimitChange",
    "Setting",
    "TimeoutChange",
    "TrajectoryProgress",
    "TrajectoryRun",
    "TrajectoryStatus",
    "array_command",
    "vehicle_command",
]
