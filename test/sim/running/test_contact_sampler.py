"""Contacts are told at their rate, to who wants them, and cost nothing else."""

from contextlib import closing

import numpy as np
import pytest
from sim.physics.scenes import G, Z, at, box_inertia, floor, lone, moving, placed

from hrp_model.geometry import Box
from hrp_sim import BodyEntry, Simulation, WorldConfig
from hrp_sim.run.samplers import ContactSampler
from hrp_sim.run.summary import RunRecorder

SIZE = np.array([0.4, 0.3, 0.2])


@pytest.fixture(params=["box first", "floor first"])
def simulation(request):
    box = lone(placed(Box(SIZE)), name="box", mass=2.0, inertia=box_inertia(2.0, SIZE))
    placements = [moving(box, at(z=0.0999)), floor()]
    ordered = placements if request.param == "box first" else placements[::-1]
    world = WorldConfig(bodies=tuple(BodyEntry(placement=p) for p in ordered))
    with closing(Simulation(world)) as made:
        yield made


def test_contacts_are_told_at_their_rate_and_only_those_steps_are_watched(simulation):
    told, watched = [], []
    watch = ContactSampler(100.0, lambda: True, lambda points, force: told.append((points, force)))
    for _ in range(105):
        simulation.step()
        watched.append(simulation.engine.record_contacts)
        watch.after_step(simulation)
    assert [points.time_ns for points, _ in told] == [k * 10_000_000 for k in range(1, 11)]
    assert sum(watched) == 10
    for points, force in told:
        assert len(points) == 4
        # Whichever body came first: what the floor does to the box.
        np.testing.assert_allclose(force.sum(axis=0), 2.0 * G * Z, atol=0.5)


def test_nothing_is_watched_while_nobody_wants_it(simulation):
    told, wanted = [], False
    watch = ContactSampler(1000.0, lambda: wanted, lambda *found: told.append(found))
    for _ in range(20):
        simulation.step()
        assert not simulation.engine.record_contacts
        watch.after_step(simulation)
    assert not told
    wanted = True
    for _ in range(3):
        simulation.step()
        watch.after_step(simulation)
    assert [points.time_ns for points, _ in told] == [22_000_000, 23_000_000]
    wanted = False
    for _ in range(3):
        simulation.step()
        watch.after_step(simulation)
    assert not simulation.engine.record_contacts


def test_a_reset_begins_anew(simulation):
    told = []
    watch = ContactSampler(100.0, lambda: True, lambda points, _: told.append(points.time_ns))
    for _ in range(25):
        simulation.step()
        watch.after_step(simulation)
    simulation.reset()
    watch.restart(0)
    for _ in range(15):
        simulation.step()
        watch.after_step(simulation)
    assert told == [10_000_000, 20_000_000, 10_000_000]


def test_a_simulation_tells_its_contacts_to_who_asked_before_the_step(simulation):
    simulation.step()
    assert len(simulation.contacts()) == 0
    simulation.engine.record_contacts = True
    simulation.step()
    assert len(simulation.contacts()) == 4
    assert simulation.contacts().time_ns == simulation.state.time_ns


def test_samplers_and_the_summary_of_a_run_do_not_switch_each_other_off(simulation):
    recorder = RunRecorder(simulation)
    slow, fast = [], []
    samplers = [
        ContactSampler(10.0, lambda: len(slow) < 2, lambda points, _: slow.append(points.time_ns)),
        ContactSampler(100.0, lambda: True, lambda points, _: fast.append(points.time_ns)),
    ]
    for _ in range(300):
        readings = simulation.step()
        recorder.take_step(simulation.state.time_ns, readings)
        for sampler in samplers:
            sampler.after_step(simulation)
        assert simulation.engine.record_contacts
    assert slow == [100_000_000, 200_000_000]
    assert fast == [k * 10_000_000 for k in range(1, 31)]
    assert recorder.peak_force is not None
    assert recorder.peak_force.time_ns > 0
