"""Rules for the whole body and its devices: valid numbers, sizes and references, unique names.

Frames and topics are named after links and devices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from math import degrees, isfinite, isnan, pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hrp_msgs.names import topic_token

from ..body import Body, Link
from ..devices import (
    AccelerationSensor,
    Camera,
    Device,
    ForceSensor,
    ImageType,
    Imu,
    LensType,
    Light,
    PhotoInterrupter,
    PointLight,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
    TorqueSensor,
)
from ..diagnostics import Diagnostics
from ..frames import body_frames
from ..geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, Shape, Sphere
from ..rigid import Array, Pose
from .links import missing_numbers

_MAX_RATE = 10_000.0  # of cameras and scanners, in [Hz]
_MAX_IMAGE_SIDE = 32_768  # in pixels
# Tolerance of angles that people round: 3.1416 for pi.
_ROUNDING = 1e-3

_SAMPLED = AccelerationSensor | RateGyroSensor | Imu | ForceSensor

# Code and message of a problem.
Problem = tuple[str, str]
_SENSORS = (
    *(AccelerationSensor, Camera, ForceSensor, Imu, PhotoInterrupter, RangeSensor),
    *(RateGyroSensor, TorqueSensor),
)


def numbers_are_finite(body: Body, diagnostics: Diagnostics) -> None:
    """No number of the model is NaN or infinite; ``limits_are_valid`` checks limits."""
    for link in [] if _links_are_finite(body) else body.links:
        for quantity in _not_finite(link):
            message = f"{quantity} of link '{link.name}' is not a finite number"
            diagnostics.error("not-finite", message, link.at)
        if not all(_is_finite_shape(shape) for shape in _shapes(link)):
            message = f"a shape of link '{link.name}' has a number that is not finite"
            diagnostics.error("not-finite", message, link.at)
    for device in body.devices:
        if not all(map(_is_valid, vars(device).values())):
            message = f"device '{device.name}' has a number that is not finite"
            diagnostics.error("not-finite", message, body.place_of(device))
    for tie in body.extra_joints:
        if not all(map(_is_valid, (tie.X_AJ, tie.X_BJ, tie.axis))):
            message = f"extra joint '{tie.name}' has a number that is not finite"
            diagnostics.error("not-finite", message, body.root.at)


def sizes_are_positive(body: Body, diagnostics: Diagnostics) -> None:
    """A primitive shape has sizes above zero."""
    for link in body.links:
        for shape in _shapes(link):
            sizes = _sizes(shape.geometry)
            if any(size <= 0.0 for size in sizes):
                kind = type(shape.geometry).__name__.lower()
                shown = " x ".join(f"{size:g}" for size in sizes)
                message = f"a {kind} of link '{link.name}' has size {shown} m; it must be above 0"
                diagnostics.warn("empty-shape", message, link.at)


def references_exist(body: Body, diagnostics: Diagnostics) -> None:
    """Devices, extra joints and collision pairs name links of this body."""
    names = {link.name for link in body.links}
    for device in body.devices:
        if device.link not in names:
            message = f"device '{device.name}' is on link '{device.link}', which does not exist"
            diagnostics.error("unknown-link", message, body.place_of(device))
    for joint in body.extra_joints:
        for name in joint.links:
            if name not in names:
                message = f"extra joint '{joint.name}' connects link '{name}', which does not exist"
                diagnostics.error("unknown-link", message, body.root.at)
    for name in sorted(set(chain.from_iterable(body.self_collision_disabled)) - names):
        message = f"self collision is disabled for link '{name}', which does not exist"
        diagnostics.warn("unknown-link", message, body.root.at)
    for name in sorted(body.collision_disabled - names):
        message = f"collision is disabled for link '{name}', which does not exist"
        diagnostics.warn("unknown-link", message, body.root.at)


def _shapes(link: Link) -> dict[Shape, None]:
    """Return a link's shapes, each once, in order."""
    return dict.fromkeys(chain(link.visual, link.collision))


def _links_are_finite(body: Body) -> bool:
    """Return whether all numbers of all links are finite; in one array for speed."""
    arrays: list[Array] = []
    numbers: list[float] = []
    for link in body.links:
        joint = link.joint
        arrays += (link.X_PL.R, link.X_PL.p, link.center_of_mass, link.inertia, joint.axis)
        numbers += (link.mass, joint.initial, joint.equivalent_rotor_inertia, joint.rotor_inertia)
        numbers += (joint.gear_ratio, joint.torque_const, joint.damping, joint.friction)
        numbers += (joint.stiffness, joint.rest_position, link.weight_share)
        numbers.append(joint.encoder_pulse or 0.0)
        for shape in _shapes(link):
            arrays.append(shape.T_FG)
            if isinstance(shape.geometry, Mesh):
                arrays.append(shape.geometry.vertices)
            else:
                numbers += _sizes(shape.geometry)
    flat = np.concatenate([*(array.ravel() for array in arrays), numbers])
    return bool(np.isfinite(flat).all())


def _not_finite(link: Link) -> Iterator[str]:
    """Yield the quantities of a link's mass, frame and joint that are not finite."""
    joint = link.joint
    finite: dict[str, ArrayLike] = {
        "the frame": (*link.X_PL.R.ravel(), *link.X_PL.p),
        "the mass": (link.mass,),
        "the centre of mass": link.center_of_mass,
        "the inertia": link.inertia,
        "the joint axis": joint.axis,
        "the initial joint position": (joint.initial,),
        "the rotor inertia": (joint.equivalent_rotor_inertia, joint.rotor_inertia),
        "the gear ratio": (joint.gear_ratio, joint.torque_const),
        "the number of encoder pulses": (joint.encoder_pulse or 0.0,),
        "the friction": (joint.damping, joint.friction),
        "the spring of the joint": (joint.stiffness, joint.rest_position),
        "the share of the weight": (link.weight_share,),
    }
    yield from (name for name, value in finite.items() if not np.isfinite(value).all())


def _is_finite_shape(shape: Shape) -> bool:
    geometry = shape.geometry
    finite = (geometry.vertices,) if isinstance(geometry, Mesh) else (_sizes(geometry),)
    return all(bool(np.isfinite(value).all()) for value in (shape.T_FG, *finite))


def _sizes(geometry: Geometry) -> tuple[float, ...]:
    if isinstance(geometry, Box):
        return tuple(geometry.size.tolist())
    if isinstance(geometry, Sphere):
        return (geometry.radius,)
    if isinstance(geometry, Cylinder | Cone | Capsule):
        return (geometry.radius, geometry.height)
    return ()


def _is_valid(value: Any) -> bool:
    """Return whether no number in a value, a pose or an array is NaN; infinity is allowed."""
    if isinstance(value, float):
        return not isnan(value)
    if isinstance(value, np.ndarray):
        return not np.isnan(value).any()
    if isinstance(value, Pose):
        return bool(np.isfinite(value.R).all() and np.isfinite(value.p).all())
    return True


def frame_names_are_unique(body: Body, diagnostics: Diagnostics) -> None:
    """Links, devices and joints keep their names as frames and joints of a URDF.

    Devices of equal names are covered by another rule.
    """
    links = {link.name for link in body.links}
    devices = {d.name: d for d in reversed(body.devices) if d.link in links}
    if len(devices) < len(body.devices):
        body = replace(body, devices=tuple(reversed(devices.values())))
    body_frames(body, diagnostics)


def topic_names_are_unique(body: Body, diagnostics: Diagnostics) -> None:
    """Sensors with different names have different topics, whose characters are restricted."""
    first: dict[str, str] = {}
    for device in body.devices:
        if not isinstance(device, _SENSORS):
            continue
        token = topic_token(device.name)
        other = first.setdefault(token, device.name)
        if other != device.name:
            message = f"sensors '{other}' and '{device.name}' would share the topic name '{token}'"
            diagnostics.warn("topic-name-collision", message, body.place_of(device))


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


RULES = (
    *(numbers_are_finite, sizes_are_positive, references_exist),
    *(device_ids_are_consecutive, device_names_are_unique, sensor_settings_are_valid),
    *(frame_names_are_unique, topic_names_are_unique),
)


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
