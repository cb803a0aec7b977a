"""The humanoid of our demonstration walks, stays up when pushed, and gets up after a fall."""

import numpy as np
import pytest
from paths import ROOT

from hrp_sim import Simulation

SCENARIOS = ROOT / "examples" / "scenarios"


@pytest.fixture
def walking():
    with Simulation("walking_humanoid") as simulation:
        yield simulation
        assert simulation.controllers.failures == []


def test_it_walks_and_stays_up_when_pushed(hrp_scenario):
    hrp_scenario(SCENARIOS / "walk.scenario.yaml")


@pytest.mark.slow
@pytest.mark.timeout(3600)  # it simulates ten minutes
def test_it_walks_ten_minutes_with_uneven_pushes(hrp_scenario):
    hrp_scenario(SCENARIOS / "walk_ten_minutes.scenario.yaml")


def test_it_goes_on_from_a_saved_state_bit_by_bit(walking):
    walking.run(1.0)
    snapshot = walking.save()
    walking.run(0.5)
    expected = walking.state_hash()
    walking.restore(snapshot)
    walking.run(0.5)
    assert walking.state_hash() == expected


def test_it_stands_again_after_a_fall(walking):
    height = walking.bodies["humanoid"].motion.p[0]
    walking.run(0.5)
    walking.push("humanoid", "CHEST", np.array([900.0, 0.0, 0.0]), np.zeros(3), 0.1)
    walking.run(1.5)
    assert height[2] < 0.4
    walking.run(4.0)
    assert height[2] > 0.65


def test_the_rover_drives_a_round_until_somebody_takes_over():
    with Simulation("driving_rover") as simulation:
        motion = simulation.bodies["rover"].motion
        simulation.run(1.0)
        assert motion.p[0, 0] > 0.1
        simulation.command("rover", velocity={"TRACK_L": 0.0, "TRACK_R": 0.0})
        simulation.run(1.0)
        np.testing.assert_allclose(motion.v[0], 0.0, atol=1e-3)
        simulation.reset()
        simulation.run(1.0)
        assert motion.p[0, 0] > 0.1
