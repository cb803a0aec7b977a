"""Argparse types of the options of ``hrp-sim``, whose errors state the accepted values."""

from __future__ import annotations

import argparse

from hrp_model.program.argument_types import number, positive

from ..physics.engine import PHYSICS_RANGES
from ..sensors.settings import OptionValue
from ..world.sensor_options import parse_option

__all__ = ["not_negative", "positive", "seed", "sensor_option", "time_step"]

_LARGEST = 1e9  # [s], or a factor; nanoseconds of it fit in 64 bits
not_negative = number(float, "a number from 0 to 1e9", lambda value: 0.0 <= value <= _LARGEST)
seed = number(
    int,
    "a whole number from {} to {}".format(*PHYSICS_RANGES["seed"]),
    lambda value: PHYSICS_RANGES["seed"][0] <= value <= PHYSICS_RANGES["seed"][1],
)

time_step = number(
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
