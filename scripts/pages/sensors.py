"""Write the tables of sensors: docs/data/sensors.csv, sensor_fields.csv and sensor_options.csv.

They are those from which the program creates topics, summaries, observations and options.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from math import inf
from pathlib import Path
from typing import Any, get_args, get_type_hints

from hrp_sim.sensors.base import Field
from hrp_sim.sensors.kinds import KINDS, AnyKind, AnyTopic
from hrp_sim.world.sensor_options import OPTIONS
from scripts.data_tables import DATA, Table, write_tables

_DEVICE = "<sensor>"
_OF_ALL = ("time_ns", "body")  # fields of every reading


def topic_table() -> Table:
    """Return the table of the topics of all kinds of sensors."""
    rows = [row for kind in KINDS for topic in kind.topics for row in _of_topic(topic)]
    return ["topic", "type", "QoS", "device", "contents"], rows


def _of_topic(topic: AnyTopic) -> Iterator[list[str]]:
    """Yield the rows of a topic, and of its compressed images."""
    name, quality = topic.name.format(_DEVICE), "image" if topic.size is None else "sensor"
    names = f"{topic.only} or {name}" if topic.only else name
    yield [names, topic.message, quality, topic.device, topic.contents]
    if topic.compressed is not None:
        below, kind = f"{name}/{topic.compressed[0]}", "sensor_msgs/CompressedImage"
        yield [below, kind, quality, topic.device, "the same, compressed"]


def field_table() -> Table:
    """Return the table of the fields of all readings."""
    header = ["sensor", "reading", "field", "meaning", "number in results", "observed as"]
    made = ((kind, reading) for kind in KINDS for reading in _readings(kind))
    return header, [row for kind, reading in made for row in _of(kind, reading)]


def _readings(kind: AnyKind) -> list[type]:
    """Return the classes of the readings of a kind of sensor."""
    hints = (
        get_type_hints(getattr(sensor, "reading", sensor.read))["return"] for sensor in kind.sensors
    )
    return [next(c for c in get_args(hint) or (hint,) if c is not type(None)) for hint in hints]


def _of(kind: AnyKind, reading: type) -> Iterator[list[str]]:
    known = {field.name: field for field in kind.fields}
    for name, meaning in attributes(reading).items():
        if name not in _OF_ALL:
            yield [kind.name, reading.__name__, name, meaning, *_uses(known.get(name))]


def _uses(field: Field[Any] | None) -> tuple[str, str]:
    """Return the number that summarizes a field, and the type of its observations."""
    if field is None:
        return "", ""
    unit = f" [{field.unit}]" if field.unit else ""
    how = inspect.cleandoc(field.summarize.__doc__ or "").removeprefix("Return ").rstrip(".")
    number = f"{field.number}{unit}: {how}" if field.number else ""
    return number, "" if field.bounds is None else field.dtype.__name__


def attributes(reading: type) -> dict[str, str]:
    """Return the meanings of the fields of a reading, from the docstrings of its classes."""
    found: dict[str, str] = {}
    for base in reversed(reading.__mro__[:-1]):
        _, _, text = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")
        for name, meaning in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE):
            found[name] = re.sub(r"\s+", " ", meaning).rstrip(".").replace("``", "")
    assert list(found) == [field.name for field in fields(reading)]
    return found


def option_table() -> Table:
    """Return the table of the options of sensors."""
    rows = []
    for option in OPTIONS.values():
        rules = option.metadata
        values = ", ".join(rules.get("choices", ()))
        if isinstance(option.default, float):
            least, most = rules.get("minimum", -inf), rules.get("maximum", inf)
            values = f"{least:g} and more" if most == inf else f"{least:g} to {most:g}"
        kinds = ", ".join(sorted(rules["kinds"])) or "all"
        default = option.default
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        if isinstance(default, bool):
            shown = shown.lower()
        rows.append([option.name, kinds, shown, values, rules["doc"]])
    return ["option", "for", "default", "values", "meaning"], rows


TABLES = {
    "sensors": topic_table,
    "sensor_fields": field_table,
    "sensor_options": option_table,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("-o", "--output", type=Path, default=DATA, metavar="FOLDER")


def run(options: argparse.Namespace) -> int:
    """Write the tables."""
    write_tables({name: table() for name, table in TABLES.items()}, options.output)
    return 0
