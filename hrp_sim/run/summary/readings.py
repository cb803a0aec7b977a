"""Summary of the last reading of a sensor as a few numbers."""

from __future__ import annotations

from collections.abc import Mapping

from ...render import RendererUnavailable
from ...sensors import CameraSensor, Reading, RenderRequest, Sensor
from ...sensors.registry import KINDS, kind_of

# By the names of quantities; ratios have none.
UNITS: Mapping[str, str] = {q.name: q.unit for kind in KINDS for q in kind.quantities}


def fields_of(sensor: Sensor) -> tuple[str, ...]:
    """Return the names of the numbers that summarize a sensor; their units are in UNITS."""
    return tuple(q.name for q in kind_of(sensor).quantities if q.offered(sensor))


def last_values(sensor: Sensor, reading: Reading | None) -> Mapping[str, float]:
    """Return the numbers of a reading, by the names of ``fields_of``.

    Vectors are summarized by their magnitudes, distances by the smallest one, which is inf if
    nothing is in range, images by their mean from 0 (black) to 1 (white).

    Args:
        sensor: Source of the reading.
        reading: The last one; a render request is rendered now. None if there is none.

    Returns:
        The numbers that are available: an IMU without a gyro has no turn rate, and without a
        renderer an image has no brightness.
    """
    if isinstance(reading, RenderRequest) and isinstance(sensor, CameraSensor):
        try:
            reading = sensor.render(reading)
        except (RendererUnavailable, KeyError):  # KeyError: its body was removed
            return {}
    if reading is None:
        return {}
    values = {q.name: q.value(reading) for q in kind_of(sensor).quantities}
    return {name: value for name, value in values.items() if value is not None}
