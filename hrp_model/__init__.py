"""Robot models: read OpenHRP and Choreonoid files, compute with them, write URDF."""

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
from .load import load_body
from .rigid import Pose
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
    "body_to_urdf",
    "load_body",
]
