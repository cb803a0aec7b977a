"""The lenses of cameras of models.

Images of those that no projection matrix describes are made of several perspective ones: a lens
states the direction that each of its pixels sees. Perspective images of these directions, one or
the faces of a cube, are rendered and looked up between their pixels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import atan, ceil, inf, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model.devices import (
    EQUIDISTANT,
    NO_DISTORTION,
    Camera,
    Distortion,
    Intrinsics,
    LensFunction,
    LensType,
)
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, Pose

from .view import (
    Depths,
    Parts,
    Picture,
    Pinhole,
    Pixels,
    Rectification,
    check_image,
    check_intrinsics,
)

MAX_PIXELS = 8_000_000  # of one image: each takes some 100 bytes
# Pixels along a side of a perspective image: of a single one, and of a face of a cube.
_MAX_SIDE, _MAX_FACE = 4096, 2048
_MIN_FOCAL, _MAX_FOCAL = 8.0, 1e6  # of perspective images, in pixels
_COST = 8  # of a pixel, in those of a perspective image
_MAX_SLOPE = 2.5  # of a single perspective image; wider lenses need the faces of a cube
_MARGIN = 2  # pixels around a perspective image, between which the outermost rays are looked up
# Neighbouring depths that differ by more are of different surfaces, relative to the nearest.
_SAME_SURFACE = 0.05
_ITERATIONS, _EXACT = 20, 1e-3  # of Newton's method; in pixels
_OPTICAL = np.diag([1.0, -1.0, -1.0])  # R_CO: x right, y down, z forward in the camera frame C
_PERSPECTIVE = LensFunction("tan")
_ROUNDING = 1e-3  # of angles in models


class View(NamedTuple):
    """A perspective image V of a part of what a lens sees.

    Attributes:
        lens: Its projection.
        R_OV: Of its optical frame in that of the camera.
        pixels: Indices of the pixels of the lens that it shows, of the flat image.
        first: Index of the upper left of the four pixels around each of them.
        shares: Weights of the four, shape (4, n).
        depths: Depth in the lens per depth in V, of each.
    """

    lens: Pinhole
    R_OV: Array
    pixels: NDArray[np.intp]
    first: NDArray[np.intp]
    shares: NDArray[np.float32]
    depths: NDArray[np.float32]

    @property
    def X_CV(self) -> Pose:  # noqa: N802 - a pose
        """Pose of the camera frame of the view in that of the camera."""
        return Pose(_OPTICAL @ self.R_OV @ _OPTICAL)

    def corners(self) -> tuple[NDArray[np.intp], ...]:
        """Return the indices of the four pixels around each."""
        width = self.lens.width
        return self.first, self.first + 1, self.first + width, self.first + width + 1


@dataclass(frozen=True)
class ResampledLens(ABC):
    """A lens that is described by the directions that its pixels see.

    Attributes:
        width, height: Of the image, in pixels.
        intrinsics: In pixels; the centre of the first pixel is (0, 0).
        near, far: Clipping distances along the axis of each perspective image, in [m].
        rectification: The matrix P of CameraInfo, see ``Pinhole``.

    Raises:
        ValueError: An attribute is out of range.
    """

    width: int
    height: int
    intrinsics: Intrinsics
    near: float
    far: float
    rectification: Rectification | None = None

    def __post_init__(self) -> None:
        check_image(self.width, self.height, self.near, self.far)
        check_intrinsics(self.intrinsics)
        if self.width * self.height > MAX_PIXELS:
            raise ValueError(
                f"an image of its lens must have at most {MAX_PIXELS} pixels, "
                f"not {self.width} x {self.height}"
            )

    @property
    @abstractmethod
    def distortion_model(self) -> str:
        """Name of the model in CameraInfo; empty for a lens that none describes."""

    @property
    @abstractmethod
    def distortion(self) -> Sequence[float]:
        """Its coefficients."""

    @abstractmethod
    def rays(self) -> Array:
        """Return the directions that the pixels see in the optical frame.

        Unit vectors, shape (height, width, 3); NaN where the lens sees nothing.
        """

    @property
    def density(self) -> float:
        """The largest number of pixels per radian."""
        return max(self.intrinsics.fx, self.intrinsics.fy)

    @property
    def rectified(self) -> Rectification:
        """The matrix P of CameraInfo: fx, fy, cx, cy, Tx, Ty, in pixels."""
        return self.rectification or (*self.intrinsics, 0.0, 0.0)

    @property
    def pixel_count(self) -> int:
        """Number of pixels that take as much memory as an image of this lens."""
        return _COST * self.width * self.height

    @cached_property
    def slopes(self) -> tuple[Depths, Depths]:
        """x/z and y/z of each pixel, shape (height, width); NaN where z is not positive."""
        rays = self._rays
        z = np.where(rays[..., 2] > 0.0, rays[..., 2], np.float32(np.nan))
        return np.asarray(rays[..., 0] / z, np.float32), np.asarray(rays[..., 1] / z, np.float32)

    @cached_property
    def cosines(self) -> Depths:
        """Depth per distance along the line of sight of each pixel, shape (height, width)."""
        return np.asarray(self._rays[..., 2])

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The perspective images that show what the lens sees."""
        rays = self._rays.reshape(-1, 3)
        seen = np.flatnonzero(np.isfinite(rays[:, 2]))
        if seen.size == 0:
            return ()
        slopes = np.abs(rays[seen, :2]) / np.maximum(rays[seen, 2:], 1e-6)
        right, down = slopes.max(axis=0).tolist()
        if max(right, down) <= _MAX_SLOPE:
            return (_view(np.eye(3), seen, rays, (right, down), self, _MAX_SIDE),)
        return tuple(self._faces(rays, seen))

    def assembled(self, parts: Parts, draw: Callable[[View], Picture]) -> Picture:
        """Return the image of the lens from those of its views; black where it sees nothing.

        Args:
            parts: Requested parts.
            draw: Returns the image of a view.
        """
        size = self.height, self.width
        color: Pixels | None = np.zeros((*size, 3), np.uint8) if parts.color else None
        depth: Depths | None = np.full(size, np.nan, np.float32) if parts.depth else None
        for view in self.views:
            picture = draw(view)
            if color is not None and picture.color is not None:
                color.reshape(-1, 3)[view.pixels] = _mixed(view, picture.color)
            if depth is not None and picture.depth is not None:
                depth.reshape(-1)[view.pixels] = _depths(view, picture.depth)
        return Picture(color, depth)

    @cached_property
    def _rays(self) -> NDArray[np.float32]:
        return self.rays().astype(np.float32)

    def _faces(self, rays: NDArray[np.float32], seen: NDArray[np.intp]) -> Iterator[View]:
        """Yield the faces of a cube that are seen."""
        axis = np.abs(rays[seen]).argmax(axis=1)
        sign = np.take_along_axis(rays[seen], axis[:, np.newaxis], axis=1)[:, 0] > 0.0
        for i in range(3):
            for positive in (True, False):
                mine = seen[(axis == i) & (sign == positive)]
                if mine.size:
                    yield _view(_face(i, positive), mine, rays, (1.0, 1.0), self, _MAX_FACE)


def _face(axis: int, positive: bool) -> Array:
    """Return R_OV of a face of the cube, which looks along an axis of O."""
    forward = np.zeros(3)
    forward[axis] = 1.0 if positive else -1.0
    down = np.array([0.0, 0.0, 1.0]) if axis == 1 else np.array([0.0, 1.0, 0.0])
    return np.column_stack([np.cross(down, forward), down, forward])


def _view(
    R_OV: Array,
    pixels: NDArray[np.intp],
    rays: NDArray[np.float32],
    extent: tuple[float, float],
    lens: ResampledLens,
    most: int,
) -> View:
    """Return a view that shows some pixels of a lens.

    Args:
        R_OV: Of the view.
        pixels: Indices of the pixels.
        rays: Directions of all pixels of the lens, shape (n, 3).
        extent: Largest slopes to the right and down.
        lens: The lens.
        most: Pixels along a side of the view.
    """
    sharpest = (most / 2.0 - _MARGIN - 1) / max(*extent, 1e-3)
    focal = min(max(lens.density, _MIN_FOCAL), _MAX_FOCAL, sharpest)
    width, height = (2 * (ceil(slope * focal) + _MARGIN) for slope in extent)
    angle = 2.0 * atan(min(width, height) / 2.0 / focal)
    pinhole = Pinhole(width, height, angle, lens.near, lens.far)
    rays_V = rays[pixels].astype(float) @ R_OV
    u = focal * rays_V[:, 0] / rays_V[:, 2] + (width - 1) / 2.0
    v = focal * rays_V[:, 1] / rays_V[:, 2] + (height - 1) / 2.0
    left, top = np.floor(u), np.floor(v)
    s, t = u - left, v - top
    shares = np.stack([(1 - s) * (1 - t), s * (1 - t), (1 - s) * t, s * t]).astype(np.float32)
    first = top.astype(np.intp) * width + left.astype(np.intp)
    depths = (rays[pixels, 2] / rays_V[:, 2]).astype(np.float32)
    return View(pinhole, R_OV, pixels, first, shares, depths)


def _mixed(view: View, color: Pixels) -> Pixels:
    """Return the colours of the pixels of a view, between its own."""
    flat, mixed = color.reshape(-1, 3), np.full((len(view.pixels), 3), 0.5, np.float32)
    for corner, share in zip(view.corners(), view.shares, strict=True):
        mixed += share[:, np.newaxis] * flat[corner]
    return mixed.astype(np.uint8)


def _depths(view: View, depth: Depths) -> Depths:
    """Return the depths of the pixels of a view along the optical axis of the lens.

    1 / depth is linear in a perspective image of a plane, so planes are exact. At the edges of
    surfaces the nearest pixel counts. Beyond a right angle there is no depth: NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / depth.reshape(-1)
        around = np.stack([inverse[corner] for corner in view.corners()])
        low, high = around.min(axis=0), around.max(axis=0)
        between = (around * view.shares).sum(axis=0)
        nearest = np.take_along_axis(around, view.shares.argmax(axis=0)[np.newaxis], axis=0)[0]
        is_smooth = (low > 0.0) & (high <= low * (1.0 + _SAME_SURFACE))
        along = view.depths / np.where(is_smooth, between, nearest)
    return np.where(view.depths > 0.0, along, np.float32(np.nan)).astype(np.float32)


@dataclass(frozen=True)
class BrownLens(ResampledLens):
    """A lens with Brown's distortion.

    Attributes:
        coefficients: Of the distortion.
    """

    coefficients: Distortion = NO_DISTORTION

    distortion_model = "plumb_bob"

    @property
    def distortion(self) -> Sequence[float]:
        """k1, k2, p1, p2, k3."""
        return self.coefficients

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(abs(x) <= 1e6 for x in self.coefficients):
            raise ValueError("the coefficients of its distortion must be within 1e+06")

    def rays(self) -> Array:
        """Return the directions of pixels, by Newton's method.

        A pixel sees nothing where the distortion does not reach it, or would fold the image back.
        """
        fx, fy, cx, cy = self.intrinsics
        x = np.broadcast_to((np.arange(self.width) - cx) / fx, (self.height, self.width))
        y = np.broadcast_to(((np.arange(self.height) - cy) / fy)[:, np.newaxis], x.shape)
        wanted = np.stack([x, y])
        found, limit = wanted.copy(), _fold(self.coefficients)
        with np.errstate(all="ignore"):
            shrink = np.minimum(1.0, 0.99 * limit / np.hypot(*wanted))
            found *= np.nan_to_num(shrink, nan=1.0)
            for _ in range(_ITERATIONS):
                value, ((a, b), (c, d)) = _distorted(found, self.coefficients)
                e, f = value - wanted
                is_exact = np.maximum(np.abs(e), np.abs(f)) * max(fx, fy) < _EXACT
                if is_exact.all():
                    break
                found = found - np.stack([d * e - b * f, a * f - c * e]) / (a * d - b * c)
            is_unfolded = np.hypot(*found) < limit
            rays = np.stack([*found, np.ones_like(x)], axis=-1)
            rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
        rays[~(is_exact & is_unfolded)] = np.nan
        return rays


def _distorted(p: Array, distortion: Distortion) -> tuple[Array, tuple[tuple[Array, ...], ...]]:
    """Return distorted coordinates, and their derivatives."""
    k1, k2, p1, p2, k3 = distortion
    x, y = p
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    slope = k1 + r2 * (2.0 * k2 + r2 * 3.0 * k3)  # of radial, per r2
    value = np.stack(
        [
            x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
            y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
        ]
    )
    cross = 2.0 * x * y * slope + 2.0 * p1 * x + 2.0 * p2 * y
    a = radial + 2.0 * x * x * slope + 2.0 * p1 * y + 6.0 * p2 * x
    d = radial + 2.0 * y * y * slope + 6.0 * p1 * y + 2.0 * p2 * x
    return value, ((a, cross), (cross, d))


def _fold(distortion: Distortion) -> float:
    """Return the slope at which the radial distortion begins to fold the image back."""
    k1, k2, _, _, k3 = distortion
    roots = np.roots([7.0 * k3, 5.0 * k2, 3.0 * k1, 1.0])  # of the derivative, in squares
    real = roots[(np.abs(roots.imag) < 1e-12) & (roots.real > 0.0)].real
    return float(np.sqrt(real.min())) if real.size else inf


@dataclass(frozen=True)
class FisheyeLens(ResampledLens):
    """A fisheye lens.

    Attributes:
        function: Distance from the principal point, by the angle from the optical axis.
        cut_off_angle: Beyond which it sees nothing, in [rad].
    """

    function: LensFunction = EQUIDISTANT
    cut_off_angle: float = pi

    def __post_init__(self) -> None:
        super().__post_init__()
        _, c1, c2, c3 = self.function
        if not (all(1e-3 <= c <= 1e3 for c in (c1, c2)) and abs(c3) <= 10.0):
            raise ValueError("c1 and c2 of its lens must be from 0.001 to 1000, c3 within 10")
        if not self.cut_off_angle >= 0.0:
            raise ValueError(f"its cut-off angle must be from 0, not {self.cut_off_angle} rad")

    @property
    def density(self) -> float:
        """The largest number of pixels per radian."""
        angles, radii = self._samples()
        steps = np.diff(radii) / np.diff(angles)
        return super().density * float(np.max(steps, initial=1.0))

    @cached_property
    def distortion(self) -> Sequence[float]:
        """k1 to k4 of r = f (a + k1 a^3 + k2 a^5 + k3 a^7 + k4 a^9), fitted to the function."""
        if self.function == _PERSPECTIVE:
            return NO_DISTORTION
        angles, radii = self._samples()
        powers = angles[:, np.newaxis] ** np.array([3, 5, 7, 9])
        solution = np.linalg.lstsq(powers, radii - angles, rcond=None)[0]
        return tuple(float(k) if abs(k) > 1e-15 else 0.0 for k in solution)

    @property
    def distortion_model(self) -> str:
        """ROS's name of the polynomial of Kannala and Brandt; of a perspective lens another."""
        return "plumb_bob" if self.function == _PERSPECTIVE else "equidistant"

    def _samples(self) -> tuple[Array, Array]:
        """Return angles that appear in the image, and their distances from the centre."""
        angles = np.linspace(0.0, self._last_angle, 257)
        radii = self.function.radius(angles)
        seen = np.isfinite(radii)
        return angles[seen], radii[seen]

    @property
    def _last_angle(self) -> float:
        """The largest angle that appears in the image, in [rad]."""
        fx, fy, cx, cy = self.intrinsics
        x, y = max(cx, self.width - 1 - cx) / fx, max(cy, self.height - 1 - cy) / fy
        angle = float(self.function.angle(np.hypot(x, y)))
        limit = min(self.cut_off_angle, pi)
        return max(min(angle, limit) if angle > 0.0 else limit, 1e-3)

    def rays(self) -> Array:
        """Return the directions of pixels."""
        fx, fy, cx, cy = self.intrinsics
        x = np.asarray((np.arange(self.width) - cx) / fx, float)
        y = np.asarray((np.arange(self.height) - cy) / fy, float)[:, np.newaxis]
        return _turned(x, y, self.function, self.cut_off_angle)


def _turned(x: Array, y: Array, function: LensFunction, limit: float) -> Array:
    """Return directions at the angles that belong to distances from the principal point."""
    radius = np.hypot(x, y)
    angle = function.angle(radius)
    with np.errstate(all="ignore"):
        across = np.where(radius > 0.0, np.sin(angle) / radius, 1.0)
        rays = np.stack([x * across, y * across, np.cos(angle)], axis=-1)
        rays[~((angle >= 0.0) & (angle <= min(limit, pi)))] = np.nan
    return rays


@dataclass(frozen=True)
class DualFisheyeLens(ResampledLens):
    """Two fisheye lenses, one ahead and one behind, side by side as in Choreonoid.

    Each sees half a sphere in a circle, equidistant. The left circle is turned to the left by a
    right angle, the right one to the right. CameraInfo has no model of this.
    """

    distortion_model = ""
    distortion = ()

    def rays(self) -> Array:
        """Return the directions of pixels."""
        fx, _, cx, cy = self.intrinsics
        half = self.width / 2.0
        column = np.arange(self.width, dtype=float)
        x = np.where(column < half, column - cx, column - cx - half) / fx
        y = ((np.arange(self.height) - cy) / fx)[:, np.newaxis]
        x, y = np.broadcast_arrays(x, y)
        is_left = np.broadcast_to(column < half, x.shape)
        # A turn to the left shows the right at the top.
        right = np.asarray(np.where(is_left, -y, y), float)
        down = np.asarray(np.where(is_left, x, -x), float)
        rays = _turned(right, down, EQUIDISTANT, pi / 2.0)
        return np.where(is_left[..., np.newaxis], rays, rays * (-1.0, 1.0, -1.0))


Lens = Pinhole | ResampledLens


def make_lens(device: Camera, size: tuple[int, int] | None = None) -> Lens:
    """Return the projection of a camera.

    Args:
        device: The camera.
        size: Width and height of images in pixels, if they are not its own; what spans the shorter
            side of its images spans that of these.

    Raises:
        ValueError: Its properties are invalid.
    """
    own = device.width, device.height
    width, height = size or own
    intrinsics, clip = device.intrinsics, (device.near_clip, device.far_clip)
    rectified = None
    if device.rectified is not None and size is None:
        matrix, x, y = device.rectified
        rectified = (*matrix, x, y)
    if intrinsics is not None and size is not None:
        intrinsics = _resized(intrinsics, own, size)
    if device.lens_type is not LensType.NORMAL:
        return _fisheye(device, (width, height), intrinsics)
    pinhole = Pinhole(width, height, device.field_of_view, *clip, intrinsics, rectified)
    if not any(device.distortion):
        return pinhole
    matrix = pinhole.intrinsics
    return BrownLens(width, height, matrix, *clip, rectified, coefficients=device.distortion)


def _resized(intrinsics: Intrinsics, own: tuple[int, int], size: tuple[int, int]) -> Intrinsics:
    """Return the intrinsics of images of another size."""
    scale = min(size) / max(min(own), 1)
    x, y = (
        (c - (n - 1) / 2.0) * scale + (m - 1) / 2.0
        for c, n, m in zip((intrinsics.cx, intrinsics.cy), own, size, strict=True)
    )
    return Intrinsics(intrinsics.fx * scale, intrinsics.fy * scale, x, y)


def _fisheye(device: Camera, size: tuple[int, int], intrinsics: Intrinsics | None) -> Lens:
    """Return a fisheye lens, whose field of view spans the shorter side; or two of pi rad."""
    width, height = size
    clip = device.near_clip, device.far_clip
    is_dual = device.lens_type is LensType.DUAL_FISHEYE
    side = width / 2.0 if is_dual else float(width)
    view = pi if is_dual else device.field_of_view
    if not 0.0 < view <= 2.0 * pi + _ROUNDING:
        raise ValueError(f"its field of view must be between 0 and 2 pi rad, not {view} rad")
    edge = float(device.lens_function.radius(view / 2.0))  # for a focal length of 1
    focal = min(side, height) / 2.0 / edge if edge > 0.0 else 0.0
    middle = Intrinsics(focal, focal, (side - 1.0) / 2.0, (height - 1) / 2.0)
    if is_dual:
        return DualFisheyeLens(width, height, middle, *clip)
    return FisheyeLens(
        width,
        height,
        intrinsics or middle,
        *clip,
        function=device.lens_function,
        cut_off_angle=view / 2.0 if device.cut_off_angle is None else device.cut_off_angle,
    )
