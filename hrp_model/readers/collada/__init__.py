"""COLLADA with kinematics, as OpenHRP and OpenRAVE write robots: XML to Body."""

from __future__ import annotations

import re

from ...body import Body
from ...read_context import ReadContext
from ..xml_tree import Element
from .links import ShapeReader
from .to_body import RobotReader

__all__ = ["ShapeReader", "has_robot", "read_robot"]

_KINEMATICS = re.compile(r"<kinematics_model\b")


def has_robot(text: str) -> bool:
    """Return whether a text contains a kinematics model; without one it has shapes only."""
    return _KINEMATICS.search(text) is not None


def read_robot(root: Element, context: ReadContext, read_shapes: ShapeReader) -> Body | None:
    """Read the robot of a ``<COLLADA>`` element.

    Problems are reported to ``context.diagnostics``; None after an error.

    Args:
        root: The element.
        context: The context.
        read_shapes: Returns the visual scene of the same document; called at most once. It may
            raise as a reader of scenes.

    Raises:
        TooLargeError: The model exceeds a limit.
    """
    return RobotReader(root, context, read_shapes).body()
