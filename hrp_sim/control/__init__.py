"""Control of the joints of bodies: settings, commands, and the controllers that apply them."""

from .commands import (
    HOLD,
    LIMP,
    CancelTrajectory,
    Command,
    CommandCounts,
    CommandRateLimit,
    CommandTimeout,
    ControlMode,
    ControlSettings,
    Fallback,
    GainChange,
    JointCommand,
    JointControl,
    ModeChange,
    RateLimitChange,
    Setting,
    TimeoutChange,
)
from .controller import BodyController, ControlState
from .conversions import array_command, vehicle_command
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
