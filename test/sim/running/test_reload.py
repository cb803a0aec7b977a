"""A world that is loaded again when its files change."""

import shutil
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from paths import MODELS
from run_tools import OnStep

from hrp_sim import Simulation
from hrp_sim.run.reload import Reloader, carry_over
from hrp_sim.run.run import Run

PATIENCE = 300.0  # [s] after which a test that would hang fails instead


@pytest.fixture
def world(tmp_path):
    """A copy of the world "arm" with its models."""
    for name in ("arm", "floor.body"):
        source = MODELS / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    (tmp_path / "worlds").mkdir()
    return shutil.copy(MODELS / "worlds" / "arm.yaml", tmp_path / "worlds" / "arm.yaml")


@contextmanager
def reloading(load, world):
    """Run a world that is loaded again after changes; yield the run, and an event of a change."""
    changed = threading.Event()
    reloader = Reloader(load)
    with reloader.watch.recording():
        first = Simulation(world)
    runner = Run(first, [OnStep()])
    runner.add(OnStep(changed=lambda x: changed.set() if x.name == "REPLACE" else None))
    thread = threading.Thread(target=runner.run)
    thread.start()
    reloader.start(runner)
    try:
        yield runner, changed
    finally:
        runner.stop()
        thread.join()
        reloader.close()
        first.close()


def replaced(path, old, new):
    text = path.read_text()
    assert old in text
    part = path.with_name("part")
    part.write_text(text.replace(old, new))
    part.replace(path)  # at once: nobody reads a part of it


def test_clock_and_states_are_carried_over_where_the_joints_are_the_same():
    with Simulation("rover") as before, Simulation("rover") as after, Simulation("arm") as other:
        before.command("rover", {"TRACK_L": 1.0, "TRACK_R": 1.0})
        for _ in range(300):
            before.step()
        carry_over(before, after)
        assert after.state.time_ns == 300_000_000
        last, motion = before.bodies["rover"].motion, after.bodies["rover"].motion
        np.testing.assert_allclose(motion.p, last.p, atol=1e-9)
        np.testing.assert_allclose(motion.v, last.v, atol=1e-9)
        np.testing.assert_allclose(motion.dq, last.dq, atol=1e-9)
        q = other.bodies["arm"].motion.q.copy()
        carry_over(before, other)  # no body of these joints
        np.testing.assert_array_equal(other.bodies["arm"].motion.q, q)
        assert other.state.time_ns == 300_000_000


def test_a_change_of_a_model_replaces_the_simulation_of_a_run(world):
    loaded = []

    def load():
        loaded.append(Simulation(world))
        return loaded[-1]

    with reloading(load, world) as (runner, changed):
        runner.simulation.command("arm", {"J1": 0.4})
        runner.call(lambda: None)
        model = world.parent.parent / "arm" / "arm.body"
        replaced(model, "name: TOOL", "name: HAND")
        assert changed.wait(PATIENCE)
        simulation = runner.simulation
        assert simulation is loaded[0]
        assert simulation.bodies["arm"].body.links[-1].name == "HAND"
        assert simulation.state.time_ns > 0


@pytest.mark.parametrize("error", [None, OSError("the disk is gone")])
def test_a_world_that_does_not_load_changes_nothing_until_it_is_repaired(world, error, caplog):
    failed = threading.Event()

    def load():
        if "name: {" in world.read_text():
            failed.set()
            if error is not None:
                raise error
            return None
        return Simulation(world)

    with reloading(load, world) as (runner, changed):
        first = runner.simulation
        replaced(world, "name: arm", "name: {arm")
        assert failed.wait(PATIENCE)
        assert runner.simulation is first
        replaced(world, "name: {arm", "name: robot")
        assert changed.wait(PATIENCE)
        assert "robot" in runner.simulation.bodies
    assert ("cannot be loaded again" in caplog.text) == (error is not None)
