"""Simulation of robot models: physics, controllers and sensors, without ROS.

Example::

    from hrp_sim import Simulation, load_world

    sim = Simulation(load_world("world.yaml"))
    readings = sim.step()  # {sensor name: reading}
"""

from .config import BodyEntry, WorldConfig
from .control import ControlMode, ControlSettings, JointCommand
from .engine import PhysicsError, PhysicsSettings, Placement, Solver
from .load import load_world
from .simulation import Simulation
from .snapshot import Snapshot

__all__ = [
    "BodyEntry",
    "ControlMode",
    "ControlSettings",
    "JointCommand",
    "PhysicsError",
    "PhysicsSettings",
    "Placement",
    "Simulation",
    "Snapshot",
    "Solver",
    "WorldConfig",
    "load_world",
]
