"""Pinhole projection, poses to render, and the resulting images."""

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
# Minimum values, so that the float32 of OpenGL does not overflow; in [rad] and [m].
_MIN_FIELD_OF_VIEW = 1e-6
_MIN_NEAR = 1.0 / MAX_RANGE


class LinkPoses(NamedTuple):
    """Poses of all links of one body: p_WL of shape (links, 3), R_WL of shape (links, 3, 3)."""

    p: Array
    R: Array

    def relative_to(self, X_WC: Pose) -> Array:
        """Return the rows of [R_CL | p_CL] for a camera frame C, shape (links, 3, 4).

        In double precision, so that scenes far from the origin are not distorted.
        """
        p_CL = (self.p - X_WC.p) @ X_WC.R
        return np.concatenate([X_WC.R.T @ self.R, p_CL[:, :, np.newaxis]], axis=2)


BodyPoses = Mapping[str, LinkPoses]


class Parts(NamedTuple):
    """The requested parts of an image; only these are computed."""

    color: bool
    depth: bool


ALL_PARTS = Parts(color=True, depth=True)
NO_PARTS = Parts(color=False, depth=False)


class Surroundings(NamedTuple):
    """Headlight and background of images.

    Attributes:
        headlight: Whether a light shines from the camera along its optical axis. Without it only
            emissive surfaces and those lit by lights of the scene are visible.
        background: RGB in 0..1.
    """

    headlight: bool = True
    background: tuple[float, float, float] = (140 / 255, 179 / 255, 217 / 255)


DAYLIGHT = Surroundings()


class Picture(NamedTuple):
    """A rendered image with row 0 at the top; parts that were not requested are None.

    Attributes:
        color: RGB, shape (height, width, 3).
        depth: Along the optical axis, in [m], shape (height, width); inf for the background.
    """

    color: Pixels | None
    depth: Depths | None


@dataclass(frozen=True)
class Pinhole:
    """A projection without distortion, looking along -Z with +Y up and +X to the right.

    Attributes:
        width, height: Of the image, in pixels.
        field_of_view: Full angle across the shorter side, in [rad].
        near, far: Clipping distances along the optical axis, in [m].
    """

    width: int
    height: int
    field_of_view: float
    near: float
    far: float

    def __post_init__(self) -> None:
        if not (0 < self.width <= MAX_SIDE and 0 < self.height <= MAX_SIDE):
            raise ValueError(
                f"its image size must be from 1 to {MAX_SIDE} pixels, "
                f"not {self.width} x {self.height}"
            )
        if not _MIN_FIELD_OF_VIEW <= self.field_of_view <= pi - _MIN_FIELD_OF_VIEW:
            raise ValueError(
                f"its field of view must be between 0 and pi rad, not {self.field_of_view} rad"
            )
        if not _MIN_NEAR <= self.near < self.far <= MAX_RANGE:
            raise ValueError(
                f"its clipping distances must satisfy 0 < near < far, not {self.near} m and "
                f"{self.far} m"
            )

    @property
    def focal_length(self) -> float:
        """Focal length in pixels; the same along both axes."""
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

        OpenGL's rows start at the bottom; flipping the image here costs nothing.
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
