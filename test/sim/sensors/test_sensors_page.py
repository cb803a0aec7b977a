"""docs/sensors.md says what the code does."""

import re
from dataclasses import fields

from page_tools import data_rows
from paths import ROOT

from hrp_sim import sensors
from hrp_sim.world.sensor_options import OPTIONS

PAGE = (ROOT / "docs" / "sensors.md").read_text(encoding="utf-8")


def test_the_table_of_options_is_that_of_the_code():
    table = {row[0]: row[1:] for row in data_rows("sensor_options")}
    assert list(table) == list(OPTIONS)
    for name, option in OPTIONS.items():
        kinds, default, values, meaning = table[name]
        assert kinds == (", ".join(sorted(option.metadata["kinds"])) or "all")
        assert option_value(default, option.default) == option.default
        assert values.startswith(", ".join(option.metadata.get("choices", ())))
        assert meaning == option.metadata["doc"]


def option_value(text, default):
    """Return a value of the table with the type of the default."""
    return text == "true" if isinstance(default, bool) else type(default)(text)


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
