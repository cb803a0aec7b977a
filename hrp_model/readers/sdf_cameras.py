"""Read cameras from sensors of SDF: images, lenses, distortion and noise."""

from __future__ import annotations

from dataclasses import dataclass
from math import atan, inf, isfinite, pi, tan
from typing import Any

import numpy as np

from ..devices import (
    LENS_FUNCTIONS,
    NO_DISTORTION,
    Camera,
    Distortion,
    ImageType,
    Intrinsics,
    LensFunction,
    LensType,
)
from .sdf_values import SdfReader, steady_noise

WIDE_ANGLE = ("wideanglecamera", "wide_angle_camera")

_DEPTH_ONLY = ("depth", "depth_camera")
_WITH_DEPTH = (*_DEPTH_ONLY, "rgbd", "rgbd_camera")
_GREY = ("L8", "L16", "L_")
# Of wide-angle cameras: r = f c1 fun(angle / c2 + c3), as in gz-rendering.
_FUNCTIONS = {
    **dict.fromkeys(("gnomonical", "gnomonic"), LensFunction("tan")),
    "stereographic": LensFunction("tan", c1=2.0, c2=2.0),
    "equidistant": LensFunction(),
    "equisolid_angle": LensFunction("sin", c1=2.0, c2=2.0),
    "orthographic": LensFunction("sin"),
}
_MIDDLE = np.array([0.5, 0.5])
_COEFFICIENTS = ("k1", "k2", "p1", "p2", "k3")  # in the order of Distortion


@dataclass(frozen=True)
class _Image:
    width: int
    height: int
    across: float  # horizontal field of view, in [rad]

    @property
    def shorter(self) -> int:
        return min(self.width, self.height)

    def intrinsics(self, focal_length: float) -> Intrinsics:
        """Return those of square pixels, with the axis in the middle of the image."""
        middle = (self.width - 1) / 2.0, (self.height - 1) / 2.0
        return Intrinsics(focal_length, focal_length, *middle)


def read_camera(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Camera:
    """Return a camera; ``common`` are the arguments of all devices."""
    camera = sensor.inside("camera") or sensor
    image = _Image(
        camera.positive_integer("image", "width", default=320),
        camera.positive_integer("image", "height", default=240),
        camera.number("horizontal_fov", default=1.047),
    )
    near = camera.number("clip", "near", default=0.1)
    far = camera.number("clip", "far", default=100.0)
    # Without narrower limits, depths have the clip distances of the image.
    nearest = camera.number("depth_camera", "clip", "near", default=near)
    farthest = camera.number("depth_camera", "clip", "far", default=far)
    noise = steady_noise(camera.inside("noise"))
    if noise.mean_stdev > 0.0 or camera.text("noise", "bias_mean"):
        camera.warn("not-used", "images have no bias: only <mean> and <stddev> are used")
    has_depth = kind in _WITH_DEPTH
    colors = (noise.mean, noise.stdev) if kind not in _DEPTH_ONLY else (0.0, 0.0)
    depths = (noise.mean, noise.stdev) if has_depth else (0.0, 0.0)
    optics = _fisheye if kind in WIDE_ANGLE else _normal
    return Camera(
        **common,
        **optics(camera, image),
        image_type=_image_type(camera, kind),
        width=image.width,
        height=image.height,
        near_clip=near,
        far_clip=far,
        frame_rate=sensor.number("update_rate", default=30.0) or 30.0,
        min_distance=nearest if nearest > near else 0.0,
        max_distance=farthest if farthest < far else inf,
        color_mean=colors[0],
        color_stdev=colors[1],
        error_mean=depths[0],
        error_deviation=depths[1],
    )


def _image_type(camera: SdfReader, kind: str) -> ImageType:
    if kind in _DEPTH_ONLY:
        return ImageType.DEPTH
    pixels = camera.inside("image", "format")
    text = "" if pixels is None else pixels.element.text
    is_grey = text.startswith(_GREY)
    if pixels is not None and (text.startswith("BAYER") or text == "L16" or "FLOAT" in text):
        stands_for = "mono8" if is_grey else "rgb8"
        pixels.warn("not-used", f"images of the format {text} are published as {stands_for}")
    if kind in _WITH_DEPTH:
        return ImageType.MONO_DEPTH if is_grey else ImageType.COLOR_DEPTH
    return ImageType.MONO if is_grey else ImageType.COLOR


def _normal(camera: SdfReader, image: _Image) -> dict[str, Any]:
    """Return the properties of a perspective lens."""
    function = camera.inside("lens", "type")
    if function is not None and function.element.text not in ("", "gnomonical", "gnomonic"):
        message = f"a lens of the type {function.element.text} needs a sensor of the type"
        function.warn("not-used", f"{message} {WIDE_ANGLE[0]}; it is drawn without distortion")
    angle = image.across  # validation reports an impossible angle
    if 0.0 < image.across < pi:
        angle = 2.0 * atan(image.shorter / image.width * tan(image.across / 2.0))
    intrinsics = _intrinsics(camera)
    if intrinsics is not None:
        focal = intrinsics.fx if image.width <= image.height else intrinsics.fy
        angle = 2.0 * atan(image.shorter / 2.0 / focal)
    return {
        "field_of_view": angle,
        "intrinsics": intrinsics,
        "rectified": _rectified(camera, image, intrinsics),
        "distortion": _distortion(camera, image, intrinsics),
    }


def _intrinsics(camera: SdfReader) -> Intrinsics | None:
    values = camera.inside("lens", "intrinsics")
    if values is None:
        return None
    skew = values.inside("s")
    if skew is not None and skew.number(default=0.0) != 0.0:
        skew.warn("not-used", "the axes of an image are perpendicular; its skew is ignored")
    return Intrinsics(
        values.positive("fx", default=277.0),
        values.positive("fy", default=277.0),
        values.number("cx", default=160.0),
        values.number("cy", default=120.0),
    )


def _rectified(
    camera: SdfReader, image: _Image, intrinsics: Intrinsics | None
) -> tuple[Intrinsics, float, float] | None:
    """Return the matrix P of CameraInfo if the model states it."""
    values = camera.inside("lens", "projection")
    if values is None:
        return None
    if intrinsics is None:
        is_possible = 0.0 < image.across < pi
        focal = image.width / 2.0 / tan(image.across / 2.0) if is_possible else 277.0
        intrinsics = image.intrinsics(focal)
    return (
        Intrinsics(
            values.positive("p_fx", default=intrinsics.fx),
            values.positive("p_fy", default=intrinsics.fy),
            values.number("p_cx", default=intrinsics.cx),
            values.number("p_cy", default=intrinsics.cy),
        ),
        values.number("tx", default=0.0),
        values.number("ty", default=0.0),
    )


def _distortion(camera: SdfReader, image: _Image, intrinsics: Intrinsics | None) -> Distortion:
    values = camera.inside("distortion")
    if values is None:
        return NO_DISTORTION
    distortion = Distortion(*(values.number(name, default=0.0) for name in _COEFFICIENTS))
    center = values.inside("center")
    if center is not None and any(distortion):
        x, y = center.vector(default=_MIDDLE, count=2).tolist()
        axis = intrinsics or image.intrinsics(1.0)
        stated = x * image.width - 0.5, y * image.height - 0.5
        is_default = (x, y) == (0.5, 0.5)
        if not is_default and max(abs(stated[0] - axis.cx), abs(stated[1] - axis.cy)) > 1.0:
            message = "a lens is distorted about its principal point; another center is ignored"
            center.warn("not-used", message)
    return distortion


def _fisheye(camera: SdfReader, image: _Image) -> dict[str, Any]:
    """Return the properties of the lens of a wide-angle camera."""
    for tag in ("distortion", "lens/intrinsics", "lens/projection"):
        found = camera.inside(*tag.split("/"))
        if found is not None:
            found.warn("not-used", f"<{found.element.tag}> is ignored: of normal lenses only")
    function, stated_focal = _function(camera)
    focal = stated_focal * image.width / 2.0
    is_scaled = camera.inside("lens", "scale_to_hfov") is None
    if is_scaled or camera.flag("lens", "scale_to_hfov"):
        edge = float(function.radius(image.across / 2.0))
        focal = image.width / 2.0 / edge if isfinite(edge) and edge > 0.0 else 0.0
    cut_off = camera.non_negative("lens", "cutoff_angle", default=pi / 2.0)
    half = float(function.angle(image.shorter / 2.0 / focal)) if focal > 0.0 else pi
    return {
        "lens_type": LensType.FISHEYE,
        "field_of_view": 2.0 * half if half < pi else 2.0 * pi,
        "intrinsics": image.intrinsics(focal),
        "lens_function": function,
        "cut_off_angle": min(cut_off, pi),
    }


def _function(camera: SdfReader) -> tuple[LensFunction, float]:
    """Return the lens function, and its focal length relative to half of the image's width."""
    kind = camera.inside("lens", "type")
    name = "stereographic" if kind is None else kind.element.text
    if name in _FUNCTIONS:
        return _FUNCTIONS[name], 1.0
    custom = camera.inside("lens", "custom_function")
    if name == "custom" and custom is not None:
        fun = custom.text("fun") or "tan"
        if fun in LENS_FUNCTIONS:
            c1, c2 = custom.positive("c1", default=1.0), custom.positive("c2", default=1.0)
            c3, f = custom.number("c3", default=0.0), custom.positive("f", default=1.0)
            # With c1 = c2 the focal length is that of a lens without distortion, if c3 is 0.
            return LensFunction(fun, c2, c2, c3), f * c1 / c2
        custom.warn("not-used", f"the function '{fun}' is unknown; the lens is stereographic")
    elif kind is not None:
        kind.warn("not-used", f"the lens type '{name}' is unknown; the lens is stereographic")
    return _FUNCTIONS["stereographic"], 1.0
