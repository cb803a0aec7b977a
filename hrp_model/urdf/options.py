"""Options of a URDF: names of frames, and optional blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from ..frames import Base, FrameOptions, LinkNaming
from ..kinematics.actuation import CommandInterface
from ..late_dataclass import dataclass

__all__ = ["Base", "CommandInterface", "Hardware", "LinkNaming", "UrdfOptions", "UrdfVersion"]


class Hardware(Enum):
    """Hardware interface of a <ros2_control> block."""

    TOPIC = "topic"
    MOCK = "mock"
    GZ = "gz"
    MUJOCO = "mujoco"


class UrdfVersion(Enum):
    """Version of the URDF specification.

    V1_1 adds capsules and quaternions, V1_2 limits of acceleration, deceleration and jerk.
    """

    V1_0 = "1.0"
    V1_1 = "1.1"
    V1_2 = "1.2"

    @property
    def has_capsules(self) -> bool:
        """Whether it has capsules, and rotations as quaternions."""
        return self is not UrdfVersion.V1_0

    @property
    def has_acceleration_limits(self) -> bool:
        """Whether joints have limits of acceleration, deceleration and jerk."""
        return self is UrdfVersion.V1_2


@dataclass(frozen=True)
class UrdfOptions(FrameOptions):
    """Options of a URDF.

    Attributes:
        gazebo: Whether <gazebo> blocks describe the sensors.
        ros2_control: Hardware of the <ros2_control> block; None leaves the block out.
        command_interface: Command interface of the joints.
        positions: Joint positions by link name, in [rad] or [m], that ros2_control has before the
            first message of topic-based hardware; those of the model's initial posture if missing.
        controllers: Parameter file of the controllers for Gazebo; a path, or a substitution of
            xacro, such as "$(find my_robot)/config/controllers.yaml".
        mujoco_meshes: Mesh folder for MuJoCo's own URDF reader, absolute or relative to the
            URDF, given in a <mujoco> block. None leaves the block out.
        version: Version of the URDF; many programs read only 1.0.
    """

    gazebo: bool = False
    ros2_control: Hardware | None = None
    command_interface: CommandInterface = CommandInterface.POSITION
    positions: Mapping[str, float] = field(default_factory=dict, hash=False)
    controllers: str = "controllers.yaml"
    mujoco_meshes: str | None = None
    version: UrdfVersion = UrdfVersion.V1_0
