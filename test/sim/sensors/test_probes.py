"""Probes: what they refuse, and that readings of one sample do not disturb each other."""

import copy
import pickle
from dataclasses import fields, replace
from math import inf

import numpy as np
import pytest
from sim.sensors.handmade import ARM, arm_world, random_pose

from hrp_model import Pose
from hrp_model.rigid import ZERO_3
from hrp_msgs.readings import ImuReading, JointReading, WrenchReading
from hrp_sim import Simulation, load_world
from hrp_sim.sensors._probe import INERTIAL, ROOT, WRENCH_ON_LINK, WRENCH_ON_PARENT, Probe, measure
from hrp_sim.sensors.base import make_probe, measure_one, vectors_of

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
    together = measure(tuple(probes), (motion,) * len(probes))
    assert together == tuple(measure_one(probe, motion) for probe in probes)
    assert [len(vectors_of(measured)) for measured in together] == [2, 3, 2, 2]


def test_a_probe_follows_the_body_that_it_is_asked_about():
    probe = inertial()
    one, other = (motion_of(arm_world(w=[0.0, 0.0, speed])) for speed in (1.0, 2.0))
    speeds = [vectors_of(measure_one(probe, m))[0, 2] for m in (one, other, one)]
    assert speeds == [1.0, 2.0, 1.0]
    one.w[ARM, 2] = 3.0
    assert vectors_of(measure_one(probe, one))[0, 2] == 3.0


def test_vectors_cannot_be_written():
    vectors = vectors_of(measure_one(inertial(), motion_of(arm_world())))
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
    motion = motion_of(arm_world())
    with pytest.raises(ValueError, match="p must be an array of at least 9 float64"):
        measure((inertial(link=2),), (motion,))  # the body has two links
    with pytest.raises(ValueError, match="each probe needs a motion"):
        measure((inertial(),), ())
    with pytest.raises(TypeError, match="expected probes"):
        measure((motion,), (motion,))
    with pytest.raises(AttributeError):
        measure((inertial(),), (None,))


SIX = np.arange(6.0)
STDEVS = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), (0.7, 0.8, 0.9)
# Made of numbers, and of arrays.
ALIKE = [
    (WrenchReading.late(5, "r1", SIX.tobytes()), WrenchReading(5, "r1", SIX[:3], SIX[3:])),
    (
        ImuReading.late(5, "r1", SIX.tobytes(), None, STDEVS),
        ImuReading(5, "r1", SIX[:3], SIX[3:], None, *STDEVS),
    ),
    (
        JointReading.late(5, "r1", ("a", "b"), SIX.tobytes()),
        JointReading(5, "r1", ("a", "b"), *SIX.reshape(3, 2)),
    ),
    (JointReading.late(5, "r1", (), b""), JointReading(5, "r1", (), *np.empty((3, 0)))),
]


def values_of(reading):
    return [np.asarray(getattr(reading, x.name), dtype=object).tolist() for x in fields(reading)]


@pytest.mark.parametrize(("late", "ordinary"), ALIKE)
def test_readings_made_of_numbers_are_like_those_made_of_arrays(late, ordinary):
    copies = copy.copy(late), copy.deepcopy(late), pickle.loads(pickle.dumps(late)), replace(late)
    for found in (*copies, late):
        assert type(found) is type(ordinary)
        assert values_of(found) == values_of(ordinary)
        assert found.numbers == ordinary.numbers
    assert str(late) == str(ordinary)
    with pytest.raises(AttributeError, match=f"'{type(late).__name__}' object has no .* 'colour'"):
        late.colour  # noqa: B018


def test_an_imu_without_gyro_has_the_numbers_of_its_accelerometer():
    assert ImuReading(0, "r1", None, SIX[:3]).numbers == SIX[:3].tobytes()
