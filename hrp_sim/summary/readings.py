"""The last reading of a sensor as a few numbers."""

from __future__ import annotations

from collections.abc import Mapping

from ..render import RendererUnavailable
from ..sensors import CameraSensor, Reading, RenderRequest, Sensor
from ..sensors.registry import KINDS, kind_of

# By the names of quantities; a share of 1 has none.
UNITS: Mapping[str, str] = {q.name: q.unit for kind in KINDS for q in kind.quantities}


def fields_of(sensor: Sensor) -> tuple[str, ...]:
    """Return the names of the numbers that a sensor is summed up in; their units are UNITS."""
    return tuple(q.name for q in kind_of(sensor).quantities if q.offered(sensor))


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
    if isinstance(reading, RenderRequest) and isinstance(sensor, CameraSensor):
        try:
            reading = sensor.render(reading)
        except (RendererUnavailable, KeyError):  # or its body has left the world
            return {}
    if reading is None:
        return {}
    values = {q.name: q.value(reading) for q in kind_of(sensor).quantities}
    return {name: value for name, value in values.items() if value is not None}
