"""A reading aside has no effect on later ones, whatever the sensor remembers."""

from dataclasses import fields

import numpy as np
from paths import MODELS

from hrp_sim import Simulation
from hrp_sim.sensors import CameraSensor, ForceSensor, ImuSensor, JointSensor, OdometrySensor
from hrp_sim.sensors.base import read_aside

WORLD = f"""\
sensors:
  encoders: true
  wrench_cutoff: 20.0
  force_stdev: 0.1
  angular_velocity_random_walk: 0.1
  linear_acceleration_random_walk: 0.1
  angular_velocity_stdev: 0.1
bodies: [ {{ model: {MODELS / "humanoid" / "humanoid.body"} }} ]
"""
STEPS = 60


def values(reading):
    return [np.asarray(getattr(reading, x.name), dtype=object).tolist() for x in fields(reading)]


def readings(world, *, aside):
    """Return all readings of a run, and the number of those that were taken aside."""
    found, count = [], 0
    with Simulation(world, defer_images=True) as simulation:
        sensors = [s for s in simulation.sensors.values() if not isinstance(s, CameraSensor)]
        for step in range(STEPS):
            if aside and step % 7 == 0:
                count += sum(read_aside(s, simulation.state) is not None for s in sensors)
            got = simulation.step()
            found += [
                (name, values(x))
                for name, x in got.items()
                if not isinstance(simulation.sensors[name], CameraSensor)
            ]
        return found, count, simulation.state_hash()


def test_later_readings_are_the_same(tmp_path):
    world = tmp_path / "world.yaml"
    world.write_text(WORLD, encoding="utf-8")
    plain, none, plain_hash = readings(world, aside=False)
    read, count, read_hash = readings(world, aside=True)
    assert none == 0 < count
    assert {"joint_states"} < {name for name, _ in plain}
    assert repr(plain) == repr(read)
    assert plain_hash == read_hash


def test_it_is_the_reading_of_the_present_state(tmp_path):
    world = tmp_path / "world.yaml"
    world.write_text(WORLD, encoding="utf-8")
    kinds = dict.fromkeys((JointSensor, ImuSensor, ForceSensor, OdometrySensor), 0)
    with Simulation(world, defer_images=True) as simulation:
        for _ in range(STEPS):
            for name, reading in simulation.step().items():
                sensor = simulation.sensors[name]
                if type(sensor) in kinds:
                    aside = read_aside(sensor, simulation.state)
                    assert repr(values(aside)) == repr(values(reading))
                    kinds[type(sensor)] += 1
        assert all(kinds.values())
