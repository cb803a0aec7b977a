"""An RViz configuration that shows a robot at its size."""

from __future__ import annotations

import json
from math import floor, log10

import numpy as np

from ..body import Body
from ..frames import BodyFrames
from ..measure import bounding_box
from ..postures import initial_poses
from ..rigid import Array
from ..tessellate import shape_mesh, transformed
from .srdf import top_pose
from .templates import filled

# A sphere fills RViz's view, 45 degrees wide, from this many radii; and some room around it.
_DISTANCE = 1.15 / np.sin(np.radians(22.5))
_LEAST_RADIUS = 0.01


def rviz_config(body: Body, frames: BodyFrames) -> str:
    """Return RViz's display.rviz: the robot and its frames, seen from the right distance.

    All is relative to the frame above all others, so that no frame of a world is needed;
    the grid lies under the lowest point of the initial posture.
    """
    low, high = initial_extent(body, frames)
    radius = max(float(np.linalg.norm(high - low)) / 2.0, _LEAST_RADIUS)
    x, y, z = (low + high) / 2.0
    numbers = {
        "FLOOR": low[2],
        "CELL": _one_two_five(radius / 2.0),
        "MARKER": 0.4 * radius,
        "DISTANCE": _DISTANCE * radius,
        "X": x,
        "Y": y,
        "Z": z,
        "NEAR": min(0.01, radius / 20.0),
    }
    rounded = {name: f"{float(value):.4g}" for name, value in numbers.items()}
    # As JSON is YAML, any name is a legal text.
    return filled("display.rviz", FRAME=json.dumps(frames.root, ensure_ascii=False), **rounded)


def initial_extent(body: Body, frames: BodyFrames) -> tuple[Array, Array]:
    """Return the least and greatest corner of what is seen in the initial posture, in [m].

    Relative to the frame above all others, each of shape (3,). A link without shapes is a
    point.
    """
    poses = initial_poses(body)
    corners: list[Array] = []
    above = top_pose(body, frames).inverse()
    for link in body.links:
        pose = above @ poses[link.name]
        shapes = link.visual or link.collision
        boxes = [bounding_box(transformed(shape_mesh(x), pose.matrix())) for x in shapes]
        found = [corner for box in boxes if box is not None for corner in box]
        corners += found or [pose.p]
    return np.min(corners, axis=0), np.max(corners, axis=0)


def _one_two_five(length: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... and of 0.5, 0.2, ... that is not longer."""
    decade = 10.0 ** floor(log10(length))
    return decade * max(step for step in (1, 2, 5) if step * decade <= length * (1.0 + 1e-9))
