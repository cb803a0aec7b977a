"""The scripts that measure many models, many sizes and many steps, in short."""

import csv
import json
import logging
from functools import partial

import pytest
from paths import ROOT

from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Solver
from hrp_sim.engine.ode import OdeEngine
from scripts import data_tables, soak
from scripts.bench import models as real_time
from scripts.bench import size as cost
from scripts.bench import start
from scripts.program import run_program


@pytest.fixture(autouse=True)
def _logging_as_before(monkeypatch):
    monkeypatch.setattr("logging.disable", lambda _level: None)
    logger = logging.getLogger("hrp_sim")
    level = logger.level
    yield
    logger.setLevel(level)


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch):
    monkeypatch.setattr(soak, "PART", 40)
    monkeypatch.setattr(soak, "BATCH", 20)


def run(*arguments):
    return run_program("bench", {"size": "", "start": ""}, arguments)


def test_a_model_is_measured_limp_and_holding():
    path = ROOT / "models" / "arm" / "arm.body"
    result = real_time.measure(path, "arm", seconds=0.02)
    assert (result.joints, result.shapes, result.error) == (6, 11, "")
    assert set(result.ours) == {"limp", "holding"}
    for timing in result.ours.values():
        assert timing.us > 0.0 < timing.factor
    (row,) = real_time.rows_of([result])
    assert row[:3] == ["arm", "6", "11"]


@pytest.mark.parametrize("name", ["chain", "boxes", "robots", "contacts", "wall"])
def test_every_family_has_worlds_of_its_sizes(name):
    family = cost.FAMILIES[name]
    size = family.sizes[1]
    engine = OdeEngine(PhysicsSettings(**family.settings))
    bodies = [engine.add_body(placement) for placement in family.make(size)]
    engine.step(3)
    counted = {
        "chain": len(bodies[0].motion.q),
        "contacts": engine.contacts,
    }.get(name, len(bodies) - 1)
    assert counted == size
    engine.close()


def write_into(folder, monkeypatch):
    write = partial(data_tables.write_tables, folder=folder)
    monkeypatch.setattr(data_tables, "write_tables", write)


def test_curves_are_measured_written_and_drawn(tmp_path, monkeypatch):
    table, picture = tmp_path / "cost_over_size.csv", tmp_path / "pictures" / "cost.svg"
    write_into(tmp_path, monkeypatch)
    monkeypatch.setattr(cost, "PICTURE", picture)
    monkeypatch.setattr(cost, "SETTLING", 3)
    arguments = ["--family", "contacts", "--seconds", "0.001", "--page"]
    about = tmp_path / "measured_on.csv"
    about.write_text("table,rounds,commit\ncost_over_size,old,old\nspeed,others,stay\n")
    assert run("size", *arguments) == 0
    with about.open(newline="") as file:
        _, (name, rounds, *where), other = csv.reader(file)
    assert (name, rounds) == ("cost_over_size", f"medians of {cost.ROUNDS} rounds")
    assert len(where) == 3
    assert all(where)
    assert other == ["speed", "others", "stay"]
    with table.open(newline="") as file:
        header, first, *rows = csv.reader(file)
    assert header[2:] == [f"{solver.value} [us]" for solver in Solver]
    assert first[:2] == ["contacts of one body", "4"]
    assert all(float(cell) > 0.0 for cell in first[2:])
    assert rows[-1][1] == "exponent"
    assert "contacts of one body" in picture.read_text()


def test_the_start_of_commands_is_compared_with_an_import(tmp_path, monkeypatch):
    write_into(tmp_path, monkeypatch)
    monkeypatch.setattr(start, "COMMANDS", start.COMMANDS[:1])
    assert run("start", "--rounds", "1", "--page") == 0
    with (tmp_path / "start.csv").open(newline="") as file:
        _, (command, ratio, memory) = csv.reader(file)
    assert command == "hrp-sim --version"
    assert float(ratio) > 0.0 < float(memory)


@pytest.mark.parametrize("scene", ["tracks", pytest.param("humanoid", marks=pytest.mark.slow)])
def test_a_soak_that_was_ended_goes_on_as_if_it_had_not_been(scene, tmp_path):
    arguments = ["--scene", scene, "--bound", "1000"]
    assert soak.main(["scenes", str(tmp_path / "whole"), *arguments, "--steps", "80"]) == 0
    for steps in ("40", "80", "80"):
        assert soak.main(["scenes", str(tmp_path / "parts"), *arguments, "--steps", steps]) == 0
    whole, parts = (
        json.loads((tmp_path / name / f"{scene}-world.json").read_text())
        for name in ("whole", "parts")
    )
    assert whole["steps"] == parts["steps"] == 80
    assert whole["digest"] == parts["digest"]


def test_a_soak_counts_failed_steps(tmp_path, monkeypatch, capsys):
    real, calls = OdeEngine.step, []

    def step(engine, count=1):
        calls.append(count)
        if len(calls) == 2:
            raise PhysicsError("its motion has diverged")
        real(engine, count)

    monkeypatch.setattr(OdeEngine, "step", step)
    arguments = ["--scene", "tracks", "--steps", "80", "--bound", "1000"]
    assert soak.main(["scenes", str(tmp_path), *arguments]) == 1
    printed = capsys.readouterr().out
    assert "1 failed" in printed
    assert "its motion has diverged" in printed
