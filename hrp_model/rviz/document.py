"""Text of an RViz configuration file: displays, and a view that shows a given box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

import numpy as np

from ..body import Body
from ..files.yaml_text import yaml_text
from ..printable import printable_lines
from ..rigid import Pose
from ..shapes.measure import BoundingBox, bounding_box, union
from ..shapes.tessellate import shape_mesh, transformed
from .displays import Display, frames, grid

# Distance in radii from which a sphere fits into RViz's field of view of 45 degrees, with a margin.
_DISTANCE = 1.15 / np.sin(np.radians(22.5))
_MIN_RADIUS = 0.01  # [m]
_FARTHEST = 1e15  # [m]; absurd models are cut off there


def body_box(body: Body, poses: Mapping[str, Pose]) -> BoundingBox:
    """Return the bounding box of a body; links without shapes count as points.

    Args:
        body: The body.
        poses: Poses of its links, by name, in the frame of the result.
    """
    boxes: list[BoundingBox] = []
    for link in body.links:
        pose = poses[link.name]
        meshes = (shape_mesh(x) for x in link.visual or link.collision)
        link_boxes = (bounding_box(transformed(mesh, pose.matrix())) for mesh in meshes)
        boxes += [box for box in link_boxes if box is not None] or [BoundingBox(pose.p, pose.p)]
    whole = union(boxes)
    assert whole is not None  # a body has a root
    return whole


def document(
    displays: Sequence[Display],
    frame: str,
    visible: BoundingBox | None,
    *,
    comment: str,
    floor_height: float | None = None,
    frames_on: bool = True,
) -> str:
    """Return the text of a configuration file.

    It always contains a grid and the TF display.

    Args:
        displays: Further displays.
        frame: The fixed frame.
        visible: The box to show, in the fixed frame; None for a cube of 1 m at the origin.
        comment: One or more lines about the purpose of the file.
        floor_height: Height of the grid, in [m]; None for the lowest point of the box.
        frames_on: Whether the TF display is enabled.
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
    text = yaml_text(_layout(shown, frame, box), width=1000)
    return "".join(f"# {line}\n" for line in printable_lines(comment).splitlines()) + text


def view_radius(box: BoundingBox) -> float:
    """Return the radius of the visible sphere around a box, in [m]; at least 1 cm."""
    return max(box.radius, _MIN_RADIUS)


def rounded(value: float) -> float:
    """Return a number rounded to four significant digits; never -0."""
    return float(f"{float(value):.4g}") + 0.0


def _layout(displays: Sequence[Display], frame: str, box: BoundingBox) -> dict[str, Any]:
    tools = ("MoveCamera", "Interact", "FocusCamera", "Measure")
    return {
        "Panels": [
            {"Class": "rviz_common/Displays", "Name": "Displays"},
            {"Class": "rviz_common/Views", "Name": "Views"},
        ],
        "Visualization Manager": {
            "Class": "",
            "Displays": list(displays),
            "Global Options": {
                "Background Color": "48; 48; 48",
                "Fixed Frame": frame,
                "Frame Rate": 30,
            },
            "Name": "root",
            "Tools": [{"Class": f"rviz_default_plugins/{name}"} for name in tools],
            "Transformation": {"Current": {"Class": "rviz_default_plugins/TF"}},
            "Value": True,
            "Views": {"Current": _view(frame, box), "Saved": None},
        },
        "Window Geometry": {"Width": 1280, "Height": 800},
    }


def _view(frame: str, box: BoundingBox) -> dict[str, Any]:
    radius = view_radius(box)
    x, y, z = (rounded(value) for value in box.center)
    return {
        "Class": "rviz_default_plugins/Orbit",
        "Name": "Current View",
        "Target Frame": frame,
        "Distance": rounded(_DISTANCE * radius),
        "Focal Point": {"X": x, "Y": y, "Z": z},
        "Pitch": 0.3,
        "Yaw": 0.6,
        "Near Clip Distance": rounded(min(0.01, radius / 20.0)),
        "Value": "Orbit (rviz)",
    }


def _floor_125(length: float) -> float:
    """Return the largest of ..., 0.1, 0.2, 0.5, 1, 2, 5, ... that does not exceed a length."""
    decade = 10.0 ** floor(log10(length))
    return decade * max(step for step in (1, 2, 5) if step * decade <= length * (1.0 + 1e-9))
