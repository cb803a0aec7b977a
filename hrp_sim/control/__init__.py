"""What drives the joints of a body: settings, commands, and the controller that takes them."""

from .commands import (
    CancelTrajectory,
    Command,
    CommandCounts,
    GainChange,
    JointCommand,
    ModeChange,
    Setting,
)
from .controller import BodyController, ControlState
from .conversions import array_command, vehicle_command
from .runs import TrajectoryProgress, TrajectoryRun, TrajectoryStatus
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
    "Setting",
    "TrajectoryProgress",
    "TrajectoryRun",
    "TrajectoryStatus",
    "array_command",
    "vehicle_command",
]
