"""Convert a Body to URDF, with its meshes, SRDF, controllers and ROS 2 description package.

* ``body_to_urdf``: a Body to the text of a URDF.
* ``convert``: the same with collision shapes and mesh files, for writing to a folder.
* ``write_package``: a whole description package.
* ``UrdfOptions``: names of frames, and blocks for Gazebo, ros2_control and MuJoCo.
"""

from ..collision.shapes import CollisionShapes
from .convert import LOOPS_FILE, Conversion, convert
from .glb import UpAxis
from .moveit.srdf import body_to_srdf
from .options import Base, CommandInterface, Hardware, LinkNaming, UrdfOptions, UrdfVersion
from .package.controllers import Controller, controllers, controllers_yaml
from .package.moveit import MOVEIT
from .package.nav2 import NAV2
from .package.package import Package, write_package
from .package.package_files import Addition, joint_state_publisher_yaml, rviz_config
from .shapes import MeshUris, write_meshes
from .to_urdf import body_to_urdf, repaired

__all__ = [
    "LOOPS_FILE",
    "MOVEIT",
    "NAV2",
    "Addition",
    "Base",
    "CollisionShapes",
    "CommandInterface",
    "Controller",
    "Conversion",
    "Hardware",
    "LinkNaming",
    "MeshUris",
    "Package",
    "UpAxis",
    "UrdfOptions",
    "UrdfVersion",
    "body_to_srdf",
    "body_to_urdf",
    "controllers",
    "controllers_yaml",
    "convert",
    "joint_state_publisher_yaml",
    "repaired",
    "rviz_config",
    "write_meshes",
    "write_package",
]
