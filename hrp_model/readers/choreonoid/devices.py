"""Read devices from device nodes, by tables from type names to readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from inspect import get_annotations
from math import inf, pi
from typing import Any, TypedDict

import numpy as np

from ... import devices
from ...devices import (
    AccelerationSensor,
    Attachment,
    Camera,
    Conveyor,
    Device,
    DirectionalLight,
    ForceSensor,
    GenericDevice,
    HoldCondition,
    Holder,
    ImageType,
    Imu,
    LensType,
    PointLight,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
)
from ...diagnostics import Span
from ...late_dataclass import dataclass
from ...rigid import Array, Pose, axis_angle_matrix, unit_vector
from ..yaml.tree import Mapping, Scalar
from .scope import COMMON, Placement, Scope, flag, lenient_choice, rotation, word_set

# Types that only other programs use; their keys are kept as ``info``.
GENERIC = word_set(
    """
    MarkerDevice DigitalIO ZmpDevice RotorDevice Thruster Rotor
    WingDevice LivoxMid360 CompetitorMarker PassiveMarker SmokeDevice FireDevice FountainDevice
    RainDevice SnowDevice NoisyCamera AGXBreakableJointDevice AGXWireDevice
    AGXMagneticJointDevice AGXVehicleContinuousTrackDevice PxContinuousTrack DoseMeter
    GammaCamera ComptonCamera PinholeCamera
    """
)
_IMAGES = {
    name: ImageType[name]
    for name in ("COLOR", "DEPTH", "COLOR_DEPTH", "POINT_CLOUD", "COLOR_POINT_CLOUD")
}
_LENSES = {lens.name: lens for lens in LensType}
_CONDITIONS = {condition.value: condition for condition in HoldCondition}
_CONVEYORS = {"linear": False, "rotary": True}
# Rotations from the axes of the model (-Z forward, +Y up) to those of the file.
_OPTICAL_FRAMES: dict[str, Array] = {
    "gl": np.eye(3),
    "cv": np.diag([1.0, -1.0, -1.0]),
    "robotics": np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
}

# Noise, blur and distortion, for plugins of Choreonoid's simulator.
_CAMERA_PLUGIN_KEYS = word_set(
    """
    apply_camera_effect hsv rgb std_dev salt_amount salt_chance pepper_amount pepper_chance
    coef_b coef_d mosaic_chance kernel
    """
)


class _Common(TypedDict):
    """Arguments that every device has."""

    name: str
    id: int | None
    link: str
    X_LS: Pose
    on: bool
    info: dict[str, Any]
    at: Span


@dataclass(frozen=True)
class DeviceNode:
    """A device node of a link, not yet read.

    Attributes:
        type_name: Its type in the file.
        mapping: The node.
        place: Placement of the device in its link, including its own translation and rotation.
    """

    type_name: str
    mapping: Mapping
    place: Placement


def read_device(node: DeviceNode, scope: Scope, link: str, number: int) -> Device:
    """Read a device node on a link.

    Args:
        node: The device.
        scope: Its file.
        link: Name of the link.
        number: Index of the device in the file, for the name of an unnamed device.
    """
    mapping = node.mapping
    device_id = mapping.integer("id", default=-1)
    skip = ("elements", "type")
    info = {k: v.plain_value() for k, (_, v) in mapping.entries().items() if k not in skip}
    common = _Common(
        name=mapping.text("name", default="") or f"{node.type_name}{number}",
        id=device_id if device_id >= 0 else None,
        link=link,
        X_LS=node.place.pose,
        on=flag(mapping, "on", default=node.type_name != "Holder"),
        info=info,
        at=mapping.span,
    )
    reader = READERS.get(node.type_name) or NUMBER_FIELD_READERS.get(node.type_name)
    if reader is None:
        return GenericDevice(**common, type_name=node.type_name)
    device = reader(mapping, scope, common)
    mapping.finish(ignore=(*COMMON, "delay"))
    return device


def _acceleration_sensor(mapping: Mapping, _: Scope, common: _Common) -> Device:
    return AccelerationSensor(**common, max_acceleration=_acceleration(mapping))


def _rate_gyro(mapping: Mapping, _: Scope, common: _Common) -> Device:
    return RateGyroSensor(**common, max_angular_velocity=_angular_velocity(mapping))


def _imu(mapping: Mapping, _: Scope, common: _Common) -> Device:
    return Imu(
        **common,
        max_acceleration=_acceleration(mapping),
        max_angular_velocity=_angular_velocity(mapping),
    )


def _force_sensor(mapping: Mapping, _: Scope, common: _Common) -> Device:
    return ForceSensor(
        **common,
        max_force=_limits(mapping, "max_force", "maxForce"),
        max_torque=_limits(mapping, "max_torque", "maxTorque"),
    )


def _camera(mapping: Mapping, scope: Scope, common: _Common) -> Device:
    if mapping.text("format", default="") not in _IMAGES:
        problem = "an unknown format" if "format" in mapping else "no format"
        message = f"camera '{common['name']}' has {problem}; COLOR is used"
        scope.diagnostics.warn("no-format", message, mapping.at("format"))
    image_type = _IMAGES.get(mapping.text("format", default=""), ImageType.COLOR)
    nearest, farthest = (0.1, 10.0) if image_type.has_depth else (0.0, inf)
    common["X_LS"] = _optical(mapping, scope, common["X_LS"])
    mapping.lacks(*_CAMERA_PLUGIN_KEYS)  # marks them as used
    return Camera(
        **common,
        image_type=image_type,
        lens_type=lenient_choice(
            mapping, "lens_type", "lensType", choices=_LENSES, default=LensType.NORMAL
        ),
        width=mapping.integer("width", default=640),
        height=mapping.integer("height", default=480),
        field_of_view=_angle(mapping, scope, 0.785398, "field_of_view", "fieldOfView"),
        near_clip=mapping.number("near_clip_distance", "nearClipDistance", default=0.04),
        far_clip=mapping.number("far_clip_distance", "farClipDistance", default=200.0),
        frame_rate=mapping.number("frame_rate", "frameRate", default=30.0),
        min_distance=mapping.number("min_distance", "minDistance", default=nearest),
        max_distance=mapping.number("max_distance", "maxDistance", default=farthest),
        **_measurement_errors(mapping),
    )


def _range_sensor(mapping: Mapping, scope: Scope, common: _Common) -> Device:
    X_LS = _optical(mapping, scope, common["X_LS"])
    yaw, yaw_middle = _sweep(mapping, scope, 2.0 * pi / 3.0, "yaw", "scanAngle")
    pitch, pitch_middle = _sweep(mapping, scope, 0.0, "pitch")
    if yaw_middle or pitch_middle:
        turn = axis_angle_matrix([0.0, 1.0, 0.0], yaw_middle)
        X_LS = X_LS @ Pose(turn @ axis_angle_matrix([1.0, 0.0, 0.0], pitch_middle))
    common["X_LS"] = X_LS
    frame_rate = mapping.number("frame_rate", "frameRate", default=10.0)
    return RangeSensor(
        **common,
        yaw_range=yaw,
        yaw_step=_step(mapping, scope, yaw, "yaw", "scanStep"),
        pitch_range=pitch,
        pitch_step=_step(mapping, scope, pitch, "pitch"),
        min_distance=mapping.number("min_distance", "minDistance", default=0.1),
        max_distance=mapping.number("max_distance", "maxDistance", default=10.0),
        scan_rate=mapping.number("scan_rate", "scanRate", default=frame_rate),
        **_measurement_errors(mapping),
    )


def _measurement_errors(mapping: Mapping) -> dict[str, Any]:
    """Return the error parameters of a device that measures distances, as arguments."""
    return {
        "detection_rate": mapping.number("detection_rate", "detectionRate", default=1.0),
        "error_deviation": mapping.number("error_deviation", "errorDeviation", default=0.0),
    }


def _sweep(
    mapping: Mapping, scope: Scope, default: float, axis: str, *more: str
) -> tuple[float, float]:
    """Return the total scan angle about an axis, and its middle, in [rad]."""
    title = axis.capitalize()
    low = mapping.number(f"min_{axis}_angle", f"min{title}Angle", default=None)
    high = mapping.number(f"max_{axis}_angle", f"max{title}Angle", default=None)
    total = _angle(mapping, scope, default, f"{axis}_range", f"{axis}Range", *more)
    if low is None or high is None:
        return total, 0.0
    return (high - low) * scope.angle, (high + low) / 2.0 * scope.angle


def _step(mapping: Mapping, scope: Scope, sweep: float, axis: str, *more: str) -> float:
    """Return the angle between neighbouring rays; a step takes precedence over a ray count."""
    spellings = (f"{axis}_step", f"{axis}Step", *more)
    samples = mapping.integer(f"{axis}_samples", f"{axis}Samples", default=0)
    if mapping.get(*spellings) is None and samples > 1 and sweep > 0.0:
        return sweep / (samples - 1)
    return _angle(mapping, scope, pi / 180.0, *spellings)


def _spot_light(mapping: Mapping, scope: Scope, common: _Common) -> Device:
    return SpotLight(
        **common,
        **_emission(mapping),
        attenuation=_attenuation(mapping),
        direction=_direction(mapping, scope),
        beam_width=_angle(mapping, scope, pi / 2.0, "beam_width", "beamWidth"),
        cut_off_angle=_angle(mapping, scope, pi / 4.0, "cut_off_angle", "cutOffAngle"),
        cut_off_exponent=mapping.number("cut_off_exponent", "cutOffExponent", default=1.0),
    )


def _point_light(mapping: Mapping, _: Scope, common: _Common) -> Device:
    return PointLight(**common, **_emission(mapping), attenuation=_attenuation(mapping))


def _directional_light(mapping: Mapping, scope: Scope, common: _Common) -> Device:
    return DirectionalLight(**common, **_emission(mapping), direction=_direction(mapping, scope))


def _holder(mapping: Mapping, _: Scope, common: _Common) -> Device:
    return Holder(
        **common,
        categories=_categories(mapping),
        condition=mapping.choice(
            "hold_condition", choices=_CONDITIONS, default=HoldCondition.DISTANCE
        ),
        max_distance=mapping.number("max_hold_distance", default=0.1),
        target=mapping.text("hold_target_name", default=""),
    )


def _categories(mapping: Mapping) -> tuple[str, ...]:
    """Return the categories of a holder; a list takes precedence over a single one."""
    single = mapping.text("category", default="")
    listed = mapping.sequence("categories")
    if listed is None:
        return (single,) if single else ()
    return tuple(item.text for item in listed.items if isinstance(item, Scalar) and item.text)


def _attachment(mapping: Mapping, _: Scope, common: _Common) -> Device:
    return Attachment(**common, category=mapping.text("category", default=""))


def _conveyor(mapping: Mapping, scope: Scope, common: _Common) -> Device:
    axis = unit_vector(mapping.numbers("axis", count=3, default=np.array([1.0, 0.0, 0.0])))
    if axis is None:
        message = "the axis of a conveyor must not be zero; X is used"
        scope.diagnostics.warn("zero-axis", message, mapping.at("axis"))
    return Conveyor(
        **common,
        is_rotary=mapping.choice("conveyor_type", choices=_CONVEYORS, default=False),
        axis=np.array([1.0, 0.0, 0.0]) if axis is None else axis,
        speed=mapping.number("speed", default=0.0),
    )


def _emission(mapping: Mapping) -> dict[str, Any]:
    """Return the arguments that all lights have."""
    return {
        "color": tuple(mapping.numbers("color", count=3, default=np.ones(3)).tolist()),
        "intensity": mapping.number("intensity", default=1.0),
        "ambient_intensity": mapping.number("ambient", "ambientIntensity", default=0.0),
    }


def _attenuation(mapping: Mapping) -> tuple[float, float, float]:
    c0, c1, c2 = mapping.numbers("attenuation", count=3, default=np.array([1.0, 0.0, 0.0])).tolist()
    return c0, c1, c2


def _direction(mapping: Mapping, scope: Scope) -> Array:
    """Read the direction of a light, shape (3,)."""
    ahead = np.array([0.0, 0.0, -1.0])
    unit = unit_vector(mapping.numbers("direction", count=3, default=ahead))
    if unit is not None:
        return unit
    message = "the direction of a light must not be zero; -Z is used"
    scope.diagnostics.warn("zero-axis", message, mapping.at("direction"))
    return ahead


def _optical(mapping: Mapping, scope: Scope, X_LF: Pose) -> Pose:
    """Return the pose of the frame that looks along -Z, given that of the file's frame F."""
    R = mapping.choice(
        "optical_frame", "opticalFrame", choices=_OPTICAL_FRAMES, default=_OPTICAL_FRAMES["gl"]
    )
    return X_LF @ Pose(R @ rotation(scope, mapping, "optical_frame_rotation"))


def _angle(mapping: Mapping, scope: Scope, default: float, *spellings: str) -> float:
    value = mapping.number(*spellings, default=None, shown=default / scope.angle)
    return default if value is None else value * scope.angle


def _acceleration(mapping: Mapping) -> Array:
    return _limits(mapping, "max_acceleration", "maxAcceleration")


def _angular_velocity(mapping: Mapping) -> Array:
    return _limits(mapping, "max_angular_velocity", "maxAngularVelocity")


def _limits(mapping: Mapping, *spellings: str) -> Array:
    """Read a limit per axis, shape (3,); some files have one number for all axes."""
    if isinstance(mapping.get(*spellings), Scalar):
        return np.full(3, mapping.number(*spellings, default=inf))
    return mapping.numbers(*spellings, count=3, default=np.full(3, inf))


def number_field_reader(kind: type[Device]) -> _Reader | None:
    """Return a reader of a device class whose own fields are all floats, by their names.

    None for any other class.
    """
    if any(of not in ("float", float) for of in get_annotations(kind).values()):
        return None  # before the fields of most classes are generated
    own = [f for f in fields(kind) if f not in fields(Device)]
    if not own or any(f.type not in ("float", float) for f in own):
        return None

    def read(mapping: Mapping, _: Scope, common: _Common) -> Device:
        numbers = {f.name: mapping.number(*_spellings(f.name), default=f.default) for f in own}
        return kind(**common, **numbers)

    return read


def _spellings(name: str) -> tuple[str, ...]:
    """Return the spellings of a key: as ``max_force`` and, if it differs, ``maxForce``."""
    first, *others = name.split("_")
    return tuple(dict.fromkeys((name, first + "".join(map(str.title, others)))))


_Reader = Callable[[Mapping, Scope, _Common], Device]
READERS: dict[str, _Reader] = {
    "AccelerationSensor": _acceleration_sensor,
    "RateGyroSensor": _rate_gyro,
    "IMU": _imu,
    "Imu": _imu,
    "ForceSensor": _force_sensor,
    "Camera": _camera,
    "CameraDevice": _camera,
    "RangeSensor": _range_sensor,
    "SpotLight": _spot_light,
    "PointLight": _point_light,
    "DirectionalLight": _directional_light,
    "Holder": _holder,
    "Attachment": _attachment,
    "Conveyor": _conveyor,
}
# Readers of device classes that need no function of their own, by class name.
NUMBER_FIELD_READERS: dict[str, _Reader] = {
    name: reader
    for name, kind in vars(devices).items()
    if isinstance(kind, type) and issubclass(kind, Device) and name not in READERS
    if (reader := number_field_reader(kind)) is not None
}
