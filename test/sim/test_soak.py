"""The short form of scripts/soak.py: bodies come and go, sensors are read, the memory stays."""

import gc
import subprocess
import sys

import memory
import pytest
from memory import MIB, watch
from paths import ROOT
from sim.physics.scenes import at, floor, moving
from sim.render.scenes import why_no_opengl
from sim.soaked import bodies

from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig


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


def test_seconds_of_sensors_have_every_sample_once_and_leave_nothing():
    printed = run_apart("--cycles", "0", "--steps", "0", "--sensors", "20", "--bound", "1")
    for words in ("joint_states 10000", "odometry 2000", "gyro 8000", "scanner 800"):
        assert words in printed
    assert why_no_opengl() or "camera 600" in printed


def test_what_is_spawned_into_a_simulation_and_removed_leaves_nothing():
    simulation = Simulation(WorldConfig(bodies=(BodyEntry(placement=floor()),)))

    def cycle():
        for body in bodies():
            simulation.spawn(BodyEntry(placement=moving(body, at(z=1.0))))
            simulation.step()
            simulation.remove(body.name)
        simulation.reset()

    growth = watch(cycle, 20)
    assert not growth.exceeds(2 * MIB), growth
