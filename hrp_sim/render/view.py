"""Pinhole projection, and the poses that a picture is taken of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import pi, tan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array, Pose

from ..articulation.numeric_limits import MAX_RANGE

Pixels = NDArray[np.uint8]
Depths = NDArray[np.float32]

MAX_SIDE = 8192
# For less the float32 of OpenGL would overflow; in [rad] and [m].
_NARROWEST = 1e-6
_NEAREST = 1.0 / MAX_RANGE


class LinkPoses(NamedTuple):
    """Poses of all links of one body: p_WL of shape (links, 3), R_WL of shape (links, 3, 3)."""

    p: Array
    R: Array

    def relative_to(self, X_WC: Pose) -> Array:
        """Return the rows of [R_CL | p_CL] for a camera frame C, shape (links, 3, 4).

        In double precision, so that a scene far from the origin keeps its digits.
        """
        p_CL = (self.p - X_WC.p) @ X_WC.R
        return np.concatenate([X_WC.R.T @ self.R, p_CL[:, :, np.newaxis]], axis=2)


BodyPoses = Mapping[str, LinkPoses]


class Parts(NamedTuple):
    """Which parts of a picture are asked for; the rest costs nothing."""

    color: bool
    depth: bool


ALL_PARTS = Parts(color=True, depth=True)


class Surroundings(NamedTuple):
    """What a camera sees by, and where nothing is.

    Attributes:
        headlight: Whether a light shines from the camera along its optical axis. Without one
            only what glows is seen, and what the lights of the scene reach.
        background: RGB in 0..1.
    """

    headlight: bool = True
    background: tuple[float, float, float] = (140 / 255, 179 / 255, 217 / 255)


DAYLIGHT = Surroundings()


class Picture(NamedTuple):
    """What was drawn, row 0 on top; a part is None that was not asked for.

    Attributes:
        color: RGB, shape (height, width, 3).
        depth: Along the optical axis, in [m], shape (height, width); inf where nothing is.
    """

    color: Pixels | None
    depth: Depths | None


@dataclass(frozen=True)
class Pinhole:
    """A lens without distortion. It looks along -Z, with +Y up and +X to the right.

    Attributes:
        width, height: Of the image, in pixels.
        field_of_view: Full angle across the shorter side, in [rad].
        near, far: What is nearer or farther along the optical axis is cut away, in [m].
    """

    width: int
    height: int
    field_of_view: float
    near: float
    far: float

    def __post_init__(self) -> None:
        if not (0 < self.width <= MAX_SIDE and 0 < self.height <= MAX_SIDE):
            raise ValueError(f"an image of {self.width} x {self.height} pixels is impossible")
        if not _NARROWEST <= self.field_of_view <= pi - _NARROWEST:
            raise ValueError(f"a field of view of {self.field_of_view} rad is impossible")
        if not _NEAREST <= self.near < self.far <= MAX_RANGE:
            raise ValueError(f"clipping at {self.near} m and {self.far} m leaves nothing to see")

    @property
    def focal_length(self) -> float:
        """In pixels; the same along both sides."""
        return min(self.width, self.height) / 2.0 / tan(self.field_of_view / 2.0)

    @cached_property
    def slopes(self) -> tuple[Depths, Depths]:
        """x/z of each column and y/z of each row, shapes (width,) and (height,).

        In the optical frame: x right, y down, z forward.
        """
        columns, rows = (
            ((np.arange(n) - (n - 1) / 2.0) / self.focal_length).astype(np.float32)
            for n in (self.width, self.height)
        )
        return columns, rows

    @cached_property
    def cosines(self) -> Depths:
        """Depth per distance along the line of sight of each pixel, shape (height, width)."""
        per_column, per_row = self.slopes
        squares = 1.0 + per_column**2 + per_row[:, np.newaxis] ** 2
        return np.asarray(1.0 / np.sqrt(squares), np.float32)

    def projection(self) -> Array:
        """Return OpenGL's projection matrix, shape (4, 4), with image row 0 at y = -1.

        OpenGL's rows count from the bottom; turning the image over here costs nothing.
        """
        n, f, focal = self.near, self.far, self.focal_length
        return np.array(
            [
                [2.0 * focal / self.width, 0.0, 0.0, 0.0],
                [0.0, -2.0 * focal / self.height, 0.0, 0.0],
                [0.0, 0.0, (f + n) / (n - f), 2.0 * f * n / (n - f)],
                [0.0, 0.0, -1.0, 0.0],
            ]
        )
