"""The short form of scripts/soak.py: bodies come and go, sensors are read, the memory stays."""

import gc
import mmap
import subprocess
import sys
from dataclasses import replace

import memory
import pytest
from memory import MIB, watch
from paths import ROOT
from sim.physics.scenes import at, floor, moving
from sim.render.scenes import needs_opengl, why_no_opengl
from sim.soaked import RATES, Sensors, WrongSampleError, bodies

from hrp_sim.engine.engine import Solver
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig
from scripts import soak


@pytest.fixture(scope="module", autouse=True)
def _few_samples():
    samples, memory.SAMPLES = memory.SAMPLES, 20
    gc.freeze()  # each sample collects garbage: what other tests left is none of its matter
    yield
    gc.unfreeze()
    memory.SAMPLES = samples


@pytest.fixture(autouse=True)
def _no_ranges_aloud(caplog):
    caplog.set_level("ERROR", logger="hrp_sim")


def run_apart(*arguments):
    """Return what the command prints, in a process of its own.

    What other tests left to malloc is taken up at any time.
    """
    command = [sys.executable, ROOT / "scripts/soak.py", "memory", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_bodies_that_come_and_go_and_steps_leave_nothing():
    run_apart(
        "--cycles", "1000", "--steps", "25000", "--sensors", "0", "--seed", "1", "--bound", "0.35"
    )


def test_a_minute_of_sensors_has_every_sample_once_and_leaves_nothing():
    printed = run_apart("--cycles", "0", "--steps", "0", "--sensors", "60", "--bound", "1")
    for words in ("joint_states 30000", "odometry 6000", "gyro 24000", "scanner 2400"):
        assert words in printed
    assert why_no_opengl() or "camera 1800" in printed


@pytest.mark.parametrize("name", ["gyro", "scanner", pytest.param("camera", marks=needs_opengl)])
@pytest.mark.parametrize("deed", ["drop", "drop the last", "delay", "double"])
def test_a_wrong_sample_is_noticed(deed, name, monkeypatch):
    sensors, step, seen = Sensors(), Simulation.step, []

    def spoiled(simulation):
        readings = step(simulation)
        if name in readings:
            seen.append(readings[name])
            if (deed, len(seen)) in (("drop", 3), ("drop the last", RATES[name])):
                del readings[name]
            elif (deed, len(seen)) == ("delay", 3):
                readings[name] = replace(seen[2], time_ns=seen[2].time_ns + 1_000_000)
        elif (deed, len(seen)) == ("double", 3):
            readings[name] = seen[2]
            seen.append(None)
        return readings

    monkeypatch.setattr(Simulation, "step", spoiled)
    complaint = "samples in 1 s" if deed == "drop the last" else r"sample [34] is of"
    with pytest.raises(WrongSampleError, match=complaint):
        sensors()
    sensors.close()


def test_what_is_spawned_into_a_simulation_and_removed_leaves_nothing():
    simulation = Simulation(WorldConfig(bodies=(BodyEntry(placement=floor()),)))

    def cycle():
        for body in bodies():
            simulation.spawn(BodyEntry(placement=moving(body, at(z=1.0))))
            simulation.step()
            simulation.remove(body.name)
        simulation.reset()

    growth = watch(cycle, 40)
    assert not growth.exceeds(2 * MIB), growth


class Leak:
    """Takes two pages from the system at every call: malloc might have some left."""

    def __init__(self):
        self.kept = []

    def __call__(self):
        pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        pages.write(b"x" * (2 * mmap.PAGESIZE))
        self.kept.append(pages)


def test_growth_is_noticed():
    growth = watch(Leak(), 3000)
    assert growth.exceeds(4 * MIB)
    assert growth.slope == pytest.approx(2 * mmap.PAGESIZE, rel=0.2)


def test_the_command_prints_what_it_measured(capsys):
    counts = ["--cycles", "20", "--steps", "200", "--sensors", "10", "--seed", "3"]
    assert soak.main(["memory", *counts]) == 0
    printed = capsys.readouterr()
    *lines, samples = printed.out.splitlines()
    solvers = [f"steps, solver '{solver.value}'" for solver in Solver]
    names = ["cycles", *solvers, "seconds of sensors"]
    assert [line.split(":")[0] for line in lines] == names
    assert all("within 4 MiB" in line and "bytes each" in line for line in lines)
    assert "force 5000" in samples
    for name in names:  # also where it is going
        assert f"{name}: " in printed.err


def test_the_command_fails_on_growth(monkeypatch, capsys):
    monkeypatch.setattr(soak, "Cycles", lambda seed: Leak())
    assert soak.main(["memory", "--cycles", "1000", "--steps", "0", "--sensors", "0"]) == 1
    assert "GROWS by more than 4 MiB" in capsys.readouterr().out
