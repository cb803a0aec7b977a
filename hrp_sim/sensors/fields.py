"""Fields: the values of a kind of sensor's readings, and how they are summarised, shown, observed.

The meaning, unit and shape of each are in the docstring of its class in ``hrp_msgs.readings``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from hrp_model.rigid import Array
from hrp_msgs.readings import Depths, Pixels

from ..engine.state import MAX_DRIVE_VALUE
from .base import Sensor

S = TypeVar("S", bound=Sensor)

# Least and greatest value, and the shape.
Bounds = tuple[float | Array, float | Array, tuple[int, ...]]

_WHITE = 255.0


@dataclass(frozen=True, eq=False)
class Field(Generic[S]):
    """One value, or array of values, in the readings of a kind of sensor.

    Attributes:
        name: Attribute of the reading; None in readings without it.
        unit: As "m/s^2"; empty for a ratio.
        number: Name of the number that summarizes it, in the report of a run and for ``--expect``;
            empty for none. It has the same unit, and is shown by its name.
        summarize: Returns this number; its docstring is part of the documentation.
        offered: Returns whether a sensor of the kind has the field.
        bounds: Returns the bounds and the shape for environments of Gymnasium, or None for a sensor
            of which they do not observe it; None if they observe it of no sensor.
        dtype: Type of the values.
        components: Letters of the components that can be plotted, in their order.
    """

    name: str
    unit: str = ""
    number: str = ""
    summarize: Callable[[Any], float] = float
    offered: Callable[[S], bool] = lambda _: True
    bounds: Callable[[S], Bounds | None] | None = None
    dtype: type[np.generic] = np.float64
    components: str = ""

    def value(self, reading: object) -> float | None:
        """Return the number that summarizes the field of a reading; None if that lacks it."""
        found = getattr(reading, self.name)
        return None if found is None else self.summarize(found)


def vector(
    name: str,
    unit: str,
    number: str = "",
    *,
    limit: Callable[[S], Array | None] | None = None,
    offered: Callable[[S], bool] = lambda _: True,
) -> Field[S]:
    """Return a field of three components, which is summarized by its length.

    ``limit`` returns the greatest absolute value of each component, shape (3,), from which the
    bounds follow.
    """

    def bounds(sensor: S) -> Bounds | None:
        if limit is None or (found := limit(sensor)) is None:
            return None
        largest = np.minimum(found, MAX_DRIVE_VALUE)
        return -largest, largest, (3,)

    bounded = None if limit is None else bounds
    return Field(name, unit, number, _length, offered, bounded, components="xyz")


def _length(found: Array) -> float:
    """Return its length."""
    return float(np.linalg.norm(found))


def nearest(distances: Array | Depths) -> float:
    """Return the nearest distance; inf if nothing is in range."""
    return float(np.min(distances, initial=np.inf, where=np.isfinite(distances)))


def brightness(pixels: Pixels) -> float:
    """Return the mean of the image, from 0 (black) to 1 (white)."""
    return float(pixels.mean()) / _WHITE


def flag(value: bool) -> float:
    """Return 1 if it is true, else 0."""
    return float(value)
