"""Read joints, masses, devices and lights from OpenHRP's nodes and VRML97's lights."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, inf
from typing import Any

import numpy as np

from ...body import ExtraJoint, ExtraJointType, Joint, JointType, Range
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
from ...diagnostics import Diagnostics, did_you_mean, did_you_mean_or_all, number_text
from ...inertia import MassProperties, describe_asymmetry, is_symmetric, symmetric, tensor
from ...rigid import Array, Pose, axis_by_name, unit_vector
from .fields import Fields
from .nodes import Node

_JOINT_TYPES = {
    "fixed": JointType.FIXED,
    "free": JointType.FREE,
    "rotate": JointType.REVOLUTE,
    "slide": JointType.PRISMATIC,
    "crawler": JointType.TRACK,  # OpenHRP's name
    "pseudoContinuousTrack": JointType.TRACK,  # Choreonoid's name
    "revolute": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
}
_EXTRA_JOINT_TYPES = {"xyz": ExtraJointType.BALL, **{x.value: x for x in ExtraJointType}}
_WITHOUT_AXIS = (ExtraJointType.BALL, ExtraJointType.FIXED)
_AXIS_X = np.array([1.0, 0.0, 0.0])
_AXIS_Z = np.array([0.0, 0.0, 1.0])


class JointReader:
    """Reads joints from Joint nodes, and masses from Segment nodes."""

    def __init__(self, diagnostics: Diagnostics, fields: Fields) -> None:
        self._diagnostics = diagnostics
        self._fields = fields

    def joint(self, node: Node, name: str, is_root: bool) -> Joint:
        """Return the joint of a Joint node. Angles in VRML are in [rad].

        ``jointValue`` is not used as initial position: no loader but OpenHRP's reads it.
        """
        fields = self._fields
        joint_type = self._type(node, name, is_root)
        joint_id = fields.integer(node, "jointId")
        gear_ratio = fields.number(node, "gearRatio")
        rotor_inertia = fields.number(node, "rotorInertia")
        torque_const = fields.number(node, "torqueConst")
        encoder_pulse = fields.number(node, "encoderPulse")
        # In older files this field is gear ratio squared times rotor inertia.
        equivalent = fields.number(node, "equivalentInertia")
        return Joint(
            type=joint_type,
            name=name,
            id=joint_id if joint_id >= 0 else None,
            axis=self._axis(node, joint_type not in (JointType.FIXED, JointType.FREE), _AXIS_Z),
            position=self._range(node, "llimit", "ulimit"),
            velocity=self._range(node, "lvlimit", "uvlimit"),
            effort=self._effort(node, abs(gear_ratio) * torque_const * self._efficiency(node)),
            equivalent_rotor_inertia=equivalent or gear_ratio * gear_ratio * rotor_inertia,
            gear_ratio=gear_ratio,
            rotor_inertia=rotor_inertia,
            torque_const=torque_const,
            # 1 is the default of the field, and 0 is used for "no encoder".
            encoder_pulse=None if encoder_pulse in (0.0, 1.0) else encoder_pulse,
        )

    def mass(self, node: Node) -> MassProperties:
        """Return the mass properties of a Segment, in its own frame."""
        return MassProperties(
            self._fields.number(node, "mass"),
            self._fields.vector(node, "centerOfMass"),
            self._inertia(node),
        )

    def extra_joint(self, node: Node, links: frozenset[str]) -> ExtraJoint | None:
        """Return the constraint of an ExtraJoint node between two of the links, or None."""
        fields = self._fields
        ends = fields.text(node, "link1Name"), fields.text(node, "link2Name")
        for field_name, end in zip(("link1Name", "link2Name"), ends, strict=True):
            if end not in links:
                message = f"there is no link '{end}'.{did_you_mean(end, links)}"
                self._diagnostics.error("unknown-link", message, node.at(field_name))
        word = fields.text(node, "jointType")
        kind = _EXTRA_JOINT_TYPES.get(word)
        if kind is None:
            hint = did_you_mean_or_all(word, _EXTRA_JOINT_TYPES)
            message = f"'{word}' is not a type of an ExtraJoint.{hint}"
            self._diagnostics.error("unknown-joint-type", message, node.at("jointType"))
        if kind is None or not links.issuperset(ends):
            return None
        return ExtraJoint(
            type=kind,
            links=ends,
            X_AJ=Pose(p=fields.vector(node, "link1LocalPos")),
            X_BJ=Pose(p=fields.vector(node, "link2LocalPos")),
            axis=self._axis(node, kind not in _WITHOUT_AXIS, _AXIS_X),
            name=node.name,
        )

    def _type(self, node: Node, name: str, is_root: bool) -> JointType:
        word = self._fields.text(node, "jointType")
        if word == "free" and not is_root:
            message = f"joint '{name}' is free but not the root: its link is not connected"
            self._diagnostics.warn("inner-free-joint", message, node.at("jointType"))
        if word in _JOINT_TYPES:
            return _JOINT_TYPES[word]
        fallback = JointType.FREE if is_root else JointType.FIXED
        if word:
            hint = did_you_mean_or_all(word, _JOINT_TYPES)
            message = (
                f"joint '{name}' has unknown jointType '{word}'; it is treated as "
                f"{fallback.value}.{hint}"
            )
            self._diagnostics.warn("unknown-joint-type", message, node.at("jointType"))
        else:
            message = f"joint '{name}' has no jointType; it is treated as {fallback.value}"
            self._diagnostics.warn("missing-joint-type", message, node.span)
        return fallback

    def _axis(self, node: Node, matters: bool, default: Array) -> Array:
        """Return the axis: three numbers or a letter, depending on the type of the field.

        Problems are only reported if the axis ``matters`` for the motion.
        """
        written = node.get("jointAxis")
        if isinstance(written, str):
            unit = axis_by_name(written)
            if unit is None and matters:
                message = f"jointAxis '{written}' is not an axis; it may be X, Y, Z or a vector"
                self._diagnostics.error("unknown-axis", message, node.at("jointAxis"))
            return default if unit is None else unit
        axis = self._fields.vector(node, "jointAxis")
        unit = unit_vector(axis)
        if not matters:
            return default if unit is None else unit
        if unit is None:
            message = "the axis has length zero"
            self._diagnostics.error("zero-axis", message, node.at("jointAxis"))
            return default
        # Tolerates rounded decimals; "1 1 0" may be a mistake.
        length = hypot(*axis)
        if abs(length - 1.0) > 1e-3:
            message = f"the axis has length {length:g}; only its direction is used"
            self._diagnostics.warn("axis-not-unit", message, node.at("jointAxis"))
        return unit

    def _range(self, node: Node, lower: str, upper: str) -> Range:
        """Return a pair of limits. OpenHRP writes them as lists; an empty list means no limit."""
        low, high = self._fields.first(node, lower), self._fields.first(node, upper)
        return Range(-inf if low is None else low, inf if high is None else high)

    def _efficiency(self, node: Node) -> float:
        """Return the efficiency of the gear: the share of the motor's effort at the joint."""
        efficiency = self._fields.number(node, "gearEfficiency")
        if 0.0 < efficiency <= 1.0:
            return efficiency
        shown = number_text(efficiency, 6, bound=1.0)
        message = f"gearEfficiency must be above 0 and at most 1, not {shown}; 1 is used"
        self._diagnostics.warn("bad-efficiency", message, node.at("gearEfficiency"))
        return 1.0

    def _effort(self, node: Node, effort_per_ampere: float) -> Range:
        """Return the effort range that follows from the motor's current limit in [A]."""
        current = self._fields.first(node, "climit")
        if current is None or not np.isfinite(current * effort_per_ampere):
            return Range()
        limit = abs(current * effort_per_ampere)
        return Range(-limit, limit)

    def _inertia(self, node: Node) -> Array:
        """Return momentsOfInertia, row by row about the center of mass, shape (3, 3)."""
        numbers = self._fields.numbers(node, "momentsOfInertia")
        at = node.at("momentsOfInertia")
        if not len(numbers):
            return np.zeros((3, 3))
        if not np.isfinite(numbers).all():
            message = "momentsOfInertia must be finite numbers"
            self._diagnostics.error("not-finite", message, at)
            return np.zeros((3, 3))
        matrix = tensor(numbers)
        if matrix is None:
            message = f"momentsOfInertia needs 9 numbers, row by row; there are {len(numbers)}"
            self._diagnostics.error("bad-inertia", message, at)
            return np.zeros((3, 3))
        if len(numbers) == 6:
            message = "6 moments of inertia are read as xx xy xz yy yz zz"
            self._diagnostics.warn("short-inertia", message, at)
        if not is_symmetric(matrix):
            problem = describe_asymmetry(matrix, "write all 9 numbers")
            message = f"momentsOfInertia {problem}"
            self._diagnostics.warn("asymmetric-inertia", message, at)
        return symmetric(matrix)


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
