"""Probes: what they refuse, and that readings of one sample do not disturb each other."""

from math import inf

import numpy as np
import pytest
from sim.sensors.handmade import ARM, arm_world, random_pose

from hrp_model import Pose
from hrp_model.rigid import ZERO_3
from hrp_sim import Simulation, load_world
from hrp_sim.sensors._probe import INERTIAL, ROOT, WRENCH_ON_LINK, WRENCH_ON_PARENT, Probe, measure
from hrp_sim.sensors.base import Probes, make_probe, measure_one

UNLIMITED = np.full((2, 3), inf)


def motion_of(world):
    return world.bodies["r1"].motion


def inertial(link=ARM):
    return make_probe(INERTIAL, link, Pose(), (None, None))


def test_probes_measured_together_are_the_same_as_one_by_one():
    rng = np.random.default_rng(3)
    fields = "p", "v", "w", "a", "alpha", "force", "torque"
    values = {name: rng.normal(size=3) for name in fields}
    motion = motion_of(arm_world(R=random_pose(rng).R, **values))
    kinds = WRENCH_ON_LINK, ROOT, INERTIAL, WRENCH_ON_PARENT
    limits = np.full(3, 0.5), None
    probes = [make_probe(kind, ARM, random_pose(rng), limits, rng.normal(size=3)) for kind in kinds]
    together = Probes(probes, [motion] * len(probes)).measure()
    apart = np.concatenate([measure_one(probe, motion) for probe in probes])
    np.testing.assert_array_equal(together, apart)
    assert together.shape == (9, 3)


def test_a_probe_follows_the_body_that_it_is_asked_about():
    probe = inertial()
    one, other = (motion_of(arm_world(w=[0.0, 0.0, speed])) for speed in (1.0, 2.0))
    assert [measure_one(probe, motion)[0, 2] for motion in (one, other, one)] == [1.0, 2.0, 1.0]
    one.w[ARM, 2] = 3.0
    assert measure_one(probe, one)[0, 2] == 3.0


def test_vectors_cannot_be_written():
    vectors = measure_one(inertial(), motion_of(arm_world()))
    with pytest.raises(ValueError, match="read-only"):
        vectors[0][0] = 1.0


def test_earlier_readings_stay_as_they_were(diagnostics):
    with Simulation(load_world("arm", diagnostics), diagnostics=diagnostics) as simulation:
        first = simulation.run(0.01)["odometry"]
        before = first.position.tolist(), first.linear_velocity.tolist()
        simulation.run(0.1)
        assert (first.position.tolist(), first.linear_velocity.tolist()) == before


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": 9}, "no such kind"),
        ({"kind": -1}, "no such kind"),
        ({"link": -1}, "no such link"),
        ({"R_LS": np.eye(2)}, "R_LS must be an array of at least 9 float64"),
        ({"p_LS": np.zeros(3, dtype=np.float32)}, "p_LS must be an array"),
        ({"limits": np.zeros(3)}, "limits must be an array of at least 6"),
    ],
)
def test_a_bad_probe_is_refused(values, message):
    good = {"kind": INERTIAL, "link": 0, "R_LS": np.eye(3), "p_LS": ZERO_3, "g_W": ZERO_3}
    with pytest.raises(ValueError, match=message):
        Probe(**{**good, "limits": UNLIMITED, **values})


def test_a_bad_measurement_is_refused():
    motion, room = motion_of(arm_world()), np.empty((2, 3))
    with pytest.raises(ValueError, match="p must be an array of at least 9 float64"):
        measure((inertial(link=2),), (motion,), room)  # the body has two links
    with pytest.raises(ValueError, match="each probe needs a motion"):
        measure((inertial(),), (), room)
    with pytest.raises(ValueError, match="vectors must be an array of at least 12"):
        measure((inertial(), inertial()), (motion, motion), room)
    with pytest.raises(TypeError, match="expected probes"):
        measure((motion,), (motion,), room)
    with pytest.raises(AttributeError):
        measure((inertial(),), (room,), room)
    room.setflags(write=False)
    with pytest.raises((ValueError, BufferError)):
        measure((inertial(),), (motion,), room)
