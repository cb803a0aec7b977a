"""A sensor whose numbers make no sense is left out; the world runs."""

from dataclasses import replace

import numpy as np
import pytest
from sim.ode.scenes import at, lone, moving

from hrp_model import Pose
from hrp_model.devices import RangeSensor
from hrp_sim.config import BodyEntry, WorldConfig
from hrp_sim.simulation import Simulation

SCAN = RangeSensor(
    name="scan",
    link="BASE",
    yaw_range=1.0,
    yaw_step=0.1,
    min_distance=0.1,
    max_distance=10.0,
    scan_rate=100.0,
)


@pytest.mark.parametrize(
    "bad",
    [
        {"X_LS": at(1e300)},
        {"X_LS": at(float("nan"))},
        {"X_LS": Pose(np.diag([1.0, 1.0, 2.0]), np.zeros(3))},
        {"max_distance": float("nan")},
        {"yaw_step": 1e-300},
        {"scan_rate": float("inf")},
    ],
)
def test_a_scanner_that_cannot_be_is_left_out(bad, diagnostics):
    body = replace(lone(), devices=(replace(SCAN, **bad),))
    world = WorldConfig(bodies=(BodyEntry(placement=moving(body)),))
    simulation = Simulation(world, diagnostics=diagnostics)
    assert "'scan' of body 'thing' is left out" in diagnostics.take("unusable-device").message
    for _ in range(20):
        assert "scan" not in simulation.step()
