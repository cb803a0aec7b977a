"""Argparse types of the options of ``hrp-sim``, whose errors state the accepted values."""

from __future__ import annotations

import argparse
import re
from contextlib import suppress

from hrp_model.program.parsing import number, positive

from ..engine.engine import PHYSICS_RANGES
from ..sensors.settings import OptionValue
from ..world.sensor_options import parse_option

__all__ = [
    "fps",
    "not_negative",
    "positive",
    "seed",
    "sensor_option",
    "size",
    "states",
    "time_step",
    "variable",
    "viewpoint",
]

_LARGEST = 1e9  # [s], or a factor; nanoseconds of it fit in 64 bits
not_negative = number(float, "a number from 0 to 1e9", lambda value: 0.0 <= value <= _LARGEST)
seed = number(
    int,
    "a whole number from {} to {}".format(*PHYSICS_RANGES["seed"]),
    lambda value: PHYSICS_RANGES["seed"][0] <= value <= PHYSICS_RANGES["seed"][1],
)
states = number(int, "a whole number from 1 to 10000", lambda value: 1 <= value <= 10_000)

time_step = number(
    float,
    "a number of seconds from {:g} to {:g}".format(*PHYSICS_RANGES["time_step"]),
    lambda value: PHYSICS_RANGES["time_step"][0] <= value <= PHYSICS_RANGES["time_step"][1],
)

fps = number(float, "a number from 1 to 240", lambda value: 1.0 <= value <= 240.0)


def variable(text: str) -> tuple[str, tuple[str, ...]]:
    """Return name and folders of ``NAME=FOLDER``; the folders must exist."""
    from ..world.projects import parse_variable

    try:
        return parse_variable(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def size(text: str) -> tuple[int, int]:
    """Return width and height of ``WxH``, in pixels."""
    if (found := re.fullmatch(r"([0-9]{1,6})[xX]([0-9]{1,6})", text)) is None:
        raise argparse.ArgumentTypeError(f"must be WIDTHxHEIGHT, such as 1280x720, not '{text}'")
    return int(found[1]), int(found[2])


def viewpoint(text: str) -> tuple[float, ...]:
    """Return the numbers of ``AZIMUTH,ELEVATION[,DISTANCE]``."""
    with suppress(ValueError):
        numbers = tuple(float(part) for part in text.split(","))
        if len(numbers) in (2, 3):
            return numbers
    raise argparse.ArgumentTypeError(
        f"must be AZIMUTH,ELEVATION[,DISTANCE], such as 35,15 or 35,15,4, not '{text}'"
    )


def sensor_option(text: str) -> tuple[str, OptionValue]:
    """Return the name and the value of ``[SENSOR.]OPTION=VALUE``."""
    try:
        return parse_option(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
