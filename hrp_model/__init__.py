"""Robot models: read OpenHRP and Choreonoid files, compute with them, write URDF."""

from importlib import import_module
from typing import TYPE_CHECKING

from .version import __version__

if TYPE_CHECKING:
    from .body import Body, ExtraJoint, ExtraJointType, Joint, JointType, Link, Range
    from .diagnostics import Diagnostic, Diagnostics, ModelError, Severity
    from .kinematics import BodyState
    from .load import load_body, load_body_text
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
    "__version__",
    "body_to_urdf",
    "load_body",
    "load_body_text",
]

_EXPORTS = {
    "body": ("Body", "ExtraJoint", "ExtraJointType", "Joint", "JointType", "Link", "Range"),
    "diagnostics": ("Diagnostic", "Diagnostics", "ModelError", "Severity"),
    "kinematics": ("BodyState",),
    "load": ("load_body", "load_body_text"),
    "rigid": ("Pose",),
    "urdf": ("body_to_urdf",),
}
_MODULES = {name: module for module, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> object:
    """Import the module of a name at its first use, so that programs start fast."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
