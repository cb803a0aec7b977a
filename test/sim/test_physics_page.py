"""docs/physics.md says what the code does."""

import re
from dataclasses import fields

import pytest
from page_tools import data_rows
from paths import ROOT

from hrp_model import Diagnostics, Severity
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.world.load import load_world
from hrp_sim.world.reporting import CODES

PAGE = (ROOT / "docs" / "physics.md").read_text(encoding="utf-8")
PAGE = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)


def table(first):
    """Return the rows of the table whose first heading this is, without those above."""
    lines = PAGE[PAGE.index(f"| {first} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


SETTINGS = {quoted(row[0])[0]: row for row in table("name")}


def physics(text, tmp_path):
    """Return the settings that a world file of this text gives, and what was said of it."""
    path = tmp_path / "world.yaml"
    path.write_text(f"physics: {{ {text} }}\nbodies: []\n", encoding="utf-8")
    diagnostics = Diagnostics.silent()
    return load_world(path, diagnostics).physics, diagnostics.found


def test_every_setting_has_a_row():
    plain = {f.name for f in fields(PhysicsSettings) if type(f.default).__name__ != "MaterialTable"}
    assert plain - {"materials", "convex_meshes"} <= set(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_other_names_mean_the_same(name, tmp_path):
    values = quoted(SETTINGS[name][2]) or [SETTINGS[name][2].split(", ")[-1]]
    for other in quoted(SETTINGS[name][1]):
        for value in values:
            value = "1000" if "rame" in other else value
            told, found = physics(f"{other}: {value}", tmp_path)
            assert (told, found) == physics(f"{name}: {values[0]}", tmp_path)
            assert found == []


def test_every_advice_is_in_the_table():
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "hrp_sim" / "world" / "advice").glob("*.py")
    )
    given = set(re.findall(r'(?:warning|note)\(\s*"([a-z-]+)"', source))
    names = f"{Severity.WARNING.name}|{Severity.NOTE.name}"
    given |= set(re.findall(rf'Severity\.(?:{names}), "([a-z-]+)"', source))
    assert {row[0] for row in data_rows("advice")} == given
    assert given <= set(CODES)
