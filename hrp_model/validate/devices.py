"""Rules for devices: ids, names and valid settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import degrees, isfinite, pi

import numpy as np

from ..body import Body
from ..devices import (
    AccelerationSensor,
    Camera,
    Device,
    ForceSensor,
    ImageType,
    Imu,
    LensType,
    Light,
    PointLight,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
)
from ..diagnostics import Diagnostics
from .links import missing_numbers

_MAX_RATE = 10_000.0  # of cameras and scanners, in [Hz]
_MAX_IMAGE_SIDE = 32_768  # in pixels
# Tolerance of angles that people round: 3.1416 for pi.
_ROUNDING = 1e-3

_SAMPLED = AccelerationSensor | RateGyroSensor | Imu | ForceSensor

# Code and message of a problem.
Problem = tuple[str, str]


def device_ids_are_consecutive(body: Body, diagnostics: Diagnostics) -> None:
    """The ids of the devices of one type are 0, 1, 2, ... without gaps and duplicates."""
    kinds: dict[str, dict[int, Device]] = {}
    for device in body.devices:
        if device.id is None:
            continue
        kind = device.kind
        first = kinds.setdefault(kind, {}).setdefault(device.id, device)
        if first is not device:
            message = f"id {device.id} of {kind} '{device.name}' is also that of '{first.name}'"
            diagnostics.warn("duplicate-device-id", message, body.place_of(device))
    for kind, owner in kinds.items():
        missing = missing_numbers(owner)
        if missing:
            message = f"no {kind} has id {missing}"
            at = body.place_of(owner[min(owner)])
            diagnostics.warn("device-id-gap", message, at)


def device_names_are_unique(body: Body, diagnostics: Diagnostics) -> None:
    """Devices have unique names, as topics and frames are named after them."""
    last = {device.name: device for device in body.devices}
    for name, count in Counter(device.name for device in body.devices).items():
        if count > 1:
            links = dict.fromkeys(d.link for d in body.devices if d.name == name)
            message = f"{count} devices are named '{name}', on {', '.join(links)}"
            at = body.place_of(last[name])
            diagnostics.warn("duplicate-device-name", message, at)


def sensor_settings_are_valid(body: Body, diagnostics: Diagnostics) -> None:
    """Rates, angles, sizes and distances of a sensor are possible."""
    for device in body.devices:
        for code, problem in _problems(device):
            message = f"{device.kind} '{device.name}' has {problem}"
            diagnostics.warn(code, message, body.place_of(device))


RULES = (device_ids_are_consecutive, device_names_are_unique, sensor_settings_are_valid)


def _problems(device: Device) -> Iterator[Problem]:
    if isinstance(device, Camera) and device.image_type is not ImageType.NONE:
        yield from _camera(device)
    elif isinstance(device, RangeSensor):
        yield from _range_sensor(device)
    elif isinstance(device, Light):
        yield from _light(device)
    elif isinstance(device, _SAMPLED) and device.sample_rate != 0.0:
        yield from _rate("sample rate", device.sample_rate)
    for name, unit in _LIMITS.get(type(device), {}).items():
        if np.any(getattr(device, name) <= 0.0):
            values, quantity = _listed(getattr(device, name)), name.replace("_", " ")
            yield "sensor-limit", f"a {quantity} of {values} {unit}; it must be above 0"


def _camera(camera: Camera) -> Iterator[Problem]:
    yield from _rate("frame rate", camera.frame_rate)
    if not (1 <= camera.width <= _MAX_IMAGE_SIDE and 1 <= camera.height <= _MAX_IMAGE_SIDE):
        yield "image-size", f"images of {camera.width} x {camera.height} pixels"
    max_fov = pi - _ROUNDING if camera.lens_type is LensType.NORMAL else 2.0 * pi + _ROUNDING
    fov = camera.field_of_view
    if fov <= 0.0 or fov >= max_fov:
        yield "field-of-view", f"a field of view of {_angle(fov)}"
    if not 0.0 < camera.near_clip < camera.far_clip:
        distances = f"{camera.near_clip:g} to {camera.far_clip:g} m"
        yield "sensor-distance", f"clip distances of {distances}, so its images are empty"
    if camera.image_type.has_depth:
        yield from _distances(camera.min_distance, camera.max_distance)
        yield from _errors(camera.detection_rate, camera.error_deviation)


def _range_sensor(sensor: RangeSensor) -> Iterator[Problem]:
    yield from _rate("scan rate", sensor.scan_rate)
    yield from _distances(sensor.min_distance, sensor.max_distance)
    for name, extent, step in (
        ("yaw", sensor.yaw_range, sensor.yaw_step),
        ("pitch", sensor.pitch_range, sensor.pitch_step),
    ):
        if name == "pitch" and extent == 0.0:
            continue  # a planar scan
        if extent < 0.0 or extent > 2.0 * pi + _ROUNDING:
            yield "scan-range", f"a {name} range of {_angle(extent)}"
        elif extent > 0.0 and not 0.0 < step <= extent * (1.0 + _ROUNDING):
            yield "scan-step", f"a {name} step of {_angle(step)} in a range of {_angle(extent)}"
    yield from _errors(sensor.detection_rate, sensor.error_deviation)


def _errors(detection_rate: float, error_deviation: float) -> Iterator[Problem]:
    if not 0.0 <= detection_rate <= 1.0:
        yield "detection-rate", f"a detection rate of {detection_rate:g}, not in 0..1"
    if error_deviation < 0.0:
        yield "sensor-limit", f"a standard deviation of {error_deviation:g} m"


def _light(light: Light) -> Iterator[Problem]:
    if not all(0.0 <= c <= 1.0 for c in light.color):
        yield "light-strength", f"a colour of {_listed(light.color)}"
    for name, intensity in (
        ("an intensity", light.intensity),
        ("an ambient intensity", light.ambient_intensity),
    ):
        if intensity < 0.0:
            yield "light-strength", f"{name} of {intensity:g}"
    if isinstance(light, PointLight) and min(light.attenuation) < 0.0:
        yield "light-strength", f"an attenuation of {_listed(light.attenuation)}"
    if isinstance(light, SpotLight):
        yield from _beam(light)


def _beam(light: SpotLight) -> Iterator[Problem]:
    for name, angle in (("beam width", light.beam_width), ("cut-off angle", light.cut_off_angle)):
        if angle < 0.0 or angle > pi + _ROUNDING:
            yield "light-angle", f"a {name} of {_angle(angle)}"


def _listed(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:g}" for number in numbers)


def _rate(name: str, rate: float) -> Iterator[Problem]:
    if rate <= 0.0 or rate > _MAX_RATE:
        yield "sensor-rate", f"a {name} of {rate:g} Hz"


def _distances(nearest: float, farthest: float) -> Iterator[Problem]:
    if nearest < 0.0 or not nearest < farthest:
        yield (
            "sensor-distance",
            f"a range of {nearest:g} to {farthest:g} m, so it measures nothing",
        )


def _angle(angle: float) -> str:
    """Return an angle in both units, as the unit is often wrong."""
    in_degrees = f" ({degrees(angle):.4g} degrees)" if isfinite(angle) else ""
    return f"{angle:.4g} rad{in_degrees}"


_LIMITS: dict[type[Device], dict[str, str]] = {
    AccelerationSensor: {"max_acceleration": "m/s^2"},
    RateGyroSensor: {"max_angular_velocity": "rad/s"},
    Imu: {"max_acceleration": "m/s^2", "max_angular_velocity": "rad/s"},
    ForceSensor: {"max_force": "N", "max_torque": "N m"},
}
