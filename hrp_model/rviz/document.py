"""The file that RViz reads: displays, and a view from which all of something is seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np
import yaml

from ..body import Body
from ..rigid import Array, Pose
from ..shapes.measure import bounding_box
from ..shapes.tessellate import shape_mesh, transformed
from .displays import Display, frames, grid

# A sphere fills RViz's view, 45 degrees wide, from this many radii; and some room around it.
_DISTANCE = 1.15 / np.sin(np.radians(22.5))
_LEAST_RADIUS = 0.01


@dataclass(frozen=True, eq=False)
class Extent:
    """The least and greatest corner of what is seen, in [m], each of shape (3,)."""

    low: Array
    high: Array

    @property
    def radius(self) -> float:
        """Of the sphere around all of it, in [m]; never quite nothing."""
        return max(float(np.linalg.norm(self.high - self.low)) / 2.0, _LEAST_RADIUS)


def link_extent(body: Body, poses: Mapping[str, Pose]) -> Extent:
    """Return how far a body reaches.

    A link without shapes is a point.

    Args:
        body: The body.
        poses: Where its links are, by name, in the frame of the result.
    """
    corners: list[Array] = []
    for link in body.links:
        pose = poses[link.name]
        shapes = link.visual or link.collision
        boxes = [bounding_box(transformed(shape_mesh(x), pose.matrix())) for x in shapes]
        found = [corner for box in boxes if box is not None for corner in box]
        corners += found or [pose.p]
    return Extent(np.min(corners, axis=0), np.max(corners, axis=0))


def joined(extents: Iterable[Extent]) -> Extent:
    """Return the extent of all together; of nothing, a metre around the origin."""
    found = list(extents) or [Extent(np.full(3, -0.5), np.full(3, 0.5))]
    low, high = [e.low for e in found], [e.high for e in found]
    return Extent(np.min(low, axis=0), np.max(high, axis=0))


def document(
    displays: Sequence[Display],
    frame: str,
    extent: Extent,
    *,
    comment: str,
    floor_height: float | None = None,
    frames_on: bool = True,
) -> str:
    """Return the text of a configuration file.

    A grid and the frames of /tf are always there.

    Args:
        displays: What else is shown.
        frame: In which all is shown, and which nothing moves.
        extent: What is looked at, in this frame.
        comment: A line, or several, about what the file is for.
        floor_height: Where the grid lies, in [m]; None means under the lowest point.
        frames_on: Whether the frames are shown from the start.
    """
    radius = extent.radius
    height = extent.low[2] if floor_height is None else floor_height
    cell = rounded(_one_two_five(radius / 2.0))
    shown = [
        grid(frame, cell, rounded(height)),
        *displays,
        frames(rounded(0.4 * radius), on=frames_on),
    ]
    text: str = yaml.safe_dump(
        _layout(shown, frame, extent), sort_keys=False, allow_unicode=True, width=1000
    )
    return "".join(f"# {line}\n" for line in comment.splitlines()) + text


def rounded(value: float) -> float:
    """Return a number as a person would write it, with four digits."""
    return float(f"{float(value):.4g}") + 0.0


def _layout(displays: Sequence[Display], frame: str, extent: Extent) -> dict[str, Any]:
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
            "Views": {"Current": _view(frame, extent), "Saved": None},
        },
        "Window Geometry": {"Width": 1280, "Height": 800},
    }


def _view(frame: str, extent: Extent) -> dict[str, Any]:
    x, y, z = (rounded(value) for value in (extent.low + extent.high) / 2.0)
    return {
        "Class": "rviz_default_plugins/Orbit",
        "Name": "Current View",
        "Target Frame": frame,
        "Distance": rounded(_DISTANCE * extent.radius),
        "Focal Point": {"X": x, "Y": y, "Z": z},
        "Pitch": 0.3,
        "Yaw": 0.6,
        "Near Clip Distance": rounded(min(0.01, extent.radius / 20.0)),
        "Value": "Orbit (rviz)",
    }


def _one_two_five(length: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... and of 0.5, 0.2, ... that is not longer."""
    decade = 10.0 ** floor(log10(length))
    return decade * max(step for step in (1, 2, 5) if step * decade <= length * (1.0 + 1e-9))
