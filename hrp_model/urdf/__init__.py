"""Body to URDF."""

from .to_urdf import MeshUris, body_to_urdf

__all__ = ["MeshUris", "body_to_urdf"]
