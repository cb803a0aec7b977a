"""The last reading of a sensor as a few numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..render import RendererUnavailable
from ..sensors import (
    CameraSensor,
    Exposure,
    ForceSensor,
    ImageReading,
    ImuReading,
    ImuSensor,
    OdometryReading,
    OdometrySensor,
    RangeImageReading,
    RangeSensor,
    RangeSensor3D,
    Reading,
    ScanReading,
    Sensor,
    WrenchReading,
)

ACCELERATION, TURN_RATE = "acceleration", "turn_rate"
FORCE, TORQUE = "force", "torque"
NEAREST, BRIGHTNESS, SPEED = "nearest", "brightness", "linear_speed"
UNITS = {
    ACCELERATION: "m/s^2",
    TURN_RATE: "rad/s",
    FORCE: "N",
    TORQUE: "N m",
    NEAREST: "m",
    BRIGHTNESS: "",
    SPEED: "m/s",
}
_WHITE = 255.0


def fields_of(sensor: Sensor) -> tuple[str, ...]:
    """Return the names of the numbers that a sensor is summed up in; their units are UNITS."""
    match sensor:
        case ImuSensor():
            return ACCELERATION, TURN_RATE
        case ForceSensor():
            return FORCE, TORQUE
        case RangeSensor() | RangeSensor3D():
            return (NEAREST,)
        case OdometrySensor():
            return (SPEED,)
        case CameraSensor(image_type=kind):
            colors = (BRIGHTNESS,) if kind.has_color or kind.has_mono else ()
            return (*colors, NEAREST) if kind.has_depth else colors
    return ()


def last_values(sensor: Sensor, reading: Reading | None) -> Mapping[str, float]:
    """Return the numbers of a reading, by the names of ``fields_of``.

    Vectors are summed up in their lengths, distances in the nearest one, which is inf where
    nothing is in range, images in their mean from 0 (black) to 1 (white).

    Args:
        sensor: That has read it.
        reading: Its last one; an exposure is drawn now. None for none.

    Returns:
        What can be known: an IMU without a gyro has no turn rate, and without a renderer an
        image has no brightness.
    """
    if isinstance(reading, Exposure) and isinstance(sensor, CameraSensor):
        try:
            reading = sensor.develop(reading)
        except (RendererUnavailable, KeyError):  # or its body has left the world
            return {}
    match reading:
        case ImuReading(linear_acceleration=acceleration, angular_velocity=rate):
            lengths = {ACCELERATION: acceleration, TURN_RATE: rate}
            return {name: _length(v) for name, v in lengths.items() if v is not None}
        case WrenchReading(force=force, torque=torque):
            return {FORCE: _length(force), TORQUE: _length(torque)}
        case OdometryReading(linear_velocity=velocity):
            return {SPEED: _length(velocity)}
        case ScanReading(ranges=ranges) | RangeImageReading(ranges=ranges):
            return {NEAREST: _nearest(ranges)}
        case ImageReading():
            return _of_image(reading)
    return {}


def _of_image(image: ImageReading) -> dict[str, float]:
    values = {}
    shown = image.mono if image.color is None else image.color
    if shown is not None:
        values[BRIGHTNESS] = float(shown.mean()) / _WHITE
    if image.depth is not None:
        values[NEAREST] = _nearest(image.depth)
    return values


def _length(vector: Array) -> float:
    return float(np.linalg.norm(vector))


def _nearest(distances: Array | NDArray[np.float32]) -> float:
    """Return the least distance that was measured, in [m]; inf if there is none."""
    return float(np.min(distances, initial=np.inf, where=np.isfinite(distances)))
