"""Text of an RViz configuration file: displays, and a view that shows a given box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

import numpy as np

from ..body import Body, Link
from ..files.writer import yaml_text
from ..frames import Frame
from ..printable import printable_lines
from ..rigid import Pose
from ..shapes.measure import BoundingBox, bounding_box, union
from ..shapes.tessellate import shape_mesh, transformed
from .displays import Display, frames, grid, rounded, tools

# Distance of the camera in lengths of what it shows, which fits into the field of view of 45
# degrees; behind what looks along +x, to its right.
_DISTANCE = 3.0
_YAW, _PITCH = 3.6, 0.3
_MIN_RADIUS = 0.01  # [m]
_FARTHEST = 1e15  # [m]; absurd models are cut off there


def body_box(body: Body, poses: Mapping[str, Pose]) -> BoundingBox:
    """Return the bounding box of a body; links without shapes count as points.

    Args:
        body: The body.
        poses: Poses of its links, by name, in the frame of the result.
    """
    whole = union(link_box(link, poses[link.name]) for link in body.links)
    assert whole is not None  # a body has a root
    return whole


def link_box(link: Link, pose: Pose) -> BoundingBox:
    """Return the bounding box of a link; that of one without shapes is a point.

    Args:
        link: The link.
        pose: Its pose in the frame of the result.
    """
    meshes = (shape_mesh(x) for x in link.visual or link.collision)
    boxes = (bounding_box(transformed(mesh, pose.matrix())) for mesh in meshes)
    return union(box for box in boxes if box is not None) or BoundingBox(pose.p, pose.p)


def document(
    displays: Sequence[Display],
    frame: str,
    visible: BoundingBox | None,
    *,
    comment: str,
    floor_height: float | None = None,
    frames_on: bool = True,
    followed: Frame | None = None,
    namespace: str = "",
    is_simulation: bool = False,
) -> str:
    """Return the text of a configuration file.

    It always contains a grid and the TF display, and tools that publish poses and points.

    Args:
        displays: Further displays.
        frame: The fixed frame.
        visible: The box to show, in the fixed frame; None for a cube of 1 m at the origin.
        comment: One or more lines about the purpose of the file.
        floor_height: Height of the grid, in [m]; None for the lowest point of the box.
        frames_on: Whether the TF display is enabled.
        followed: The frame that the view follows, at its present pose in the fixed frame; None
            for the fixed frame.
        namespace: Of the topics of the tools.
        is_simulation: Whether to show simulation time.

    Raises:
        ValueError: The namespace is not valid in ROS.
    """
    box = visible or BoundingBox(np.full(3, -0.5), np.full(3, 0.5))
    box = BoundingBox(*(np.nan_to_num(np.clip(x, -_FARTHEST, _FARTHEST)) for x in box))
    radius = view_radius(box)
    height = box.low[2] if floor_height is None else floor_height
    cell = rounded(_floor_125(radius / 2.0))
    shown = [
        grid(frame, cell, rounded(height)),
        *displays,
        frames(rounded(0.4 * radius), on=frames_on),
    ]
    view = _view(Frame(frame, "", Pose()) if followed is None else followed, box)
    layout = _layout(shown, frame, view, tools(namespace), is_simulation=is_simulation)
    text = yaml_text(layout, width=1000)
    return "".join(f"# {line}\n" for line in printable_lines(comment).splitlines()) + text


def view_radius(box: BoundingBox) -> float:
    """Return the radius of the visible sphere around a box, in [m]; at least 1 cm."""
    return max(box.radius, _MIN_RADIUS)


def _layout(
    displays: Sequence[Display],
    frame: str,
    view: dict[str, Any],
    mouse_tools: Sequence[Display],
    *,
    is_simulation: bool,
) -> dict[str, Any]:
    panels: list[dict[str, Any]] = [{"Class": "rviz_common/Displays", "Name": "Displays"}]
    if is_simulation:
        panels.append(
            {"Class": "rviz_common/Time", "Name": "Time", "SyncMode": 0, "SyncSource": ""}
        )
    return {
        "Panels": panels,
        "Visualization Manager": {
            "Class": "",
            "Displays": list(displays),
            "Global Options": {
                "Background Color": "48; 48; 48",
                "Fixed Frame": frame,
                "Frame Rate": 30,
            },
            "Name": "root",
            "Tools": list(mouse_tools),
            "Transformation": {"Current": {"Class": "rviz_default_plugins/TF"}},
            "Value": True,
            "Views": {"Current": view, "Saved": None},
        },
        "Window Geometry": {
            "Width": 1600,
            "Height": 1000,
            # RViz reads undefined values where these are missing.
            "Hide Left Dock": False,
            "Hide Right Dock": False,
        },
    }


def _view(target: Frame, box: BoundingBox) -> dict[str, Any]:
    length = max(float(np.max(box.high - box.low)), _MIN_RADIUS)
    X_TF = target.pose.inverse()
    x, y, z = (rounded(value) for value in X_TF.R @ box.center + X_TF.p)
    return {
        "Class": "rviz_default_plugins/Orbit",
        "Name": "Current View",
        "Target Frame": target.name,
        "Distance": rounded(_DISTANCE * length),
        "Focal Point": {"X": x, "Y": y, "Z": z},
        "Pitch": _PITCH,
        "Yaw": _YAW,
        "Near Clip Distance": rounded(min(0.01, length / 40.0)),
        "Value": "Orbit (rviz)",
    }


def _floor_125(length: float) -> float:
    """Return the largest of ..., 0.1, 0.2, 0.5, 1, 2, 5, ... that does not exceed a length."""
    decade = 10.0 ** floor(log10(length))
    return decade * max(step for step in (1, 2, 5) if step * decade <= length * (1.0 + 1e-9))
