"""URDF: XML text to Body."""

from __future__ import annotations

from ...body import Body
from ...read_context import ReadContext
from ..xml_tree import Element
from .to_body import RobotReader

__all__ = ["read_robot"]


def read_robot(root: Element, context: ReadContext) -> Body | None:
    """Read a robot from its root element, whose descendants may be from several files.

    Relative references are relative to the file of the root. Problems are reported to
    ``context.diagnostics``; None after an error.

    Raises:
        TooLargeError: The model exceeds a limit.
    """
    return RobotReader(root, context).body() if _is_robot(root, context) else None


def _is_robot(root: Element, context: ReadContext) -> bool:
    """Return whether this is URDF; False after reporting what it is."""
    if root.tag != "robot":
        message = f"this is not URDF: its root element is <{root.tag}>, not <robot>"
        if root.tag == "sdf":
            message = "this is SDF, the format of Gazebo: name the file .sdf"
        context.diagnostics.error("not-a-model", message, root.span)
        return False
    return True
