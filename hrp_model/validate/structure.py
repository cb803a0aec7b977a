"""Rules for the whole body: finite numbers, positive sizes, valid references, and unique names.

Frames and topics are named after links and devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hrp_msgs.names import topic_token

from ..body import Body, Link
from ..devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    Imu,
    PhotoInterrupter,
    RangeSensor,
    RateGyroSensor,
    TorqueSensor,
)
from ..diagnostics import Diagnostics
from ..frames import body_frames
from ..geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, Shape, Sphere
from ..rigid import Array, Pose

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


RULES = (numbers_are_finite, sizes_are_positive, references_exist)
NAME_RULES = (frame_names_are_unique, topic_names_are_unique)
