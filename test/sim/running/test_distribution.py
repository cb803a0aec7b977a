"""Several consumers of one run: what is read, rendered and delivered."""

import queue

import pytest

from hrp_sim.render import NO_PARTS, Parts
from hrp_sim.run.build import build_simulation
from hrp_sim.run.distribution import Distribution
from hrp_sim.run.runner import Runner
from hrp_sim.sensors import RenderRequest
from hrp_sim.world.load import load_world

PATIENCE = 300.0  # seconds after which a test that would hang fails instead
CAMERA = "mast_camera"


class Consumer:
    """Wants the sensors in ``wanted``, and keeps what it gets."""

    def __init__(self, *wanted, parts=NO_PARTS):
        self.wanted, self.parts = set(wanted), parts
        self.times, self.names, self.images = [], set(), queue.Queue()

    def wants(self, simulation, sensor):
        assert sensor in simulation.sensors
        return sensor in self.wanted

    def wanted_parts(self, camera):
        assert camera == CAMERA
        return self.parts

    def next_ns(self, simulation):
        return 0

    def take_step(self, time_ns, readings):
        self.times.append(time_ns)
        self.names.update(readings)

    def take_image(self, camera, image):
        self.images.put((camera, image))


@pytest.fixture
def simulation(diagnostics):
    config = load_world("rover", diagnostics)
    made, _ = build_simulation(config, "ode", diagnostics)
    yield made
    made.close()


@pytest.fixture
def distribute(simulation):
    made = []

    def distribute(*consumers, **options):
        made.append(Distribution(simulation, **options))
        for consumer in consumers:
            made[-1].add(consumer)
        return made[-1]

    yield distribute
    for distribution in made:
        distribution.close()


def run(simulation, distribution, seconds=0.2):
    runner = Runner(simulation, distribution.publish, real_time_factor=0.0, duration=seconds)
    distribution.serve(runner)
    runner.run()
    assert runner.error is None


def test_every_consumer_gets_every_step_and_what_any_of_them_wants(simulation, distribute):
    one, other = Consumer("imu"), Consumer("joint_states")
    run(simulation, distribute(one, other))
    step_ns = simulation.engine.settings.step_ns
    assert one.times == other.times == list(range(step_ns, simulation.state.time_ns + 1, step_ns))
    assert one.names == other.names == {"imu", "joint_states"}


def test_sensors_that_nobody_wants_are_not_read(simulation, distribute):
    none = Consumer()
    run(simulation, distribute(none))
    assert none.names == set()


def test_all_can_be_read_without_a_consumer(simulation, distribute):
    watching = Consumer()
    run(simulation, distribute(watching, read_all=True))
    assert watching.names == set(simulation.sensors)
    assert watching.images.empty()


def test_a_removed_consumer_gets_nothing_more(simulation, distribute):
    stays, goes = Consumer("imu"), Consumer("joint_states")
    distribution = distribute(stays, goes)
    distribution.remove(goes)
    run(simulation, distribution)
    assert goes.times == []
    assert stays.names == {"imu"}


def test_an_image_is_rendered_once_with_the_parts_that_any_consumer_wants(simulation, distribute):
    pytest.importorskip("moderngl")
    color = Consumer(CAMERA, parts=Parts(color=True, depth=False))
    depth = Consumer(CAMERA, parts=Parts(color=False, depth=True))
    run(simulation, distribute(color, depth))
    name, image = color.images.get(timeout=PATIENCE)
    assert name == CAMERA
    assert image.color is not None
    assert image.depth is not None
    assert depth.images.get(timeout=PATIENCE)[1] is image


def test_steps_have_requests_in_place_of_images(simulation, distribute):
    found = []

    class Keeping(Consumer):
        def take_step(self, time_ns, readings):
            found.extend(readings.values())

    run(simulation, distribute(Keeping(CAMERA)))
    assert found
    assert all(isinstance(reading, RenderRequest) for reading in found)
