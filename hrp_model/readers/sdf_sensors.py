"""Read devices from sensors of SDF, also in <gazebo> blocks of URDF.

The inverse of ``urdf.gazebo_blocks``. Contents that are not read are reported.

Gazebo's cameras and scanners look along +X of the sensor, with +Z up; those of a Body look along
-Z, with +Y up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf, isclose, pi
from typing import Any, TypeAlias

import numpy as np

from ..devices import Device, ForceSensor, GenericDevice, Imu, RangeSensor, WrenchFrame
from ..frames import X_S_SCAN
from ..rigid import Pose
from .sdf_cameras import WIDE_ANGLE, read_camera
from .sdf_values import SdfReader, same_noise, steady_noise, vector_noise
from .xml_tree import Element

# Elements by tag, with those inside of them; the contents of an empty one are not looked at.
_Contents: TypeAlias = Mapping[str, "_Contents"]
_TOLERANCE = 1e-9  # of angles
_ONE_DEGREE = pi / 180.0  # the step of a scan with a single ray


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
