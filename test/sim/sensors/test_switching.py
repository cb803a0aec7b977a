"""Sensors and lights that are switched on and off, and what sensors remember meanwhile."""

from dataclasses import dataclass, field, fields, replace

import numpy as np
import pytest
from fake_engine import FakeEngine
from sim.sensors.handmade import arm_body

from hrp_model import Pose, devices
from hrp_sim import PhysicsError, Simulation, Snapshot
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.sensors import SensorSettings
from hrp_sim.world.config import BodyEntry, WorldConfig

MS = 1_000_000


def world_of(*bodies, time_step=0.001):
    entries = [BodyEntry(placement=Placement(name=name, body=body)) for name, body in bodies]
    return WorldConfig(physics=PhysicsSettings(time_step=time_step), bodies=tuple(entries))


def simulation_of(*devices, time_step=0.001):
    world = world_of(("robot", arm_body(*devices)), time_step=time_step)
    return Simulation(world, engine=FakeEngine(world.physics), defer_images=True)


def wrist(name="wrist", on=True):
    return devices.ForceSensor(name=name, link="ARM", on=on)


def scanner(rate, **fields):
    return devices.RangeSensor(name="laser", link="ARM", scan_rate=rate, **fields)


def stamps(simulation, name, steps):
    found = [simulation.step().get(name) for _ in range(steps)]
    return [reading.time_ns for reading in found if reading is not None]


def switches_of(simulation):
    """Return a list to which every change of a switch is added."""
    found = []
    simulation.switched = lambda name, on: found.append((name, on))
    return found


@pytest.mark.parametrize(("rate", "time_step"), [(30.0, 0.001), (30.0, 0.0007), (7.0, 0.0007)])
def test_a_sensor_that_was_off_is_on_its_grid_again(rate, time_step):
    steps = round(1.5 / time_step)
    whole = stamps(simulation_of(scanner(rate), time_step=time_step), "laser", 3 * steps)
    simulation = simulation_of(scanner(rate), time_step=time_step)
    first = stamps(simulation, "laser", steps)
    simulation.set_enabled("laser", False)
    assert stamps(simulation, "laser", steps) == []
    simulation.set_enabled("laser", True)
    last = stamps(simulation, "laser", steps)
    missed = len(whole) - len(first) - len(last)
    assert missed == pytest.approx(1.5 * rate, abs=1.0)
    assert first + whole[len(first) : len(first) + missed] + last == whole


@pytest.mark.parametrize(("time_step", "count"), [(0.001, 300), (0.0007, 299)])
def test_rates_are_exact_in_simulated_time(time_step, count):
    """14285 steps of 0.7 ms end half a millisecond before ten seconds, and the last picture."""
    steps = int(10.0 / time_step + 1e-9)
    found = stamps(simulation_of(scanner(30.0), time_step=time_step), "laser", steps)
    step_ns = round(time_step * 1e9)
    expected = [-(-k * 1_000_000_000 // (30 * step_ns)) * step_ns for k in range(1, count + 1)]
    assert found == expected


def test_what_is_off_in_the_model_is_never_read_until_it_is_switched_on():
    simulation = simulation_of(wrist(on=False), scanner(500.0, on=False))
    assert not simulation.is_enabled("wrist")
    assert {k for _ in range(20) for k in simulation.step()} == {"joint_states", "odometry"}
    simulation.set_enabled("wrist", True)
    assert simulation.is_enabled("wrist")
    assert stamps(simulation, "wrist", 4) == [22 * MS, 24 * MS]


def test_a_reset_puts_the_switches_back_and_every_change_is_told_once():
    lamp = devices.PointLight(name="lamp", link="ARM", on=False)
    simulation = simulation_of(wrist(), scanner(10.0, on=False), lamp)
    changes = switches_of(simulation)
    assert not simulation.is_enabled("lamp")
    for on in (True, np.bool_(True)):  # what numpy compares is as good as Python's own
        simulation.set_enabled("lamp", on)
        simulation.set_enabled("wrist", np.logical_not(on))
    assert changes == [("lamp", True), ("wrist", False)]
    simulation.reset()
    assert sorted(changes[2:]) == [("lamp", False), ("wrist", True)]
    assert not simulation.is_enabled("laser")
    assert stamps(simulation, "wrist", 4) == [2 * MS, 4 * MS]


def test_an_unknown_name_is_told_with_those_there_are():
    simulation = simulation_of(wrist(), devices.PointLight(name="lamp", link="ARM"))
    for act in (simulation.is_enabled, lambda name: simulation.set_enabled(name, True)):
        with pytest.raises(KeyError, match="'rist'; there is joint_states, odometry, wrist, lamp"):
            act("rist")


def test_lights_of_two_bodies_and_a_sensor_have_different_names():
    lamp = devices.PointLight(name="lamp", link="ARM")
    bodies = [("a", arm_body(lamp, wrist())), ("b", arm_body(lamp)), ("c", arm_body(wrist("lamp")))]
    world = world_of(*bodies)
    simulation = Simulation(world, engine=FakeEngine(world.physics))
    assert list(simulation.lights) == ["a/lamp", "b/lamp"]
    assert [(light.body, light.name) for light in simulation.lights.values()] == [
        ("a", "lamp"),
        ("b", "lamp"),
    ]
    simulation.set_enabled("b/lamp", False)
    simulation.remove("b")
    assert simulation.is_enabled("lamp")  # the sensor
    with pytest.raises(KeyError):
        simulation.is_enabled("b/lamp")


@dataclass
class Average:
    """Half of what was, and half of the height of the root, at every step."""

    body: str
    name: str = "average"
    rate_hz: float = 100.0
    observes: bool = True
    memory: dict = field(default_factory=lambda: {"value": np.zeros(1), "count": np.zeros(1, int)})

    def observe(self, world):
        height = world.bodies[self.body].motion.p[0, 2]
        self.memory["value"] += 0.5 * (height - self.memory["value"])
        self.memory["count"] += 1

    def read(self, world):
        return world.time_ns, self.memory["value"].item(), self.memory["count"].item()

    def reset(self):
        for array in self.memory.values():
            array[:] = 0


@pytest.fixture
def averaging(monkeypatch):
    """Return a function that gives simulations with one sensor, which remembers."""
    place = devices.ForceSensor(name="average", link="ARM", X_LS=Pose())

    def simulation(**fields):
        def make_sensors(world, *_, **__):
            return [Average(name, **fields) for name in world.bodies]

        monkeypatch.setattr("hrp_sim.sensors.world_sensors.make_sensors", make_sensors)
        world = world_of(("robot", arm_body(place)))

        def rise(body, time):
            body.motion.p[0, 2] = np.sin(9.0 * time)

        return Simulation(world, engine=FakeEngine(world.physics, rise))

    return simulation


def readings(simulation, steps):
    return [reading for _ in range(steps) for reading in simulation.step().values()]


def test_an_observer_looks_at_every_step_before_it_is_read(averaging):
    assert [count for _, _, count in readings(averaging(), 35)] == [10, 20, 30]


def test_an_observer_that_is_off_or_unwanted_does_not_look(averaging):
    simulation = averaging()
    simulation.set_enabled("average", False)
    readings(simulation, 5)
    simulation.set_enabled("average", True)
    simulation.wanted = lambda _name: False
    readings(simulation, 3)
    simulation.wanted = lambda _name: True
    assert [count for _, _, count in readings(simulation, 2)] == [2]


def test_a_sensor_that_need_not_look_does_not(averaging):
    assert [count for _, _, count in readings(averaging(observes=False), 20)] == [0, 0]


def test_what_is_remembered_is_forgotten_by_a_reset_and_by_switching(averaging):
    simulation = averaging()
    first = readings(simulation, 35)
    simulation.reset()
    assert readings(simulation, 35) == first
    simulation.set_enabled("average", False)
    simulation.set_enabled("average", True)
    assert [count for _, _, count in readings(simulation, 5)] == [5]


def everything(reading):
    """Return all that a reading says, to the last bit."""
    values = (getattr(reading, f.name) for f in fields(reading))
    return [v.tobytes() if isinstance(v, np.ndarray) else v for v in values]


def test_filters_biases_and_unfinished_scans_go_on_to_the_last_bit(tmp_path):
    """All options that need memory, saved between samples, in a world made anew."""
    gyro = devices.RateGyroSensor(name="gyro", link="ARM")
    options = SensorSettings(
        angular_velocity_random_walk=0.1, wrench_cutoff=20.0, spread_scan=True, force_stdev=0.1
    )

    def shake(simulated, time):
        simulated.motion.force[:] = np.sin(900.0 * time)
        simulated.motion.p[:, 2] = 1.0 + np.sin(9.0 * time)

    def simulation():
        world = world_of(("robot", arm_body(gyro, wrist(), scanner(50.0))))
        world = replace(world, sensors=options)
        return Simulation(world, engine=FakeEngine(world.physics, shake))

    first = simulation()
    readings(first, 47)
    first.save().to_file(tmp_path / "s.npz")
    rest = list(map(everything, readings(first, 80)))
    other = simulation()
    readings(other, 13)
    other.restore(Snapshot.from_file(tmp_path / "s.npz"))
    assert list(map(everything, readings(other, 80))) == rest
    assert len({type(sensor) for sensor in first.sensors.values()}) == 5
    whole = simulation()
    readings(whole, 47)
    for sensor in whole.sensors.values():
        sensor.reset()  # what is remembered does matter
    assert list(map(everything, readings(whole, 80))) != rest


def test_switches_are_saved_and_restored():
    simulation = simulation_of(wrist(), scanner(10.0), devices.PointLight(name="lamp", link="ARM"))
    simulation.set_enabled("wrist", False)
    simulation.set_enabled("lamp", False)
    snapshot = simulation.save()
    simulation.set_enabled("wrist", True)
    simulation.set_enabled("laser", False)
    changes = switches_of(simulation)
    simulation.restore(snapshot)
    assert sorted(changes) == [("laser", True), ("wrist", False)]
    assert [simulation.is_enabled(k) for k in ("wrist", "laser", "lamp")] == [False, True, False]


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("simulation/robot/on", np.ones(2, np.int32), r"'robot/on' .* shape \(2,\), not \(3,\)"),
        ("simulation/robot/on", np.ones(3), "'robot/on' .* type int32"),
        ("simulation/robot/memory/average/value", np.full(1, np.nan), "average/value.*not finite"),
        ("simulation/robot/memory/average/value", np.zeros(2), "average/value.*shape"),
        (
            "simulation/robot/memory/average/more",
            np.zeros(1),
            "unknown part 'robot/memory/average/more'",
        ),
        ("simulation/robot/memory/average/value", None, "lacks 'robot/memory/average/value'"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(averaging, name, array, words):
    simulation = averaging()
    readings(simulation, 17)
    arrays = dict(simulation.save().arrays)
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    other = averaging()
    other.set_enabled("average", False)
    with pytest.raises(PhysicsError, match=words):
        other.restore(Snapshot(arrays))
    assert other.state.time_ns == 0
    assert not other.is_enabled("average")
