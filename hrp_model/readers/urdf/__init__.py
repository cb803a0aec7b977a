"""URDF: XML text to Body."""

from __future__ import annotations

import numpy as np

from ...body import Body
from ...diagnostics import Source, Span
from ...reading import Reading, TooLargeError
from .to_body import RobotReader
from .xml_tree import Element, parse

__all__ = ["read_body"]


def read_body(source: Source, reading: Reading) -> Body | None:
    """Read a robot.

    Problems go to ``reading.diagnostics``; None comes back only after an error.
    """
    try:
        root = parse(source, reading.diagnostics, lambda at: reading.count("nodes", at=at))
        if root is None or not _is_robot(root, reading):
            return None
        # A number that grows out of bounds is refused with its place, once the body is checked.
        with np.errstate(over="ignore", invalid="ignore"):
            return RobotReader(root, reading).body()
    except (TooLargeError, RecursionError) as error:
        reading.report_excess(error, Span(source, 0, 0))
        return None


def _is_robot(root: Element, reading: Reading) -> bool:
    """Tell whether this is URDF, and say what it is if it is not."""
    if root.tag != "robot":
        message = f"this is no URDF: its outermost element is <{root.tag}>, not <robot>"
        if root.tag == "sdf":
            message = "this is SDF, which Gazebo reads, no URDF"
        reading.diagnostics.error("not-a-model", message, root.span)
        return False
    unfilled = next((x for x in root.below() if x.tag.startswith("xacro:")), None)
    if unfilled is not None:
        message = "this is xacro, of which ROS makes URDF: xacro FILE > robot.urdf"
        reading.diagnostics.error("template", message, unfilled.span)
        return False
    return True
