"""Argparse types of numbers, whose errors state the accepted values."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

_Number = TypeVar("_Number", int, float)
_LARGEST = 1e9  # [s], or a factor; nanoseconds of it fit in 64 bits


def number(
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


positive = number(
    float, "a number greater than 0, up to 1e9", lambda value: 0.0 < value <= _LARGEST
)
port = number(int, "a port from 1 to 65535", lambda value: 1 <= value <= 65535)
