"""The controllers in examples/controllers do what they are for, also after a saved state."""

import numpy as np
import pytest
from paths import ROOT

from hrp_sim import Simulation

EXAMPLES = ROOT / "examples" / "controllers"


@pytest.fixture
def run(diagnostics):
    """Return a function that simulates an example for a time in [s]; it must not fail.

    On its way it goes on from a saved state, to the same state.
    """
    made = []

    def run(name, seconds):
        made.append(Simulation(EXAMPLES / f"{name}.yaml", diagnostics=diagnostics))
        made[-1].run(0.2)
        snapshot = made[-1].save()
        made[-1].run(0.2)
        expected = made[-1].state_hash()
        made[-1].restore(snapshot)
        made[-1].run(0.2)
        assert made[-1].state_hash() == expected
        made[-1].run(seconds - 0.4)
        assert made[-1].controllers.failures == []
        return made[-1]

    yield run
    for simulation in made:
        simulation.close()


def test_a_motion_by_pd_control(run):
    simulation = run("pd_motion", 2.0)
    q = simulation.bodies["arm"].motion.q
    np.testing.assert_allclose(q, [0.4, 0.3, 1.1, -0.5, 0.4, 0.8], atol=0.05)
    simulation.run(3.0)
    np.testing.assert_allclose(q, [0.0, 0.5, 0.9, 0.0, 0.6, 0.0], atol=0.02)


def test_a_tank_by_keys(run):
    simulation = run("tank", 2.0)
    motion = simulation.bodies["rover"].motion
    np.testing.assert_allclose(motion.p[0, :2], [1.0, 0.0], atol=0.05)
    simulation.run(3.0)
    assert motion.R[0, 1, 0] > 0.3  # it has turned left
    np.testing.assert_allclose(motion.v[0], 0.0, atol=1e-3)


def test_a_walk(run):
    simulation = run("walk", 11.0)
    body = simulation.bodies["humanoid"]
    feet = [body.body.link_index(f"{side}LEG_SOLE") for side in "LR"]
    np.testing.assert_allclose(body.motion.p[feet, 0], 0.15, atol=0.02)
    np.testing.assert_allclose(body.motion.p[feet, 2], 0.03, atol=2e-3)
    assert body.motion.R[0, 2, 2] > 0.999


def test_a_box_is_picked_and_placed(run):
    simulation = run("pick", 4.0)
    box = simulation.bodies["block"].motion
    assert box.p[0, 2] > 0.15
    simulation.run(5.0)
    np.testing.assert_allclose(box.p[0], [0.3, 0.4, 0.05], atol=5e-3)


def test_a_spring_that_hardens(run):
    simulation = run("spring", 5.0)
    q = float(simulation.bodies["hopper"].motion.q[0])
    assert q < 0.0
    assert 800 * q + 5e4 * q**3 == pytest.approx(-4.0 * 9.80665, rel=1e-4)
