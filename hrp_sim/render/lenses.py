"""The lens of a camera of a model."""

from __future__ import annotations

from math import pi

from hrp_model.devices import Camera, Intrinsics, LensType

from .resampled import BrownLens, DualFisheyeLens, FisheyeLens, ResampledLens
from .view import Pinhole

Lens = Pinhole | ResampledLens
_ROUNDING = 1e-3  # of angles in models


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
