"""The settings of a GLVisionSimulatorItem: the highest rate of cameras and range sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hrp_model.devices import Camera, RangeSensor
from hrp_model.readers.yaml import nodes

from ....sensors.settings import OptionValue
from ...config import BodyEntry
from .items import Item

VISION = "GLVisionSimulatorItem"


def with_vision(bodies: tuple[BodyEntry, ...], items: Sequence[Item]) -> tuple[BodyEntry, ...]:
    """Return the bodies with the rates of their vision sensors limited by the items."""
    for item in items:
        highest = item.data.number("max_frame_rate", "maxFrameRate", default=0.0)
        if highest <= 0.0:
            continue
        of_bodies = _names(item, "target_bodies", "targetBodies")
        of_sensors = _names(item, "target_sensors", "targetSensors")
        bodies = tuple(
            _limited(entry, highest, of_sensors)
            if not of_bodies or entry.placement.name in of_bodies
            else entry
            for entry in bodies
        )
    return bodies


def _limited(entry: BodyEntry, highest: float, names: set[str]) -> BodyEntry:
    limits: dict[str, dict[str, OptionValue]] = {}
    for device in entry.placement.body.devices:
        if names and device.name not in names:
            continue
        rate = device.frame_rate if isinstance(device, Camera) else 0.0
        rate = device.scan_rate if isinstance(device, RangeSensor) else rate
        if rate > highest:
            limits[device.name] = {"rate": highest}
    return replace(entry, sensors={**entry.sensors, **limits}) if limits else entry


def _names(item: Item, *keys: str) -> set[str]:
    node = item.data.get(*keys)
    if isinstance(node, nodes.Sequence):
        return {x.text for x in node.items if isinstance(x, nodes.Scalar)}
    return {node.text} if isinstance(node, nodes.Scalar) and node.text else set()
