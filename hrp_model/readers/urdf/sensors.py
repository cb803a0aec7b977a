"""Sensors of <gazebo> blocks to devices: the way back of what ``urdf.gazebo_sensors`` writes.

Gazebo's cameras and scanners look along +X of the sensor, with +Z up; those of a body along -Z,
with +Y up.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan, inf, isclose, pi, tan
from typing import Any

from ...devices import Camera, Device, ForceSensor, GenericDevice, ImageType, Imu, RangeSensor
from ...frames import X_S_SCAN
from ...rigid import Pose, axis_angle_matrix
from .sdf import SdfReader
from .xml_tree import Element

_SAME = 1e-9  # relative to a step of angles, or to an angle
_ONE_DEGREE = pi / 180.0  # the step of what has one ray
_AXIS_Y = (0.0, 1.0, 0.0)


def read_sensor(sensor: SdfReader, name: str, link: str) -> Device:
    """Return a device of a sensor at its pose in a link.

    A sensor of a kind that is not known here is a ``GenericDevice``.
    """
    kind = sensor.element.attributes.get("type", "")
    common: dict[str, Any] = {
        "name": name,
        "link": link,
        "X_LS": sensor.pose("pose", link=link),
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
    """Return a force sensor: it tells what its link exerts on the parent, in its own axes."""
    del kind
    direction = sensor.inside("force_torque", "measure_direction")
    if direction is not None and direction.element.text != "child_to_parent":
        direction.warn("not-used", "forces are told as those of the child on its parent")
    frame = sensor.inside("force_torque", "frame")
    if frame is not None and frame.element.text == "parent":
        frame.warn("not-used", "forces are told in the frame of the sensor")
    return ForceSensor(**common)


def _camera(sensor: SdfReader, kind: str, common: dict[str, Any]) -> Device:
    lens = sensor.inside("camera") or sensor
    width = lens.positive_integer("image", "width", default=320)
    height = lens.positive_integer("image", "height", default=240)
    near = lens.number("clip", "near", default=0.1)
    far = lens.number("clip", "far", default=100.0)
    # Unless they are narrower, the depths are those of the picture.
    nearest = lens.number("depth_camera", "clip", "near", default=near)
    farthest = lens.number("depth_camera", "clip", "far", default=far)
    across = lens.number("horizontal_fov", default=1.047)
    angle = across  # of what cannot be, the number that is written
    if 0.0 < across < pi:
        angle = 2.0 * atan(min(width, height) / width * tan(across / 2.0))
    return Camera(
        **{**common, "X_LS": _looking_back(common["X_LS"])},
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
    yaw_range, yaw_step, middle = _yaws(rays)
    pitch_range, pitch_step = _pitches(rays)
    X_LS = _looking_back(common["X_LS"])
    if middle:
        X_LS = X_LS @ Pose(axis_angle_matrix(_AXIS_Y, middle))
    return RangeSensor(
        **{**common, "X_LS": X_LS},
        yaw_range=yaw_range,
        yaw_step=yaw_step,
        pitch_range=pitch_range,
        pitch_step=pitch_step,
        min_distance=rays.number("range", "min", default=0.0),
        max_distance=rays.number("range", "max", default=inf, allow_infinite=True),
        scan_rate=sensor.number("update_rate", default=10.0) or 10.0,
        error_deviation=rays.number("noise", "stddev", default=0.0),
    )


def _yaws(rays: SdfReader) -> tuple[float, float, float]:
    """Return the range, the step and the middle of a scan, in [rad].

    Rays are the multiples of the step from the middle on. Of an even number of rays there is
    none in the middle: so it is beside it where they go all around, else one ray is left out.
    """
    count, low, high = _angles(rays, "horizontal")
    if count == 1:
        return 0.0, _ONE_DEGREE, low
    step = (high - low) / (count - 1)
    if count % 2 == 0 and isclose(count * step, 2.0 * pi, rel_tol=_SAME):
        return 2.0 * pi, step, _rounded(low + count // 2 * step, step)
    return high - low, step, _rounded((low + high) / 2.0, step)


def _pitches(rays: SdfReader) -> tuple[float, float]:
    """Return the range and the step between the layers of a scan, in [rad]."""
    vertical = rays.inside("scan", "vertical")
    if vertical is None:
        return 0.0, _ONE_DEGREE
    count, low, high = _angles(rays, "vertical")
    step = (high - low) / (count - 1) if count > 1 else _ONE_DEGREE
    extent = high - low
    if abs(low + high) > _SAME * step:
        message = "the layers of a scan lie as far below its middle as above; these are made so"
        vertical.warn("lopsided-scan", message)
        extent = 2.0 * max(abs(low), abs(high))
    return (extent if count > 1 else 0.0), step


def _angles(rays: SdfReader, which: str) -> tuple[int, float, float]:
    """Return how many angles there are, the least and the greatest."""
    scan = rays.inside("scan", which)
    if scan is None:
        return 1, 0.0, 0.0
    count = scan.positive_integer("samples", default=640 if which == "horizontal" else 1)
    resolution = scan.number("resolution", default=1.0)
    count = max(1, round(count * resolution)) if 0.0 < resolution < 1e6 else count
    low = scan.number("min_angle", default=0.0)
    high = scan.number("max_angle", default=0.0)
    if low > high:
        message = f"the angles of a scan do not go from {low:g} to {high:g}; only the first is used"
        scan.warn("not-used", message)
    return (count, low, high) if low < high else (1, low, low)


def _rounded(middle: float, step: float) -> float:
    return middle if abs(middle) > _SAME * step else 0.0


def _looking_back(X_LG: Pose) -> Pose:
    """Return the frame S of a device that looks where Gazebo's sensor does."""
    return X_LG @ X_S_SCAN.inverse()


def _plain(element: Element) -> dict[str, Any]:
    """Return what a sensor says, by name; of equal names the last."""
    return {
        child.tag: _plain(child) if child.children else child.text for child in element.children
    }


_READERS: dict[str, Callable[[SdfReader, str, dict[str, Any]], Device]] = {
    "imu": _imu,
    "force_torque": _force,
    **dict.fromkeys(("lidar", "gpu_lidar", "ray", "gpu_ray"), _scanner),
    **dict.fromkeys(("camera", "depth", "depth_camera", "rgbd", "rgbd_camera"), _camera),
}
