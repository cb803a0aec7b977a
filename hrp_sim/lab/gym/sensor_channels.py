"""Readings of sensors as arrays with bounds."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hrp_model.devices import pitch_angles
from hrp_model.rigid import Array

from ...engine.articulation.numeric_limits import MAX_COORDINATE, MAX_SPEED
from ...engine.state import MAX_DRIVE_VALUE
from ...sensors import (
    CameraSensor,
    ForceSensor,
    ImuSensor,
    JointSensor,
    LightBeamSensor,
    RangeSensor,
    RangeSensor3D,
    Reading,
    Sensor,
    TorqueSensor,
)
from ...sensors.range import Scanner

AnyArray = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Channel:
    """A quantity of the readings of a sensor.

    Attributes:
        field: Name in the reading.
        space: Of its values.
    """

    field: str
    space: spaces.Box[Any]

    def values(self, reading: Reading) -> AnyArray:
        """Return the values of a reading, clipped to the bounds; NaN is the upper bound."""
        space = self.space
        found = np.array(getattr(reading, self.field), space.dtype).reshape(space.shape)
        if found.dtype != np.uint8:
            np.fmin(found, space.high, out=found)  # which ignores NaN
            np.maximum(found, space.low, out=found)
        return found

    @property
    def nothing(self) -> AnyArray:
        """The values in place of a reading that is not there yet: the upper bounds."""
        return self.space.high.copy()


def channels(sensor: Sensor) -> list[Channel]:
    """Return the quantities of a sensor; none if it cannot be observed."""
    match sensor:
        case ImuSensor():
            found = []
            if sensor.max_angular_velocity is not None:
                found.append(_vector("angular_velocity", sensor.max_angular_velocity))
            if sensor.max_acceleration is not None:
                found.append(_vector("linear_acceleration", sensor.max_acceleration))
            if sensor.measures_orientation:
                found.append(_floats("orientation", -1.0, 1.0, (4,)))
            return found
        case ForceSensor():
            return [_vector("force", sensor.max_force), _vector("torque", sensor.max_torque)]
        case TorqueSensor():
            name = "force" if sensor.slides else "torque"
            return [_vector(name, np.full(3, inf))]
        case RangeSensor3D():
            rows = len(pitch_angles(sensor.pitch_range, sensor.pitch_step, sensor.pitch_min))
            return [_ranges(sensor, (rows, sensor.ray_count // rows))]
        case RangeSensor():
            return [_ranges(sensor, (sensor.ray_count,))]
        case JointSensor():
            shape = (len(sensor.joints),)
            return [
                _floats("position", -MAX_COORDINATE, MAX_COORDINATE, shape),
                _floats("velocity", -MAX_SPEED, MAX_SPEED, shape),
            ]
        case LightBeamSensor():
            return [_floats("is_blocked", 0.0, 1.0, (1,))]
        case CameraSensor():
            return _of_camera(sensor)
        case _:
            return []


def _of_camera(sensor: CameraSensor) -> list[Channel]:
    size, kind = (sensor.lens.height, sensor.lens.width), sensor.image_type
    found = []
    if kind.has_color:
        found.append(Channel("color", spaces.Box(0, 255, (*size, 3), np.uint8)))
    if kind.has_mono:
        found.append(Channel("mono", spaces.Box(0, 255, (*size, 1), np.uint8)))
    if kind.has_depth:
        nearest, farthest = sensor.min_distance, min(sensor.max_distance, sensor.lens.far)
        found.append(Channel("depth", spaces.Box(nearest, farthest, size, np.float32)))
    return found


def _ranges(sensor: Scanner, shape: tuple[int, ...]) -> Channel:
    return _floats("ranges", sensor.min_distance, sensor.max_distance, shape)


def _vector(field: str, limit: Array) -> Channel:
    bound = np.minimum(limit, MAX_DRIVE_VALUE)
    return _floats(field, -bound, bound, (3,))


def _floats(
    field: str, lower: float | Array, upper: float | Array, shape: tuple[int, ...]
) -> Channel:
    return Channel(field, spaces.Box(lower, upper, shape, np.float64))
