"""Sensors that are attached to links, in the extensions of OpenRAVE and OpenHRP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import atan, inf, isclose, radians
from typing import Any

import numpy as np

from ...devices import (
    AccelerationSensor,
    Camera,
    Device,
    ForceSensor,
    GenericDevice,
    ImageType,
    Imu,
    RangeSensor,
    RateGyroSensor,
)
from ...diagnostics import Diagnostics, listed
from ...frames import X_S_OPTICAL, X_S_SCAN
from ...rigid import Array, Pose, axis_angle_matrix
from ..xml_tree import Element
from .elements import References, Robot, Values
from .joints import openrave_technique

_AXIS_Y = (0.0, 1.0, 0.0)
_UNLIMITED = (inf, inf, inf)
_FAR_CLIP = 10.0  # [m], as in OpenHRP
_PIXEL_TOLERANCE = 0.01  # of the ratio of the sides of pixels
# By the number of channels, and whether they are whole numbers.
_IMAGE_TYPES = {
    (1, True): ImageType.MONO,
    (1, False): ImageType.DEPTH,
    (2, False): ImageType.MONO_DEPTH,
    (3, True): ImageType.COLOR,
    (4, False): ImageType.COLOR_DEPTH,
}
# Elements of sensors that describe neither measurements nor noise.
_IGNORED = ("interface_type", "color", "hardware_id", "sensor_reference", "target_region", "target")


class DeviceReader:
    """Reads sensors."""

    def __init__(self, references: References, values: Values, diagnostics: Diagnostics) -> None:
        self._references = references
        self._values = values
        self._diagnostics = diagnostics

    def devices(self, robot: Robot, links: Mapping[Element, tuple[str, Pose]]) -> list[Device]:
        """Return the sensors of a robot.

        Args:
            robot: The robot.
            links: Name of each link, and the pose in it of the frame of its ``<link>``.
        """
        found: list[Device] = []
        for system in robot.systems:
            for extra in system.all("extra"):
                if extra.attributes.get("type") == "attach_sensor":
                    name = extra.attributes.get("name") or f"sensor{len(found)}"
                    device = self._attached(extra, name, system, links)
                    found += [] if device is None else [device]
        return found

    def _attached(
        self,
        extra: Element,
        name: str,
        system: Element,
        links: Mapping[Element, tuple[str, Pose]],
    ) -> Device | None:
        technique = openrave_technique(extra)
        origin = None if technique is None else technique.first("frame_origin")
        address = "" if origin is None else origin.attributes.get("link", "")
        link = self._references.by_address(address, system) if address else None
        if origin is None or link is None or link not in links:
            message = f"sensor '{name}' is left out: there is no link '{address}'"
            self._diagnostics.warn("unknown-link", message, extra.span)
            return None
        assert technique is not None
        sensor = self._references.by_url(technique.first("instance_sensor"))
        if sensor is None:
            message = f"sensor '{name}' is left out: its instance_sensor names no sensor"
            self._diagnostics.warn("missing-element", message, extra.span)
            return None
        link_name, X_LW = links[link]
        kind = sensor.attributes.get("type", "")
        sid = sensor.attributes.get("sid", "")
        common: dict[str, Any] = {
            "name": name,
            "link": link_name,
            "id": int(sid) if sid.isascii() and sid.isdigit() and len(sid) < 10 else None,
            "X_LS": X_LW @ self._values.pose(origin),
            "info": {child.tag: child.text for child in sensor.children},
            "at": extra.at("name"),
        }
        if kind not in _READERS:
            message = f"sensor '{name}' has the type '{kind}'; it becomes a generic device"
            self._diagnostics.warn("unknown-device", message, sensor.at("type"))
            return GenericDevice(**common, type_name=kind)
        read, used = _READERS[kind]
        unused = [x.tag for x in sensor.children if x.tag not in (*used, *_IGNORED)]
        if unused:
            tags = listed([f"<{tag}>" for tag in unused], 8)
            message = f"{tags} of sensor '{name}' are not used"
            self._diagnostics.warn("not-used", message, sensor.span)
        return read(self, sensor, common)

    def _imu(self, sensor: Element, common: dict[str, Any]) -> Device:
        """Return an accelerometer or a gyro, of which OpenHRP writes one limit; else an IMU."""
        acceleration = self._limit(sensor, "max_acceleration")
        velocity = self._limit(sensor, "max_angular_velocity")
        is_gyro = sensor.first("max_acceleration") is None
        is_accelerometer = sensor.first("max_angular_velocity") is None
        if is_gyro == is_accelerometer:
            return Imu(**common, max_acceleration=acceleration, max_angular_velocity=velocity)
        if is_gyro:
            return RateGyroSensor(**common, max_angular_velocity=velocity)
        return AccelerationSensor(**common, max_acceleration=acceleration)

    def _force(self, sensor: Element, common: dict[str, Any]) -> Device:
        return ForceSensor(
            **common,
            max_force=self._limit(sensor, "load_range_force"),
            max_torque=self._limit(sensor, "load_range_torque"),
        )

    def _camera(self, sensor: Element, common: dict[str, Any]) -> Device:
        """Return a camera; that of COLLADA looks along +Z, with +Y down."""
        width, height, channels = self._numbers(sensor, "image_dimensions", (320.0, 240.0, 3.0))
        written = sensor.first("format")
        is_whole = written is None or "float" not in written.text
        image_type = _IMAGE_TYPES.get((int(channels), is_whole))
        if image_type is None:
            message = f"images with {channels:g} channels are unknown; the camera delivers colours"
            self._diagnostics.warn("unknown-image-type", message, sensor.span)
            image_type = ImageType.COLOR
        # As in OpenHRP's models, whose format does not specify the range of depths.
        nearest, farthest = (0.1, _FAR_CLIP) if image_type.has_depth else (0.0, inf)
        return Camera(
            **{**common, "X_LS": common["X_LS"] @ X_S_OPTICAL},
            image_type=image_type,
            width=int(width),
            height=int(height),
            field_of_view=self._field_of_view(sensor, width, height),
            near_clip=self._values.number(sensor.first("focal_length"), 0.1),
            far_clip=_FAR_CLIP,
            frame_rate=self._rate(sensor),
            min_distance=nearest,
            max_distance=farthest,
        )

    def _field_of_view(self, sensor: Element, width: float, height: float) -> float:
        """Return the angle across the shorter side of the image, from the focal length along it.

        The matrix of OpenHRP has one focal length for each side, such that the angles across
        both are equal.
        """
        if sensor.first("intrinsic") is None:
            return 0.785398  # as in OpenHRP
        fx, skew, cx, _, fy, cy = self._numbers(sensor, "intrinsic", (1.0, 0, 0, 0, 1.0, 0))
        sizes = sorted(((height, fy), (width, fx)))
        size, focal_length = sizes[0]
        is_square = isclose(fx, fy, rel_tol=_PIXEL_TOLERANCE)
        has_equal_angles = isclose(fx * height, fy * width, rel_tol=_PIXEL_TOLERANCE)
        is_centered = abs(cx - width / 2.0) <= 1.0 and abs(cy - height / 2.0) <= 1.0
        if skew or not is_centered or not (is_square or has_equal_angles):
            message = "only the field of view of this matrix is used: pixels are square here, and "
            message += "the optical axis is in the centre of the image"
            self._diagnostics.warn("not-used", message, sensor.span)
        return 2.0 * atan(size / 2.0 / focal_length) if focal_length > 0.0 else 0.0

    def _scanner(self, sensor: Element, common: dict[str, Any]) -> Device:
        """Return a range sensor.

        That of OpenHRP has one angle in [rad], one distance, and the frame of a RangeSensor. That
        of OpenRAVE has the ends of both ranges, angles in [deg], looks along +X and turns about +Z.
        """
        angles = self._numbers(sensor, "angle_range", (2.0943951,))
        distances = self._numbers(sensor, "distance_range", (10.0,))
        step = self._values.number(sensor.first("angle_increment"), 0.0)
        X_LS, yaw_range = common["X_LS"], angles[0]
        if len(angles) == 2:
            low, high = map(radians, angles)
            yaw_range, step = high - low, radians(step)
            middle = Pose(axis_angle_matrix(_AXIS_Y, (low + high) / 2.0))
            X_LS = X_LS @ X_S_SCAN.inverse() @ middle
        return RangeSensor(
            **{**common, "X_LS": X_LS},
            yaw_range=yaw_range,
            yaw_step=step or radians(1.0),
            min_distance=distances[0] if len(distances) == 2 else 0.1,
            max_distance=distances[-1],
            scan_rate=self._rate(sensor, default=10.0),
        )

    def _rate(self, sensor: Element, default: float = 30.0) -> float:
        time = self._values.number(sensor.first("measurement_time"), 0.0)
        return 1.0 / time if time > 0.0 else default

    def _limit(self, sensor: Element, name: str) -> Array:
        """Return a limit per axis; a negative number means none."""
        limit = np.array(self._numbers(sensor, name, _UNLIMITED))
        return np.where(limit < 0.0, inf, limit)

    def _numbers(self, sensor: Element, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Return the numbers of an element; one number may also be the two ends of a range."""
        written = sensor.first(name)
        if written is None:
            return default
        counts = (1, 2) if len(default) == 1 else (len(default),)
        return tuple(self._values.numbers(written, *counts)) or default


_Read = Callable[[DeviceReader, Element, dict[str, Any]], Device]
_SCANNER: tuple[_Read, tuple[str, ...]] = (
    DeviceReader._scanner,
    ("angle_range", "angle_increment", "measurement_time", "distance_range"),
)
# The readers by type of sensor, and the elements that they use.
_READERS: dict[str, tuple[_Read, tuple[str, ...]]] = {
    "base_imu": (DeviceReader._imu, ("max_acceleration", "max_angular_velocity")),
    "base_force6d": (DeviceReader._force, ("load_range_force", "load_range_torque")),
    "base_pinhole_camera": (
        DeviceReader._camera,
        ("image_dimensions", "format", "measurement_time", "intrinsic", "focal_length"),
    ),
    "base_laser1d": _SCANNER,
    "base_laser2d": _SCANNER,
}
