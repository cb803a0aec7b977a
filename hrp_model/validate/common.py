"""Helpers of several rules: places in files, and lists in messages."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..body import Body
from ..devices import Device, GenericDevice
from ..diagnostics import Span


def place_of_link(body: Body, name: str) -> Span | None:
    """Return where a link is defined; where the root is if the link does not exist."""
    return next((link.at for link in body.links if link.name == name), body.root.at)


def place_of_device(body: Body, device: Device) -> Span | None:
    """Return where a device is defined, or else where its link is."""
    return device.at or place_of_link(body, device.link)


def kind_of_device(device: Device) -> str:
    """Return the type of a device, as in a model file."""
    return device.type_name if isinstance(device, GenericDevice) else type(device).__name__


def missing_numbers(numbers: Collection[int]) -> str:
    """Return which of 0, 1, ... up to the largest are missing, as a list for a message."""
    present = set(numbers)
    end = max(present, default=-1)
    missing: list[str] = []
    number = 0
    # Only as many as are listed, as the largest number may be huge.
    while len(missing) < 9 and number < end:
        if number not in present:
            missing.append(str(number))
        number += 1
    return first_few(missing, 8)


def first_few(items: Sequence[str], count: int) -> str:
    """Return at most ``count`` items, separated by commas."""
    return ", ".join(items[:count]) + (", ..." if len(items) > count else "")
