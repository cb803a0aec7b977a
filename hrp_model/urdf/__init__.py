"""Body to URDF, and everything that belongs to one: the door to this package."""

from ..collision.shapes import CollisionShapes
from .convert import Conversion, convert
from .meshes.glb import UpAxis
from .options import Base, CommandInterface, Hardware, LinkNaming, UrdfOptions
from .package.controllers import controllers_yaml
from .package.package import Package, write_package
from .srdf.srdf import body_to_srdf
from .to_urdf import MeshUris, body_to_urdf

__all__ = [
    "Base",
    "CollisionShapes",
    "CommandInterface",
    "Conversion",
    "Hardware",
    "LinkNaming",
    "MeshUris",
    "Package",
    "UpAxis",
    "UrdfOptions",
    "body_to_srdf",
    "body_to_urdf",
    "controllers_yaml",
    "convert",
    "write_package",
]
