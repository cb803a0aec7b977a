"""What several rules need: places, and lists in messages."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..body import Body
from ..devices import Device, GenericDevice
from ..diagnostics import Span


def place_of_link(body: Body, name: str) -> Span | None:
    """Return where a link is defined; of one that does not exist, where the root is."""
    return next((link.at for link in body.links if link.name == name), body.root.at)


def place_of_device(body: Body, device: Device) -> Span | None:
    """Return where a device is defined, or its link if the device does not know."""
    return device.at or place_of_link(body, device.link)


def kind_of_device(device: Device) -> str:
    """Return what a device is, in the words of a model."""
    return device.type_name if isinstance(device, GenericDevice) else type(device).__name__


def missing_numbers(numbers: Collection[int]) -> str:
    """Return which of 0, 1, ... up to the greatest are missing, as a list for a message."""
    present = set(numbers)
    missing: list[str] = []
    number = 0
    # Only as many as are shown: a greatest number may be anything.
    while len(missing) < 9 and number < max(present, default=-1):
        if number not in present:
            missing.append(str(number))
        number += 1
    return first_few(missing, 8)


def first_few(items: Sequence[str], count: int) -> str:
    """Return items separated by commas, not more than ``count`` of them."""
    return ", ".join(items[:count]) + (", ..." if len(items) > count else "")
