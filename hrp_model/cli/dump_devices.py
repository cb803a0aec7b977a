"""Devices to plain data for JSON."""

from __future__ import annotations

from functools import singledispatch
from math import isinf
from typing import Any

from ..devices import (
    AccelerationSensor,
    Camera,
    Device,
    DirectionalLight,
    ForceSensor,
    GenericDevice,
    Imu,
    LensType,
    Light,
    PhotoInterrupter,
    PointLight,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
)
from ..rigid import Array

Json = dict[str, Any]

# Type names in files that differ from Choreonoid's class names.
_CLASSES = {"Holder": "HolderDevice"}
_LENSES = (LensType.NORMAL, LensType.FISHEYE, LensType.DUAL_FISHEYE)


def dump_device(device: Device) -> Json:
    """Return a device as plain data, with the name of Choreonoid's class."""
    kind, params = _class_and_params(device)
    return {
        "class": kind,
        "name": device.name,
        "id": -1 if device.id is None else device.id,
        "link": device.link,
        "p_local": device.X_LS.p.tolist(),
        "R_local": device.X_LS.R.tolist(),
        "params": params,
    }


def limit(value: float) -> float | None:
    """Return a limit for JSON: None if it is infinite."""
    return None if isinf(value) else float(value)


def _limits(values: Array) -> list[float | None]:
    return [limit(value) for value in values.tolist()]


@singledispatch
def _class_and_params(device: Device) -> tuple[str, Json]:
    name = type(device).__name__
    return _CLASSES.get(name, name), {}


@_class_and_params.register
def _(device: GenericDevice) -> tuple[str, Json]:
    return _CLASSES.get(device.type_name, device.type_name), {}


@_class_and_params.register
def _(device: AccelerationSensor) -> tuple[str, Json]:
    return "AccelerationSensor", {"dv_max": _limits(device.max_acceleration)}


@_class_and_params.register
def _(device: RateGyroSensor) -> tuple[str, Json]:
    return "RateGyroSensor", {"w_max": _limits(device.max_angular_velocity)}


@_class_and_params.register
def _(device: Imu) -> tuple[str, Json]:
    return "Imu", {
        "w_max": _limits(device.max_angular_velocity),
        "dv_max": _limits(device.max_acceleration),
    }


@_class_and_params.register
def _(device: ForceSensor) -> tuple[str, Json]:
    return "ForceSensor", {"F_max": _limits(device.max_force) + _limits(device.max_torque)}


@_class_and_params.register
def _(device: Camera) -> tuple[str, Json]:
    params: Json = {
        "frame_rate": device.frame_rate,
        "image_type": device.image_type.value,
        "lens_type": _LENSES.index(device.lens_type),
        "width": device.width,
        "height": device.height,
        "field_of_view": device.field_of_view,
        "near_clip": device.near_clip,
        "far_clip": device.far_clip,
    }
    if not device.image_type.has_depth:
        return "Camera", params
    params["min_distance"] = device.min_distance
    params["max_distance"] = limit(device.max_distance)
    params["detection_rate"] = device.detection_rate
    params["error_deviation"] = device.error_deviation
    return "RangeCamera", params


@_class_and_params.register
def _(device: RangeSensor) -> tuple[str, Json]:
    (min_yaw, max_yaw), (min_pitch, max_pitch) = device.yaw_limits, device.pitch_limits
    return "RangeSensor", {
        "min_yaw": min_yaw,
        "max_yaw": max_yaw,
        "yaw_step": device.yaw_step,
        "min_pitch": min_pitch,
        "max_pitch": max_pitch,
        "pitch_step": device.pitch_step,
        "min_distance": device.min_distance,
        "max_distance": limit(device.max_distance),
        "scan_rate": device.scan_rate,
        "detection_rate": device.detection_rate,
        "error_deviation": device.error_deviation,
    }


@_class_and_params.register
def _(device: PhotoInterrupter) -> tuple[str, Json]:
    return "PhotoInterrupter", {
        "transmitter": device.transmitter.tolist(),
        "receiver": device.receiver.tolist(),
    }


@_class_and_params.register
def _(device: DirectionalLight) -> tuple[str, Json]:
    return "DirectionalLight", _light(device) | {"direction": device.direction.tolist()}


@_class_and_params.register
def _(device: PointLight) -> tuple[str, Json]:
    return "PointLight", _point_light(device)


@_class_and_params.register
def _(device: SpotLight) -> tuple[str, Json]:
    return "SpotLight", _point_light(device) | {
        "direction": device.direction.tolist(),
        "beam_width": device.beam_width,
        "cut_off_angle": device.cut_off_angle,
        "cut_off_exponent": device.cut_off_exponent,
    }


def _light(device: Light) -> Json:
    return {
        "color": list(device.color),
        "intensity": device.intensity,
        "ambient_intensity": device.ambient_intensity,
    }


def _point_light(device: PointLight) -> Json:
    return _light(device) | {
        "attenuation": list(device.attenuation),
        "radius": limit(device.radius),
    }
