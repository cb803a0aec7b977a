"""Snapshots of worlds with controllers and force hooks."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from controller_samples import Bad, Counter, Idle, Recorder, SpringDamper, Swing

from hrp_sim import PhysicsError, Simulation, Snapshot


@pytest.fixture
def make(diagnostics):
    """Return a function that makes a simulation of the arm with controllers (rate, object)."""
    made = []

    def make(*controllers):
        simulation = Simulation("arm", diagnostics=diagnostics)
        made.append(simulation)
        for rate, controller in controllers:
            simulation.add_controller("arm", controller, rate=rate)
        return simulation

    yield make
    for simulation in made:
        simulation.close()


def samples():
    return (300.0, Counter()), (None, SpringDamper(30.0, 2.0))


@pytest.mark.parametrize("at", [0.1, 0.1234, 0.0])
def test_a_run_goes_on_bit_by_bit(at, make, tmp_path):
    """In the same world, and in another one, after a file."""
    one = make(*samples())
    one.run(at)
    snapshot = one.save()
    one.run(0.2)
    expected = one.state_hash()
    one.restore(snapshot)
    one.run(0.2)
    assert one.state_hash() == expected
    snapshot.to_file(tmp_path / "state.npz")
    other = make(*samples())
    other.restore(Snapshot.from_file(tmp_path / "state.npz"))
    other.run(0.2)
    assert other.state_hash() == expected


def test_targets_and_the_internal_state_are_restored(make):
    one = make((None, Swing()))
    one.run(0.15)
    snapshot = one.save()
    one.run(0.2)
    other = make((None, Swing()))
    other.run(0.05)
    other.restore(snapshot)
    other.run(0.2)
    assert other.state_hash() == one.state_hash()


def test_readings_are_restored(make):
    counter = Counter()
    one = make((50.0, counter))
    one.run(0.0255)
    reading = counter.io.reading("wrist_force")
    snapshot, seen = one.save(), np.array(reading.force)
    one.run(0.1)
    one.restore(snapshot)
    np.testing.assert_array_equal(counter.io.reading("wrist_force").force, seen)
    assert counter.io.reading("wrist_force").time_ns == 24_000_000


def test_one_that_has_ended_stays_ended(make):
    class Brief(Recorder):
        def control(self):
            super().control()
            return len(self.times) < 3

        def save(self):
            return {}

    one, brief = make((None, Brief())), Brief()
    one.run(0.01)
    other = make((None, brief))
    other.restore(one.save())
    other.run(0.01)
    assert brief.times == []


def test_one_without_saved_state_starts_again_with_a_warning(make, diagnostics):
    recorder = Recorder()
    one = make((None, recorder))
    one.run(0.01)
    snapshot = one.save()
    text = diagnostics.take("controller-restarted").message
    assert (
        text == "controller 'Recorder' of body 'arm': its state is not saved: it has no method save"
    )
    one.restore(snapshot)
    assert recorder.calls == ["initialize", "start", "stop", "start"]
    text = diagnostics.take("controller-restarted").message
    assert text == "controller 'Recorder' of body 'arm': it starts again: its state was not saved"


def test_one_without_saved_state_starts_again_from_its_start_without_a_warning(make):
    one = make((100.0, Recorder()), (None, Recorder()))
    snapshot = one.save()
    one.run(0.01)
    hash_of_run = one.state_hash()
    one.restore(snapshot)
    one.run(0.01)
    assert one.state_hash() == hash_of_run


def test_a_state_that_cannot_be_saved_or_restored(make, diagnostics):
    controller = Swing()
    controller.save = lambda: {"middle": object()}
    one = make((None, controller))
    one.run(0.01)
    snapshot = one.save()
    text = diagnostics.take("controller-restarted").message
    assert "save() raised TypeError: 'middle' must be numbers or text, not object" in text
    one.restore(snapshot)
    diagnostics.take("controller-restarted")
    del controller.save
    controller.restore = lambda arrays: arrays["end"]
    one.restore(one.save())
    assert "restore() raised KeyError: 'end'" in diagnostics.take("controller-failed").message


def test_a_failed_one_can_be_saved(make, diagnostics):
    one = make((None, Bad(lambda _: None)))
    one.run(0.01)
    diagnostics.take("controller-failed")
    one.restore(one.save())
    one.run(0.01)


def test_controllers_must_be_the_same(make):
    one, other = make((None, Swing())), make((None, Idle()))
    with pytest.raises(
        PhysicsError, match="other controllers: arm:Swing#0; the world has arm:Idle"
    ):
        other.restore(one.save())
    with pytest.raises(PhysicsError, match="the world has none"):
        make().restore(one.save())


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("targets", np.zeros(3)),
        ("targets", np.full((3, 6), np.nan)),
        ("on", np.array("x")),
        ("next_ns", np.array([1, 2])),
        ("name", np.array(3)),
        ("readings/", np.array(1.0)),
        ("readings/wrist_force/type", np.array("WrenchReading")),
        ("readings/wrist_force/type", np.array("Simulation")),
        ("own/x", np.array(1.0)),
        ("more", np.array(1.0)),
    ],
)
def test_a_damaged_snapshot_is_rejected_or_harmless(name, array, make):
    one = make((None, Swing()))
    one.run(0.01)
    snapshot = one.save()
    damaged = {**snapshot.arrays, f"controllers/arm:Swing#0/{name}": array}
    is_rejected = name in ("targets", "on", "next_ns", "name")
    with pytest.raises(PhysicsError, match=name) if is_rejected else nullcontext():
        one.restore(replace(snapshot, arrays=damaged))
    one.run(0.01)
