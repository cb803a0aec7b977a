"""Robot models: read OpenHRP and Choreonoid files, compute with them, write URDF."""

from typing import TYPE_CHECKING

from .body import (
    Body,
    ExtraJoint,
    ExtraJointType,
    Joint,
    JointType,
    Link,
    Range,
)
from .diagnostics import Diagnostic, Diagnostics, ModelError, Severity
from .kinematics import BodyState
from .load import load_body, load_body_text
from .rigid import Pose
from .version import __version__

if TYPE_CHECKING:
    from .urdf import body_to_urdf

__all__ = [
    "Body",
    "BodyState",
    "Diagnostic",
    "Diagnostics",
    "ExtraJoint",
    "ExtraJointType",
    "Joint",
    "JointType",
    "Link",
    "ModelError",
    "Pose",
    "Range",
    "Severity",
    "__version__",
    "body_to_urdf",
    "load_body",
    "load_body_text",
]


def __getattr__(name: str) -> object:
    """Import ``body_to_urdf`` on first use, so that reading models starts faster."""
    if name != "body_to_urdf":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .urdf import body_to_urdf

    return body_to_urdf
