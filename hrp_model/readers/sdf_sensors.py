"""Read devices from sensors of SDF, also in <gazebo> blocks of URDF.

The inverse of ``urdf.gazebo_blocks``. Contents that are not read are reported.

Gazebo's cameras and scanners look along +X of the sensor, with +Z up; those of a Body look along
-Z, with +Y up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import atan, inf, isclose, isfinite, pi, tan
from typing import Any, TypeAlias

import numpy as np

from ..devices import (
    LENS_FUNCTIONS,
    NO_DISTORTION,
    Camera,
    Device,
    Distortion,
    ForceSensor,
    GenericDevice,
    ImageType,
    Imu,
    Intrinsics,
    LensFunction,
    LensType,
    RangeSensor,
    WrenchFrame,
)
from ..frames import X_S_SCAN
from ..late_dataclass import dataclass
from ..rigid import Pose
from .sdf_values import SdfReader, same_noise, steady_noise, vector_noise
from .xml_tree import Element

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
# Elements by tag, with those inside of them; the contents of an empty one are not looked at.
_Contents: TypeAlias = Mapping[str, "_Contents"]
_TOLERANCE = 1e-9  # of angles
_ONE_DEGREE = pi / 180.0  # the step of a scan with a single ray


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


def _tags(*names: str) -> dict[str, _Contents]:
    return {name: {} for name in names}


FRAME_IDS = ("gz_frame_id", "ignition_frame_id", "frame_id", "frameName")


# Names in Gazebo; here topics and frames have the name of the device.
_NAMES = ("topic", *FRAME_IDS)


_CAMERA_NAMES = ("optical_frame_id", "camera_info_topic")


_BIAS = ("mean", "stddev", "bias_mean", "bias_stddev")


_DRIFT = ("dynamic_bias_stddev", "dynamic_bias_correlation_time")


_NOISE: dict[str, _Contents] = {"noise": _tags("type", "precision", *_BIAS, *_DRIFT)}


_VECTOR = dict.fromkeys(("x", "y", "z"), _NOISE)


_RAYS = _tags("samples", "resolution", "min_angle", "max_angle")


_LIDAR: _Contents = {
    "scan": {"horizontal": _RAYS, "vertical": _RAYS},
    # Gazebo does not round distances to this resolution either.
    "range": _tags("min", "max", "resolution"),
    **_NOISE,
    **_tags("visibility_mask"),
}


_CLIP = {"clip": _tags("near", "far")}


_CAMERA = {
    **_tags("horizontal_fov", "visibility_mask", "save", *_CAMERA_NAMES),
    "image": _tags("width", "height", "format", "anti_aliasing"),
    **_CLIP,
    "depth_camera": {**_tags("output"), **_CLIP},
    **_NOISE,
    "distortion": _tags("k1", "k2", "k3", "p1", "p2", "center"),
    "lens": {
        **_tags("type", "scale_to_hfov", "cutoff_angle", "env_texture_size"),
        "custom_function": _tags("c1", "c2", "c3", "f", "fun"),
        "intrinsics": _tags("fx", "fy", "cx", "cy", "s"),
        "projection": _tags("p_fx", "p_fy", "p_cx", "p_cy", "tx", "ty"),
    },
}


_IMU = {
    **_tags("enable_orientation"),
    "angular_velocity": _VECTOR,
    "linear_acceleration": _VECTOR,
    "noise": {**_tags("type"), "rate": _tags(*_BIAS), "accel": _tags(*_BIAS)},
    "orientation_reference_frame": _tags("localization"),
}


_WRENCH = {**_tags("frame", "measure_direction"), "force": _VECTOR, "torque": _VECTOR}


_SENSOR: _Contents = {
    **_tags("pose", "update_rate", *_NAMES),
    **_tags("always_on", "visualize", "enable_metrics", "plugin"),  # of Gazebo
    "imu": _IMU,
    "force_torque": _WRENCH,
    "camera": _CAMERA,
    "lidar": _LIDAR,
    "ray": _LIDAR,
}


def report_unused(sensor: SdfReader) -> None:
    """Warn about the contents of a sensor that are not read; names of Gazebo are a note."""
    for path, element in _unknown(sensor.element, _SENSOR, ()):
        # Older files have the contents of <imu>, <camera> and so on in the <sensor> itself.
        if len(path) > 1 or not any(path[0] in part for part in (_IMU, _WRENCH, _CAMERA, _LIDAR)):
            sensor.of(element).warn("not-used", f"<{'/'.join(path)}> of a sensor is not used")
    camera = sensor.inside("camera")
    named = [tag for tag in _NAMES if sensor.text(tag)]
    named += [tag for tag in _CAMERA_NAMES if camera is not None and camera.text(tag)]
    if named:
        listed = ", ".join(f"<{tag}>" for tag in named)
        message = f"{listed}: its topics and frames are named after the sensor instead"
        sensor.note("gazebo-name", message)


def _unknown(
    element: Element, known: _Contents, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Element]]:
    """Yield the elements that are not known, with their paths."""
    for child in element.children:
        inside = (*path, child.tag)
        if child.tag not in known:
            yield inside, child
        elif known[child.tag]:
            yield from _unknown(child, known[child.tag], inside)


def read_sensor(sensor: SdfReader, name: str, link: str, X_LS: Pose) -> Device:
    """Return the device of a sensor on a link; of an unknown type a ``GenericDevice``."""
    kind = sensor.element.attributes.get("type", "")
    common: dict[str, Any] = {
        "name": name,
        "link": link,
        "X_LS": X_LS,
        "info": _plain(sensor.element),
        "at": sensor.element.at("name"),
    }
    reader = _READERS.get(kind)
    if reader is None:
        return GenericDevice(type_name=kind, **common)
    report_unused(sensor)
    return reader(sensor, kind, common)


def _imu(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Device:
    del kind
    imu = sensor.inside("imu") or sensor
    gyro = vector_noise(imu.inside("angular_velocity"))
    acceleration = vector_noise(imu.inside("linear_acceleration"))
    older = imu.inside("noise")
    if older is not None:
        gyro, acceleration = same_noise(older, "rate"), same_noise(older, "accel")
    axes = imu.inside("orientation_reference_frame", "localization")
    if axes is not None and axes.element.text not in ("ENU", "CUSTOM", ""):
        message = f"orientations are those in the world (ENU), not {axes.element.text}"
        axes.warn("not-used", message)
    return Imu(
        **common,
        angular_velocity_noise=gyro,
        acceleration_noise=acceleration,
        sample_rate=sensor.number("update_rate", default=0.0),
    )


def _force(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Device:
    """Return a force sensor: as in Gazebo its torque is about the origin of the joint."""
    del kind
    wrench = sensor.inside("force_torque") or sensor
    direction = _choice(wrench, "measure_direction", ("child_to_parent", "parent_to_child"))
    frame = WrenchFrame(_choice(wrench, "frame", ("child", "parent", "sensor")))
    X_LS: Pose = common["X_LS"]
    if frame is WrenchFrame.CHILD and np.array_equal(X_LS.matrix(), np.eye(4)):
        frame = WrenchFrame.SENSOR  # the same, and the device has a frame of its own
    if frame is WrenchFrame.SENSOR:
        X_LS = Pose(X_LS.R)
    return ForceSensor(
        **{**common, "X_LS": X_LS},
        frame=frame,
        on_link=direction == "parent_to_child",
        force_noise=vector_noise(wrench.inside("force")),
        torque_noise=vector_noise(wrench.inside("torque")),
        sample_rate=sensor.number("update_rate", default=0.0),
    )


def _choice(reader: SdfReader, tag: str, choices: tuple[str, ...]) -> str:
    """Return one of several words; the first is the default."""
    found = reader.inside(tag)
    if found is None or found.element.text in choices:
        return choices[0] if found is None else found.element.text
    listed = " or ".join(choices)
    found.warn("not-used", f"<{tag}> must be {listed}; it is taken as {choices[0]}")
    return choices[0]


def _camera(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Device:
    return read_camera(sensor, kind, {**common, "X_LS": _device_pose(common["X_LS"])})


def _scanner(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Device:
    del kind
    rays = sensor.inside("lidar") or sensor.inside("ray") or sensor
    yaw_min, yaw_range, yaw_step = _yaws(rays)
    pitch_min, pitch_range, pitch_step = _angles(rays, "vertical")
    noise = steady_noise(rays.inside("noise"))
    return RangeSensor(
        **{**common, "X_LS": _device_pose(common["X_LS"])},
        yaw_range=yaw_range,
        yaw_step=yaw_step,
        yaw_min=yaw_min,
        pitch_range=pitch_range,
        pitch_step=pitch_step,
        pitch_min=pitch_min,
        min_distance=rays.number("range", "min", default=0.0),
        max_distance=rays.number("range", "max", default=inf, allow_infinite=True),
        scan_rate=sensor.number("update_rate", default=10.0) or 10.0,
        error_deviation=noise.stdev,
        error_mean=noise.mean,
        error_mean_deviation=noise.mean_stdev,
    )


def _yaws(rays: SdfReader) -> tuple[float | None, float, float]:
    """Return the first yaw of a scan, their range and the step between them, in [rad].

    A circle from -pi that does not close is that of a RangeSensor without a first yaw.
    """
    low, extent, step = _angles(rays, "horizontal")
    if isclose(low, -pi, rel_tol=_TOLERANCE) and isclose(
        extent + step, 2.0 * pi, rel_tol=_TOLERANCE
    ):
        return None, 2.0 * pi, step
    return low, extent, step


def _angles(rays: SdfReader, which: str) -> tuple[float, float, float]:
    """Return the first angle of a scan, their range and the step between them, in [rad].

    As in Gazebo both limits are angles, also those of a full circle.
    """
    scan = rays.inside("scan", which)
    if scan is None:
        return 0.0, 0.0, _ONE_DEGREE
    count = scan.positive_integer("samples", default=640 if which == "horizontal" else 1)
    resolution = scan.number("resolution", default=1.0)
    count = max(1, int(count * resolution)) if 0.0 < resolution < 1e6 else count
    low = scan.number("min_angle", default=0.0)
    high = scan.number("max_angle", default=0.0)
    if low > high:
        message = f"min_angle {low:g} is greater than max_angle {high:g}; only the former is used"
        scan.warn("not-used", message)
    if count == 1 or low >= high:
        return low, 0.0, _ONE_DEGREE
    return low, high - low, (high - low) / (count - 1)


def _device_pose(X_LG: Pose) -> Pose:
    """Return X_LS of a device that looks in the direction of Gazebo's sensor frame G."""
    return X_LG @ X_S_SCAN.inverse()


def _plain(element: Element) -> dict[str, Any]:
    """Return the contents of a sensor by tag; for equal tags the last."""
    return {
        child.tag: _plain(child) if child.children else child.text for child in element.children
    }


_READERS: dict[str, Callable[[SdfReader, str, dict[str, Any]], Device]] = {
    "imu": _imu,
    "force_torque": _force,
    **dict.fromkeys(("lidar", "gpu_lidar", "ray", "gpu_ray"), _scanner),
    **dict.fromkeys(("camera", "depth", "depth_camera", "rgbd", "rgbd_camera"), _camera),
    **dict.fromkeys(WIDE_ANGLE, _camera),
}
