"""Simulation of robot models: physics, controllers and sensors, without ROS.

Example::

    from hrp_sim import Simulation

    sim = Simulation("world.yaml")
    readings = sim.step()  # {sensor name: reading}
"""

from typing import TYPE_CHECKING

from hrp_model import __version__, late_attributes

if TYPE_CHECKING:
    from .control import (
        CommandRateLimit,
        CommandTimeout,
        ControlMode,
        ControlSettings,
        JointCommand,
        TrajectoryRun,
    )
    from .control.controllers import (
        Controller,
        ControllerEntry,
        ControllerIO,
        ForceHook,
        ForceState,
    )
    from .control.handling import GripError, JointEntry
    from .control.trajectory import JointTrajectory, Tolerance, Tolerances, TrajectoryPoint
    from .engine.engine import PhysicsError, PhysicsSettings, Placement, Solver
    from .engine.snapshot import Snapshot
    from .engine.state import ContactPoints
    from .lab.sweeps import InlineExecutor, SweepLimits, SweepResult
    from .lab.sweeps.sweep import sweep
    from .simulation import Simulation
    from .world.config import BodyEntry, NamedPose, WorldConfig
    from .world.load import load_world
    from .world.projects import ProjectOptions

__all__ = [
    "BodyEntry",
    "CommandRateLimit",
    "CommandTimeout",
    "ContactPoints",
    "ControlMode",
    "ControlSettings",
    "Controller",
    "ControllerEntry",
    "ControllerIO",
    "ForceHook",
    "ForceState",
    "GripError",
    "InlineExecutor",
    "JointCommand",
    "JointEntry",
    "JointTrajectory",
    "NamedPose",
    "PhysicsError",
    "PhysicsSettings",
    "Placement",
    "ProjectOptions",
    "Simulation",
    "Snapshot",
    "Solver",
    "SweepLimits",
    "SweepResult",
    "Tolerance",
    "Tolerances",
    "TrajectoryPoint",
    "TrajectoryRun",
    "WorldConfig",
    "__version__",
    "load_world",
    "sweep",
]

__getattr__ = late_attributes(
    __name__,
    {
        "control": (
            "CommandRateLimit",
            "CommandTimeout",
            "ControlMode",
            "ControlSettings",
            "JointCommand",
            "TrajectoryRun",
        ),
        "control.controllers": (
            "Controller",
            "ControllerEntry",
            "ControllerIO",
            "ForceHook",
            "ForceState",
        ),
        "control.handling": ("GripError", "JointEntry"),
        "control.trajectory": ("JointTrajectory", "Tolerance", "Tolerances", "TrajectoryPoint"),
        "engine.engine": ("PhysicsError", "PhysicsSettings", "Placement", "Solver"),
        "engine.snapshot": ("Snapshot",),
        "engine.state": ("ContactPoints",),
        "lab.sweeps": ("InlineExecutor", "SweepLimits", "SweepResult", "sweep"),
        "simulation": ("Simulation",),
        "world.config": ("BodyEntry", "NamedPose", "WorldConfig"),
        "world.load": ("load_world",),
        "world.projects": ("ProjectOptions",),
    },
)
