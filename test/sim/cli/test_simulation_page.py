"""docs/simulation.md names the worlds, quantities and units that there are."""

import re

from paths import ROOT

from hrp_sim import Simulation, load_world
from hrp_sim.run.summary import expectations, quantities
from hrp_sim.world.world_names import DEFAULT_WORLD, bundled_worlds

PAGE = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")


def quoted(text):
    return re.findall(r"`([^`\n]+)`", text)


def test_the_page_lists_every_quantity_with_its_unit():
    known = {}
    for world in ("humanoid_in_room", "press", ROOT / "test/data/robots/turnstile.wrl"):
        simulation = Simulation(load_world(world), defer_images=True)
        bodies, sensors = sorted(simulation.bodies, key=len), sorted(simulation.sensors, key=len)
        for name, unit in quantities(simulation).items():
            place, _, field = name.rpartition(".")
            if ".joint." in name:
                field = f"BODY.joint.JOINT.{field}"
            elif place in bodies:
                field = f"BODY.{field}"
            elif place in sensors:
                continue  # those of the fields of its readings, docs/sensors.md
            else:
                field = name
            known.setdefault(field, set()).add(unit)
        simulation.close()
    listed = {}
    for names, units, _ in re.findall(r"^\| (`.*`) \| (.*?) ?\| (.*) \|$", PAGE, re.MULTILINE):
        fields, words = quoted(names), re.split(r", | or ", units.strip())
        one_each = "," in units
        for i, field in enumerate(fields):
            if field == "SENSOR.NUMBER":
                continue
            listed[field] = {words[i]} if one_each else set(words)
    assert listed == known


def test_the_page_lists_every_further_unit_and_every_world():
    names = set(quoted(PAGE))
    assert set(expectations._MULTIPLES) <= names
    assert set(bundled_worlds()) <= names
    assert f"the default world, {DEFAULT_WORLD}" in PAGE
