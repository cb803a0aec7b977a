"""Argparse types of the options of ``hrp-sim``, whose errors state the accepted values."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from ..physics.engine import PHYSICS_RANGES
from ..sensors.settings import OptionValue
from ..world.sensor_options import parse_option

_Number = TypeVar("_Number", int, float)


def _number(
    parse: Callable[[str], _Number], accepted: str, is_valid: Callable[[_Number], bool]
) -> Callable[[str], _Number]:
    """Return the argparse type of a number; ``accepted`` describes valid ones in its error."""

    def checked(text: str) -> _Number:
        try:
            value = parse(text)
        except ValueError:
            value = None
        if value is None or not is_valid(value):
            raise argparse.ArgumentTypeError(f"must be {accepted}, not '{text}'")
        return value

    return checked


_LARGEST = 1e9  # [s], or a factor; nanoseconds of it fit in 64 bits
positive = _number(
    float, "a number greater than 0, up to 1e9", lambda value: 0.0 < value <= _LARGEST
)
not_negative = _number(float, "a number from 0 to 1e9", lambda value: 0.0 <= value <= _LARGEST)
seed = _number(
    int,
    "a whole number from {} to {}".format(*PHYSICS_RANGES["seed"]),
    lambda value: PHYSICS_RANGES["seed"][0] <= value <= PHYSICS_RANGES["seed"][1],
)

port = _number(int, "a port from 0 (any) to 65535", lambda value: 0 <= value <= 65535)
time_step = _number(
    float,
    "a number of seconds from {:g} to {:g}".format(*PHYSICS_RANGES["time_step"]),
    lambda value: PHYSICS_RANGES["time_step"][0] <= value <= PHYSICS_RANGES["time_step"][1],
)


def sensor_option(text: str) -> tuple[str, OptionValue]:
    """Return the name and the value of ``[SENSOR.]OPTION=VALUE``."""
    try:
        return parse_option(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
