"""Several consumers of one run: what is read, rendered and delivered."""

import queue

import pytest

from hrp_sim.render import Parts
from hrp_sim.run.run import Consumer, Run
from hrp_sim.sensors import RenderRequest
from hrp_sim.simulation import build_simulation
from hrp_sim.world.load import load_world

PATIENCE = 300.0  # seconds after which a test that would hang fails instead
CAMERA = "mast_camera"


class Kept(Consumer):
    """Wants the sensors in ``wanted``, and keeps what it gets."""

    def __init__(self, *wanted, parts=None):
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


def run(simulation, *consumers):
    with Run(simulation, consumers) as made:
        made.until(2 * 10**8)
        made.finish_images()
    assert made.error is None


def test_every_consumer_gets_every_step_and_what_any_of_them_wants(simulation):
    one, other = Kept("imu"), Kept("joint_states")
    run(simulation, one, other)
    step_ns = simulation.engine.settings.step_ns
    assert one.times == other.times == list(range(step_ns, simulation.state.time_ns + 1, step_ns))
    assert one.names == other.names == {"imu", "joint_states"}


def test_sensors_that_nobody_wants_are_not_read(simulation):
    none = Kept()
    run(simulation, none)
    assert none.names == set()


def test_a_reading_of_a_camera_needs_no_image(simulation):
    watching = Kept(*simulation.sensors)
    run(simulation, watching)
    assert watching.names == set(simulation.sensors)
    assert watching.images.empty()


def test_a_removed_consumer_gets_nothing_more(simulation):
    stays, goes = Kept("imu"), Kept("joint_states")
    with Run(simulation, [stays, goes]) as made:
        made.remove(goes)
        made.until(2 * 10**8)
    assert goes.times == []
    assert stays.names == {"imu"}


def test_an_image_is_rendered_once_with_the_parts_that_any_consumer_wants(simulation):
    pytest.importorskip("moderngl")
    color = Kept(CAMERA, parts=Parts(color=True, depth=False))
    depth = Kept(CAMERA, parts=Parts(color=False, depth=True))
    run(simulation, color, depth)
    name, image = color.images.get(timeout=PATIENCE)
    assert name == CAMERA
    assert image.color is not None
    assert image.depth is not None
    assert depth.images.get(timeout=PATIENCE)[1] is image


def test_steps_have_requests_in_place_of_images(simulation):
    found = []

    class Keeping(Kept):
        def take_step(self, time_ns, readings):
            found.extend(readings.values())

    run(simulation, Keeping(CAMERA))
    assert found
    assert all(isinstance(reading, RenderRequest) for reading in found)
