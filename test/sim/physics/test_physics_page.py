"""The table of docs/physics.md is what its script measures."""

import importlib.util
import re
import sys

import pytest
from paths import ROOT

pytest.importorskip("mujoco", reason="mujoco, which the motions are compared with, is missing")

from hrp_sim.engine import Solver

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]\d+)?")


@pytest.fixture(scope="module")
def script():
    path = ROOT / "scripts" / "physics_table.py"
    spec = importlib.util.spec_from_file_location("physics_table", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def page_rows(script):
    text = script.PAGE.read_text()
    made = text.partition(script.BEGIN)[2].partition(script.END)[0]
    lines = [line for line in made.splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines]


def same(found, written):
    """Whether two cells agree: words exactly, numbers to a tenth, or both below rounding."""
    if NUMBER.sub("#", found) != NUMBER.sub("#", written):
        return False
    pairs = zip(NUMBER.findall(found), NUMBER.findall(written), strict=True)
    return all(float(a) == pytest.approx(float(b), rel=0.1, abs=1e-7) for a, b in pairs)


def test_free_motions_are_as_the_page_says(script):
    rows = page_rows(script)
    written = {(row[0], row[1]): row for row in rows if row[1] in ("world", "quick")}
    for motion in script.motions():
        found = script.free_row(motion, Solver.WORLD)
        page = written[motion.name, "world"]
        assert all(map(same, found, page)), (found, page)
    assert len(written) == 2 * sum(1 for _ in script.motions())


def test_quick_checks_are_as_the_page_says(script):
    written = {row[0]: row for row in page_rows(script)}
    for check in script.CHECKS:
        assert check.what in written
        if check.is_quick:
            found = script.check_row(check)
            assert all(map(same, found, written[check.what])), (found, written[check.what])
