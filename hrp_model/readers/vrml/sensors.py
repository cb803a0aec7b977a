"""Read devices from OpenHRP's sensor nodes and VRML97's lights."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from ...devices import (
    AccelerationSensor,
    Camera,
    Device,
    DirectionalLight,
    ForceSensor,
    GenericDevice,
    ImageType,
    PhotoInterrupter,
    PointLight,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
    TorqueSensor,
)
from ...diagnostics import Diagnostics, did_you_mean_or_all
from ...rigid import Array, Pose, unit_vector
from .fields import Fields
from .nodes import Node

_ID_FIELDS = ("deviceId", "sensorId")
_IMAGE_TYPES = {image_type.value.upper(): image_type for image_type in ImageType}


class DeviceReader:
    """Reads device nodes."""

    def __init__(self, diagnostics: Diagnostics, fields: Fields) -> None:
        self._diagnostics = diagnostics
        self._fields = fields
        self._unnamed = 0

    def device(self, node: Node, link: str, X_LS: Pose) -> Device:
        """Return the device of a node; a type not in ``DEVICES`` gives a GenericDevice."""
        reader = DEVICES.get(node.type_name) or LIGHTS.get(node.type_name)
        if reader is None and node.type.is_known:
            message = f"device type '{node.type_name}' is unknown; it becomes a generic device"
            self._diagnostics.warn("unknown-device", message, node.span)
        common: dict[str, Any] = {
            "name": node.name or self._default_name(node),
            "link": link,
            "X_LS": X_LS,
            "id": self._id(node),
            "info": written_values(node, ("children", "translation", "rotation")),
            "at": node.span,
        }
        return (reader or DeviceReader._generic)(self, node, common)

    def _id(self, node: Node) -> int | None:
        """Return the id of a device, from the first field that has one."""
        for name in (*_ID_FIELDS, "id"):
            if name in node.type.fields or name in node.values:
                number = self._fields.integer(node, name)
                if number >= 0:
                    return number
        return None

    def _default_name(self, node: Node) -> str:
        self._unnamed += 1
        name = f"{node.type_name}{self._unnamed}"
        if node.type_name not in LIGHTS:  # lights need no name
            message = f"a {node.type_name} has no DEF name; it is named '{name}'"
            self._diagnostics.warn("unnamed-device", message, node.span)
        return name

    def _limit(self, node: Node, name: str) -> Array:
        """Return a limit per axis; a negative number, OpenHRP's default, means no limit."""
        limit = self._fields.vector(node, name)
        return np.where(limit < 0.0, inf, limit)

    def _acceleration_sensor(self, node: Node, common: dict[str, Any]) -> Device:
        return AccelerationSensor(**common, max_acceleration=self._limit(node, "maxAcceleration"))

    def _gyro(self, node: Node, common: dict[str, Any]) -> Device:
        limit = self._limit(node, "maxAngularVelocity")
        return RateGyroSensor(**common, max_angular_velocity=limit)

    def _force_sensor(self, node: Node, common: dict[str, Any]) -> Device:
        return ForceSensor(
            **common,
            max_force=self._limit(node, "maxForce"),
            max_torque=self._limit(node, "maxTorque"),
        )

    def _vision_sensor(self, node: Node, common: dict[str, Any]) -> Device:
        word = self._fields.text(node, "type")
        image_type = _IMAGE_TYPES.get(word.upper())
        if image_type is None:
            hint = did_you_mean_or_all(word.upper(), _IMAGE_TYPES)
            message = f"VisionSensor type '{word}' is unknown; it delivers no image.{hint}"
            self._diagnostics.warn("unknown-image-type", message, node.at("type"))
            image_type = ImageType.NONE
        # The format does not specify the range of depths; these are Choreonoid's defaults.
        nearest, farthest = (0.1, 10.0) if image_type.has_depth else (0.0, inf)
        return Camera(
            **common,
            on=self._fields.flag(node, "on"),
            image_type=image_type,
            width=self._fields.integer(node, "width"),
            height=self._fields.integer(node, "height"),
            field_of_view=self._fields.number(node, "fieldOfView"),
            near_clip=self._fields.number(node, "frontClipDistance"),
            far_clip=self._fields.number(node, "backClipDistance"),
            frame_rate=self._fields.number(node, "frameRate"),
            min_distance=nearest,
            max_distance=farthest,
        )

    def _range_sensor(self, node: Node, common: dict[str, Any]) -> Device:
        return RangeSensor(
            **common,
            on=self._fields.flag(node, "on"),
            yaw_range=self._fields.number(node, "scanAngle"),
            yaw_step=self._fields.number(node, "scanStep"),
            scan_rate=self._fields.number(node, "scanRate"),
            min_distance=self._fields.number(node, "minDistance"),
            max_distance=self._fields.number(node, "maxDistance"),
        )

    def _spot_light_device(self, node: Node, common: dict[str, Any]) -> Device:
        exponent = self._fields.number(node, "cutOffExponent")
        return SpotLight(**common, **self._cone(node), cut_off_exponent=exponent)

    def _spot_light(self, node: Node, common: dict[str, Any]) -> Device:
        return SpotLight(**common, **self._cone(node), **self._reach(node))

    def _point_light(self, node: Node, common: dict[str, Any]) -> Device:
        return PointLight(
            **common,
            **self._emission(node),
            **self._reach(node),
            attenuation=tuple(self._fields.vector(node, "attenuation").tolist()),
        )

    def _directional_light(self, node: Node, common: dict[str, Any]) -> Device:
        return DirectionalLight(
            **common,
            **self._emission(node),
            ambient_intensity=self._fields.number(node, "ambientIntensity"),
            direction=self._direction(node),
        )

    def _emission(self, node: Node) -> dict[str, Any]:
        """Return the arguments that all lights have."""
        fields = self._fields
        return {
            "on": fields.flag(node, "on"),
            "color": tuple(fields.vector(node, "color").tolist()),
            "intensity": fields.number(node, "intensity"),
        }

    def _cone(self, node: Node) -> dict[str, Any]:
        """Return the arguments that all spot lights have."""
        return self._emission(node) | {
            "attenuation": tuple(self._fields.vector(node, "attenuation").tolist()),
            "direction": self._direction(node),
            "beam_width": self._fields.number(node, "beamWidth"),
            "cut_off_angle": self._fields.number(node, "cutOffAngle"),
        }

    def _reach(self, node: Node) -> dict[str, Any]:
        """Return the arguments of VRML97's point and spot lights."""
        return {
            "ambient_intensity": self._fields.number(node, "ambientIntensity"),
            "radius": self._fields.number(node, "radius"),
        }

    def _direction(self, node: Node) -> Array:
        """Return the direction of a light, shape (3,)."""
        direction = unit_vector(self._fields.vector(node, "direction"))
        if direction is not None:
            return direction
        message = "the direction has length zero; 0 0 -1 is used"
        self._diagnostics.warn("zero-axis", message, node.at("direction"))
        return np.array([0.0, 0.0, -1.0])

    def _torque_sensor(self, node: Node, common: dict[str, Any]) -> Device:
        del node
        return TorqueSensor(**common)

    def _photo_interrupter(self, node: Node, common: dict[str, Any]) -> Device:
        return PhotoInterrupter(
            **common,
            transmitter=self._fields.vector(node, "transmitter"),
            receiver=self._fields.vector(node, "receiver"),
        )

    def _generic(self, node: Node, common: dict[str, Any]) -> Device:
        return GenericDevice(**common, type_name=node.type_name)


DEVICES: dict[str, Callable[[DeviceReader, Node, dict[str, Any]], Device]] = {
    "AccelerationSensor": DeviceReader._acceleration_sensor,
    "Gyro": DeviceReader._gyro,
    "GyroSensor": DeviceReader._gyro,
    "ForceSensor": DeviceReader._force_sensor,
    "VisionSensor": DeviceReader._vision_sensor,
    "RangeSensor": DeviceReader._range_sensor,
    "SpotLightDevice": DeviceReader._spot_light_device,
    "PressureSensor": DeviceReader._generic,
    "TorqueSensor": DeviceReader._torque_sensor,
    "PhotoInterrupter": DeviceReader._photo_interrupter,
    "HardwareComponent": DeviceReader._generic,
}

# Lights of VRML97, which are devices of the link that contains them.
LIGHTS: dict[str, Callable[[DeviceReader, Node, dict[str, Any]], Device]] = {
    "DirectionalLight": DeviceReader._directional_light,
    "PointLight": DeviceReader._point_light,
    "SpotLight": DeviceReader._spot_light,
}


def is_device(node: Node) -> bool:
    """Whether a node is a device: its type is known as one, or it has the id field of one."""
    if node.type_name in DEVICES:
        return True
    return any(name in node.type.fields or name in node.values for name in _ID_FIELDS)


def written_values(node: Node, known: tuple[str, ...]) -> dict[str, object]:
    """Return the plain values written in a node, except those of ``known`` fields."""
    plain: dict[str, object] = {}
    for name, value in node.values.items():
        if name in known:
            continue
        if isinstance(value, np.ndarray):
            plain[name] = value.tolist()
        elif isinstance(value, bool | int | float | str):
            plain[name] = value
        elif isinstance(value, tuple) and all(isinstance(v, float | int | str) for v in value):
            plain[name] = list(value)
    return plain
