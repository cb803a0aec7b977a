"""The short form of scripts/soak.py: bodies come and go, and the memory stays."""

import importlib.util
import mmap
import subprocess
import sys

import pytest
from paths import ROOT
from sim.ode.scenes import at, floor, moving

from hrp_sim.config import BodyEntry, WorldConfig
from hrp_sim.simulation import Simulation

MIB = 2**20


@pytest.fixture(scope="module")
def soak():
    spec = importlib.util.spec_from_file_location("soak", ROOT / "scripts/soak.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    path = list(sys.path)
    spec.loader.exec_module(module)
    module.SAMPLES = 20  # each collects garbage, which takes its time in a large process
    yield module
    sys.path[:] = path
    del sys.modules[spec.name]


@pytest.fixture(autouse=True)
def _no_ranges_aloud(caplog):
    caplog.set_level("ERROR", logger="hrp_sim")


def test_bodies_that_come_and_go_and_steps_leave_nothing():
    """In a process of its own: what other tests left to malloc is taken up at any time."""
    counts = ["--cycles", "1500", "--steps", "40000", "--seed", "1", "--bound", "0.5"]
    command = [sys.executable, ROOT / "scripts/soak.py", *counts]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_spawned_into_a_simulation_and_removed_leaves_nothing(soak):
    simulation = Simulation(WorldConfig(bodies=(BodyEntry(placement=floor()),)))

    def cycle():
        for body in soak.bodies():
            simulation.spawn(BodyEntry(placement=moving(body, at(z=1.0))))
            simulation.step()
            simulation.remove(body.name)
        simulation.reset()

    growth = soak.watch(cycle, 40)
    assert not growth.exceeds(2 * MIB), growth


class Leak:
    """Takes two pages from the system at every call: malloc might have some left."""

    def __init__(self):
        self.kept = []

    def __call__(self):
        pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        pages.write(b"x" * (2 * mmap.PAGESIZE))
        self.kept.append(pages)


def test_growth_is_noticed(soak):
    growth = soak.watch(Leak(), 3000)
    assert growth.exceeds(4 * MIB)
    assert growth.slope == pytest.approx(2 * mmap.PAGESIZE, rel=0.2)


def test_the_command_prints_what_it_measured(soak, capsys):
    assert soak.main(["--cycles", "20", "--steps", "200", "--seed", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "cycles",
        "steps, solver 'world'",
        "steps, solver 'quick'",
    ]
    assert all("within 4 MiB" in line and "bytes each" in line for line in lines)


def test_the_command_fails_on_growth(soak, monkeypatch, capsys):
    monkeypatch.setattr(soak, "Cycles", lambda seed: Leak())
    assert soak.main(["--cycles", "1000", "--steps", "0"]) == 1
    assert "GROWS by more than 4 MiB" in capsys.readouterr().out
