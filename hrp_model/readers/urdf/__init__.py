"""URDF: XML text to Body."""

from __future__ import annotations

from ...body import Body
from ...diagnostics import Source, Span
from ...reading import Reading, TooLargeError
from ..xml_tree import Element, parse
from .to_body import RobotReader

__all__ = ["read_body", "read_robot"]


def read_body(source: Source, reading: Reading) -> Body | None:
    """Read a robot.

    Problems are reported to ``reading.diagnostics``; None after an error.
    """
    try:
        root = parse(source, reading.diagnostics, lambda at: reading.count("nodes", at=at))
    except TooLargeError as error:
        reading.report_excess(error, Span(source, 0, 0))
        return None
    return None if root is None else read_robot(root, reading)


def read_robot(root: Element, reading: Reading) -> Body | None:
    """Read a robot from its root element, whose descendants may be from several files.

    Relative references are relative to the file of the root. Problems are reported to
    ``reading.diagnostics``; None after an error.
    """
    try:
        if not _is_robot(root, reading):
            return None
        return RobotReader(root, reading).body()
    except (TooLargeError, RecursionError) as error:
        reading.report_excess(error, Span(root.source, 0, 0))
        return None


def _is_robot(root: Element, reading: Reading) -> bool:
    """Return whether this is URDF; False after reporting what it is."""
    if root.tag != "robot":
        message = f"this is not URDF: its root element is <{root.tag}>, not <robot>"
        if root.tag == "sdf":
            message = "this is SDF, the format of Gazebo: name the file .sdf"
        reading.diagnostics.error("not-a-model", message, root.span)
        return False
    macro = next((x for x in root.descendants() if x.tag.startswith("xacro:")), None)
    if macro is not None:
        message = "this is a xacro file: rename it, so that its name ends with .xacro"
        reading.diagnostics.error("template", message, macro.span)
        return False
    return True
