"""Readings of sensors as arrays of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import cast

import numpy as np

from ... import sensors
from ...engine.engine import AnyArray
from ...sensors import Reading

_TYPE = "type"


def reading_arrays(reading: Reading) -> dict[str, AnyArray]:
    """Return a reading as arrays by field, and its type; {} for an image, which is too large."""
    arrays: dict[str, AnyArray] = {_TYPE: np.array(type(reading).__name__)}
    for name in getattr(reading, "__dataclass_fields__", ()):
        value = getattr(reading, name)
        if value is None:
            continue
        array = np.array(value)
        if array.dtype.name not in ("float64", "int64", "int32") and array.dtype.kind != "U":
            return {}
        arrays[name] = array
    return arrays


def reading_from(arrays: Mapping[str, AnyArray]) -> Reading | None:
    """Return the reading of ``reading_arrays``; None if they are not those of a reading."""
    kind = getattr(sensors, str(arrays.get(_TYPE)), None)
    if not (isinstance(kind, type) and is_dataclass(kind) and kind.__name__.endswith("Reading")):
        return None
    values = {k: _plain(v) for k, v in arrays.items() if k != _TYPE}
    given = {f.name: values.pop(f.name, None) for f in fields(kind)}
    if values:
        return None
    return cast(Reading, kind(**given))


def _plain(array: AnyArray) -> object:
    if array.ndim == 0:
        return array.item()
    return tuple(array.tolist()) if array.dtype.kind == "U" else array
