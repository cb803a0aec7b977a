"""Pinhole projection, poses to render, and the resulting images."""

from __future__ import annotations

from functools import cached_property
from math import pi, tan
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model.devices import NO_DISTORTION, Intrinsics
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ..engine.articulation.numeric_limits import MAX_RANGE

Pixels = NDArray[np.uint8]
Depths = NDArray[np.float32]

MAX_SIDE = 8192
# Minimum values, so that the float32 of OpenGL does not overflow; in [rad] and [m].
_MIN_FIELD_OF_VIEW = 1e-6
_MIN_NEAR = 1.0 / MAX_RANGE
_MIN_FOCAL, _MAX_FOCAL, _MAX_CENTER = 1e-7, 1e11, 1e6  # in pixels

# fx, fy, cx, cy, Tx, Ty, in pixels.
Rectification = tuple[float, float, float, float, float, float]


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


def check_image(width: int, height: int, near: float, far: float) -> None:
    """Check the size of an image, in pixels, and its clipping distances, in [m].

    Raises:
        ValueError: One is out of range.
    """
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise ValueError(
            f"its image size must be from 1 to {MAX_SIDE} pixels, not {width} x {height}"
        )
    if not _MIN_NEAR <= near < far <= MAX_RANGE:
        raise ValueError(
            f"its clipping distances must satisfy 0 < near < far, not {near} m and {far} m"
        )


def check_intrinsics(intrinsics: Intrinsics) -> None:
    """Check focal lengths and principal point.

    Raises:
        ValueError: One is out of range.
    """
    fx, fy, cx, cy = intrinsics
    if not all(_MIN_FOCAL <= f <= _MAX_FOCAL for f in (fx, fy)):
        limits = f"from {_MIN_FOCAL:g} to {_MAX_FOCAL:g} pixels"
        raise ValueError(f"its focal lengths must be {limits}, not {fx:g} and {fy:g}")
    if not all(abs(c) <= _MAX_CENTER for c in (cx, cy)):
        raise ValueError(f"its principal point must be within {_MAX_CENTER:g} pixels")


@dataclass(frozen=True)
class Pinhole:
    """A projection without distortion, looking along -Z with +Y up and +X to the right.

    Attributes:
        width, height: Of the image, in pixels.
        field_of_view: Full angle across the shorter side, in [rad].
        near, far: Clipping distances along the optical axis, in [m].
        stated: Its intrinsics; None for square pixels, with the optical axis in the middle.
        rectification: The matrix P of CameraInfo: fx, fy, cx, cy, Tx, Ty, in pixels; None for
            that of an image without distortion.

    Raises:
        ValueError: An attribute is out of range.
    """

    width: int
    height: int
    field_of_view: float
    near: float
    far: float
    stated: Intrinsics | None = None
    rectification: Rectification | None = None

    distortion_model: ClassVar[str] = "plumb_bob"
    distortion: ClassVar[tuple[float, ...]] = NO_DISTORTION

    def __post_init__(self) -> None:
        check_image(self.width, self.height, self.near, self.far)
        if not _MIN_FIELD_OF_VIEW <= self.field_of_view <= pi - _MIN_FIELD_OF_VIEW:
            raise ValueError(
                f"its field of view must be between 0 and pi rad, not {self.field_of_view} rad"
            )
        check_intrinsics(self.intrinsics)

    @property
    def focal_length(self) -> float:
        """Focal length in pixels of square pixels, by the field of view."""
        return min(self.width, self.height) / 2.0 / tan(self.field_of_view / 2.0)

    @cached_property
    def intrinsics(self) -> Intrinsics:
        """Focal lengths and principal point, in pixels; the centre of the first pixel is (0, 0)."""
        if self.stated is not None:
            return self.stated
        focal = self.focal_length
        return Intrinsics(focal, focal, (self.width - 1) / 2.0, (self.height - 1) / 2.0)

    @property
    def rectified(self) -> Rectification:
        """The matrix P of CameraInfo: fx, fy, cx, cy, Tx, Ty, in pixels."""
        return self.rectification or (*self.intrinsics, 0.0, 0.0)

    @property
    def pixel_count(self) -> int:
        """Number of pixels that are rendered for an image."""
        return self.width * self.height

    @cached_property
    def slopes(self) -> tuple[Depths, Depths]:
        """x/z of each column and y/z of each row, shapes (1, width) and (height, 1).

        In the optical frame: x right, y down, z forward.
        """
        fx, fy, cx, cy = self.intrinsics
        columns = ((np.arange(self.width) - cx) / fx).astype(np.float32)
        rows = ((np.arange(self.height) - cy) / fy).astype(np.float32)
        return columns[np.newaxis], rows[:, np.newaxis]

    @cached_property
    def cosines(self) -> Depths:
        """Depth per distance along the line of sight of each pixel, shape (height, width)."""
        per_column, per_row = self.slopes
        return np.asarray(1.0 / np.sqrt(1.0 + per_column**2 + per_row**2), np.float32)

    def projection(self) -> Array:
        """Return OpenGL's projection matrix, shape (4, 4), with image row 0 at y = -1.

        OpenGL's rows start at the bottom; flipping the image here costs nothing.
        """
        n, f = self.near, self.far
        fx, fy, cx, cy = self.intrinsics
        right, down = (2.0 * cx + 1.0) / self.width - 1.0, (2.0 * cy + 1.0) / self.height - 1.0
        return np.array(
            [
                [2.0 * fx / self.width, 0.0, -right, 0.0],
                [0.0, -2.0 * fy / self.height, -down, 0.0],
                [0.0, 0.0, (f + n) / (n - f), 2.0 * f * n / (n - f)],
                [0.0, 0.0, -1.0, 0.0],
            ]
        )
