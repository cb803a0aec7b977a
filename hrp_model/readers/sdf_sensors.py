"""Read devices from sensors of SDF, also in <gazebo> blocks of URDF.

The inverse of ``urdf.blocks.gazebo_sensors``.

Gazebo's cameras and scanners look along +X of the sensor, with +Z up; those of a Body look along
-Z, with +Y up.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isclose, pi
from typing import Any

import numpy as np

from ..devices import Device, ForceSensor, GenericDevice, Imu, RangeSensor, WrenchFrame
from ..frames import X_S_SCAN
from ..rigid import Pose
from .sdf_cameras import WIDE_ANGLE, read_camera
from .sdf_contents import report_unused
from .sdf_noise import same_noise, steady_noise, vector_noise
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
