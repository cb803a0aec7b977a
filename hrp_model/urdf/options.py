"""What of a body a URDF tells, and under which names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..frames import Base, FrameOptions, LinkNaming
from ..kinematics.actuation import CommandInterface

__all__ = ["Base", "CommandInterface", "Hardware", "LinkNaming", "UrdfOptions"]


class Hardware(Enum):
    """What stands behind the joints in a <ros2_control> block."""

    TOPIC = "topic"
    MOCK = "mock"
    GZ = "gz"
    MUJOCO = "mujoco"


@dataclass(frozen=True)
class UrdfOptions(FrameOptions):
    """What goes into a URDF besides the plain robot, and how its frames are called.

    Attributes:
        gazebo: Whether <gazebo> blocks describe the sensors.
        ros2_control: Hardware of the <ros2_control> block; None leaves the block out.
        command_interface: What controllers ask of the joints.
        controllers: Where Gazebo finds the parameters of the controllers; a path, or what
            xacro makes one of, such as "$(find my_robot)/config/controllers.yaml".
        mujoco_meshes: The folder of the meshes for MuJoCo's own reader of URDF, absolute or
            relative to the URDF; it is told by a <mujoco> block. None leaves the block out.
    """

    gazebo: bool = False
    ros2_control: Hardware | None = None
    command_interface: CommandInterface = CommandInterface.POSITION
    controllers: str = "controllers.yaml"
    mujoco_meshes: str | None = None
