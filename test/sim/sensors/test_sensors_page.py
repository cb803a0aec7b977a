"""The tables of docs/sensors.md are those of the code, which names all readings."""

import re

import pytest
from page_tools import data_rows

from hrp_sim import sensors
from hrp_sim.sensors.kinds import KINDS
from scripts.pages.sensors import TABLES


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_that_of_the_code(name):
    _, rows = TABLES[name]()
    assert data_rows(name) == list(map(list, rows))


def test_every_reading_is_in_the_table_with_the_units_of_its_fields():
    rows = data_rows("sensor_fields")
    known = {name for name in sensors.__all__ if re.fullmatch(r"\w+Reading", name)}
    assert {reading for _, reading, *_ in rows} == known
    units = {(kind.name, field.name): field.unit for kind in KINDS for field in kind.fields}
    for kind, _, field, meaning, *_ in rows:
        for unit in filter(None, units.get((kind, field), "").split(" or ")):
            assert f"[{unit}]" in meaning
    assert units.keys() <= {(kind, field) for kind, _, field, *_ in rows}
