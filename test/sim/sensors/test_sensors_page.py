"""docs/sensors.md says what the code does."""

import re
from dataclasses import fields
from math import inf

from paths import ROOT

from hrp_sim import sensors
from hrp_sim.world.sensor_options import OPTIONS

PAGE = (ROOT / "docs" / "sensors.md").read_text(encoding="utf-8")


def written(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else value


def row(name):
    """Return the line of the table for an option."""
    option = OPTIONS[name]
    rules, default = option.metadata, written(option.default)
    values = ", ".join(f"`{choice}`" for choice in rules.get("choices", ()))
    if isinstance(option.default, float):
        least, most = rules.get("minimum", -inf), rules.get("maximum", inf)
        values = f"{least:g} and more" if most == inf else f"{least:g} to {most:g}"
    kinds = ", ".join(sorted(rules["kinds"])) or "all"
    return f"| `{name}` | {kinds} | `{default}` | {values} | {rules['doc']} |"


def test_the_table_is_that_of_the_code():
    lines = PAGE[PAGE.index("| option |") :].split("\n\n")[0].splitlines()[2:]
    assert lines == [row(name) for name in OPTIONS]


def test_readings_hold_what_the_page_says():
    rows = [line for line in PAGE.splitlines() if re.match(r"\|[^|]*\| `\w+Reading` \|", line)]
    told = {}
    for line in rows:
        name, *attributes = re.findall(r"`(\w+)(?:\(\))?`", line.split("|", 2)[2])
        told[name] = attributes
        reading = getattr(sensors, name)
        for attribute in attributes:
            assert attribute in {f.name for f in fields(reading)} or hasattr(reading, attribute)
    assert set(told) == {name for name in sensors.__all__ if re.fullmatch(r"\w+Reading", name)}
