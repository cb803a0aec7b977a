"""Read devices from sensors of SDF, also in <gazebo> blocks of URDF.

The inverse of ``urdf.blocks.gazebo_sensors``.

Gazebo's cameras and scanners look along +X of the sensor, with +Z up; those of a Body look along
-Z, with +Y up.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan, inf, isclose, pi, tan
from typing import Any

from ..devices import Camera, Device, ForceSensor, GenericDevice, ImageType, Imu, RangeSensor
from ..frames import X_S_SCAN
from ..rigid import Pose
from .sdf_values import SdfReader
from .xml_tree import Element

_TOLERANCE = 1e-9  # of angles
_ONE_DEGREE = pi / 180.0  # the step of a scan with a single ray


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
    return reader(sensor, kind, common)


def _imu(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Device:
    del sensor, kind
    return Imu(**common)


def _force(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Device:
    """Return a force sensor, which measures the wrench of its link on the parent, in S."""
    del kind
    direction = sensor.inside("force_torque", "measure_direction")
    if direction is not None and direction.element.text != "child_to_parent":
        message = "measure_direction is ignored: forces are those of the child on its parent"
        direction.warn("not-used", message)
    frame = sensor.inside("force_torque", "frame")
    if frame is not None and frame.element.text == "parent":
        message = "frame is ignored: forces are expressed in the sensor frame"
        frame.warn("not-used", message)
    return ForceSensor(**common)


def _camera(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Device:
    lens = sensor.inside("camera") or sensor
    width = lens.positive_integer("image", "width", default=320)
    height = lens.positive_integer("image", "height", default=240)
    near = lens.number("clip", "near", default=0.1)
    far = lens.number("clip", "far", default=100.0)
    # Without narrower limits, depths have the clip distances of the image.
    nearest = lens.number("depth_camera", "clip", "near", default=near)
    farthest = lens.number("depth_camera", "clip", "far", default=far)
    across = lens.number("horizontal_fov", default=1.047)
    angle = across  # validation reports an impossible angle
    if 0.0 < across < pi:
        angle = 2.0 * atan(min(width, height) / width * tan(across / 2.0))
    return Camera(
        **{**common, "X_LS": _device_pose(common["X_LS"])},
        image_type=_image_type(kind, lens.text("image", "format")),
        width=width,
        height=height,
        field_of_view=angle,
        near_clip=near,
        far_clip=far,
        frame_rate=sensor.number("update_rate", default=30.0) or 30.0,
        min_distance=nearest if nearest > near else 0.0,
        max_distance=farthest if farthest < far else inf,
    )


def _image_type(kind: str, pixels: str) -> ImageType:
    if kind in ("depth", "depth_camera"):
        return ImageType.DEPTH
    is_grey = pixels.startswith(("L8", "L16", "L_"))
    if kind in ("rgbd", "rgbd_camera"):
        return ImageType.MONO_DEPTH if is_grey else ImageType.COLOR_DEPTH
    return ImageType.MONO if is_grey else ImageType.COLOR


def _scanner(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Device:
    del kind
    rays = sensor.inside("lidar") or sensor.inside("ray") or sensor
    yaw_min, yaw_range, yaw_step = _yaws(rays)
    pitch_min, pitch_range, pitch_step = _angles(rays, "vertical")
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
        error_deviation=rays.number("noise", "stddev", default=0.0),
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
}
