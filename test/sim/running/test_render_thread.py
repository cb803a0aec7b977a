"""The render thread, with images that are rendered when a test says so."""

import logging
import queue
import threading
from functools import partial

import pytest

from hrp_sim.render import RendererUnavailable
from hrp_sim.run.samplers import RenderThread

PATIENCE = 300.0  # seconds after which a test that would hang fails instead


class Camera:
    """Develops an exposure into itself, as soon as it gets a permit."""

    def __init__(self, *, permits=0, error=None):
        self.started = queue.Queue()
        self.permits = threading.Semaphore(permits)
        self.error = error
        self.thread = None

    def develop(self, exposure):
        self.thread = threading.current_thread()
        self.started.put(exposure)
        assert self.permits.acquire(timeout=PATIENCE)
        if self.error:
            raise self.error
        return exposure


@pytest.fixture
def images():
    return queue.Queue()


@pytest.fixture
def render_thread(images):
    """Make render threads, and close them when the test is over."""
    made = []

    def make():
        made.append(RenderThread(lambda name, image: images.put((name, image))))
        return made[-1]

    yield make
    for room in made:
        room.close()


def take(box):
    return box.get(timeout=PATIENCE)


def test_every_exposure_becomes_an_image_of_its_camera(render_thread, images):
    room = render_thread()
    for name, exposure in (("left", 1), ("right", 2), ("left", 3)):
        room.submit(name, partial(Camera(permits=1).develop, exposure))
        assert take(images) == (name, exposure)


def test_developing_happens_in_another_thread_and_submitting_does_not_wait(render_thread, images):
    camera = Camera()
    room = render_thread()
    room.submit("eye", partial(camera.develop, 1))
    assert take(camera.started) == 1
    assert camera.thread is not threading.current_thread()
    assert images.empty()
    camera.permits.release()
    assert take(images) == ("eye", 1)


def test_only_the_newest_exposure_of_each_camera_waits(render_thread, images):
    busy, other = Camera(), Camera(permits=9)
    room = render_thread()
    room.submit("busy", partial(busy.develop, 1))
    take(busy.started)
    for exposure in (2, 3, 4):
        room.submit("busy", partial(busy.develop, exposure))
    room.submit("other", partial(other.develop, 5))
    busy.permits.release(9)
    assert [take(images) for _ in range(3)] == [("busy", 1), ("busy", 4), ("other", 5)]


def test_no_image_is_skipped_of_requests_that_wait_for_the_others(render_thread, images):
    camera = Camera(permits=9)
    room = render_thread()
    for exposure in range(5):
        room.submit("eye", partial(camera.develop, exposure), after_others=True)
    room.finish()
    assert [images.get_nowait() for _ in range(5)] == [("eye", k) for k in range(5)]


def test_nobody_waits_for_images_where_none_can_be_rendered(render_thread, images):
    camera = Camera(permits=9, error=RendererUnavailable("no OpenGL"))
    room = render_thread()
    for exposure in range(5):
        room.submit("eye", partial(camera.develop, exposure), after_others=True)
    room.finish()
    assert images.empty()


def test_after_clearing_nothing_comes_of_what_was_handed_over_before(render_thread, images):
    camera, other = Camera(), Camera(permits=9)
    room = render_thread()
    room.submit("eye", partial(camera.develop, 1))
    take(camera.started)
    room.submit("eye", partial(camera.develop, 2))
    room.submit("other", partial(other.develop, 3))
    room.clear()
    camera.permits.release(9)  # only now the first is drawn
    room.submit("eye", partial(camera.develop, 4))
    assert take(images) == ("eye", 4)
    assert images.empty()
    assert other.started.empty()


def test_clearing_waits_for_an_image_that_is_on_its_way_out():
    delivering, go_on = threading.Event(), threading.Event()
    order = []

    def deliver(name, image):
        delivering.set()
        assert go_on.wait(PATIENCE)
        order.append("delivered")

    room = RenderThread(deliver)
    room.submit("eye", lambda: 1)
    assert delivering.wait(PATIENCE)
    clearer = threading.Thread(target=lambda: (room.clear(), order.append("cleared")))
    clearer.start()
    go_on.set()
    clearer.join(PATIENCE)
    room.close()
    assert order == ["delivered", "cleared"]


def test_closing_finishes_the_image_in_hand_and_drops_what_waits(render_thread, images):
    camera = Camera()
    room = render_thread()
    room.submit("eye", partial(camera.develop, 1))
    take(camera.started)
    room.submit("eye", partial(camera.develop, 2))
    closer = threading.Thread(target=room.close)
    closer.start()
    with room._changed:
        assert room._changed.wait_for(lambda: room._closing, PATIENCE)
    camera.permits.release(9)
    closer.join(PATIENCE)
    assert not closer.is_alive()
    assert take(images) == ("eye", 1)
    assert images.empty()


def test_closing_twice_or_unused_is_fine(render_thread):
    room = render_thread()
    room.close()
    room.close()


def test_without_a_renderer_there_are_no_images_one_error_and_no_hanging(
    render_thread, images, caplog
):
    camera = Camera(permits=9, error=RendererUnavailable("no OpenGL here"))
    room = render_thread()
    room.submit("eye", partial(camera.develop, 1))
    take(camera.started)
    room.close()
    room.submit("eye", partial(camera.develop, 2))
    assert images.empty()
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "camera images are unavailable: no OpenGL here"


def test_a_camera_that_fails_says_so_once_and_the_others_go_on(render_thread, images, caplog):
    broken, good = Camera(permits=9, error=ValueError("out of memory")), Camera(permits=9)
    room = render_thread()
    for exposure in (1, 2, 3):
        room.submit("broken", partial(broken.develop, exposure))
        assert take(broken.started) == exposure
        room.submit("good", partial(good.develop, exposure))
        assert take(images) == ("good", exposure)
    broken.error = None
    room.submit("broken", partial(broken.develop, 4))
    assert take(images) == ("broken", 4)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "rendering images of 'broken' failed"
    assert "ValueError: out of memory" in caplog.text


def test_an_image_that_cannot_be_delivered_does_not_end_the_others(caplog):
    delivered = queue.Queue()

    def deliver(name, image):
        if name == "broken":
            raise RuntimeError("nobody is there")
        delivered.put(image)

    room = RenderThread(deliver)
    room.submit("broken", lambda: 1)
    room.submit("good", lambda: 2)
    assert take(delivered) == 2
    room.clear()  # would wait for ever for an image that never gets out
    room.close()
    assert "nobody is there" in caplog.text
