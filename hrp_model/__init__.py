"""Robot models: read OpenHRP and Choreonoid files, compute with them, write URDF."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .body import Body, ExtraJoint, ExtraJointType, Joint, JointType, Link, Range
    from .diagnostics import Diagnostic, Diagnostics, ModelError, Severity
    from .kinematics import BodyState
    from .load import load_body, load_body_text
    from .rigid import Pose
    from .urdf import body_to_urdf

__version__ = "0.1.0"  # setup.py reads it

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


def late_attributes(package: str, names: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Return a package's ``__getattr__`` that imports public names at their first use.

    Programs start faster, as they use few of them.

    Args:
        package: Name of the package.
        names: The names by their module, relative to the package.
    """
    modules = {name: module for module, found in names.items() for name in found}

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    module = vars(sys.modules[package])
    module["__dir__"] = lambda: sorted({*module, *modules})  # for completion and documentation
    return get


__getattr__ = late_attributes(
    __name__,
    {
        "body": ("Body", "ExtraJoint", "ExtraJointType", "Joint", "JointType", "Link", "Range"),
        "diagnostics": ("Diagnostic", "Diagnostics", "ModelError", "Severity"),
        "kinematics": ("BodyState",),
        "load": ("load_body", "load_body_text"),
        "rigid": ("Pose",),
        "urdf": ("body_to_urdf",),
    },
)
