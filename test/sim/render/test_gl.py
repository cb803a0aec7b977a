"""Drawing and reading without Python's lock gives the pictures that moderngl gives."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from sim.render.scenes import (
    LOOKING_ALONG_X,
    body_of,
    box_at,
    glowing,
    needs_opengl,
    poses_of,
)

from hrp_model import Pose
from hrp_sim.render import Pinhole, Renderer, gl
from hrp_sim.render.gl import THREADS_VARIABLE, thread_context

pytestmark = needs_opengl
ATTEMPTS = 200


@pytest.fixture
def by_moderngl(monkeypatch):
    """Make EGL's functions impossible to find."""
    return lambda: monkeypatch.setattr(gl, "_functions", lambda: None)


def two_boxes(transparency):
    """Draw a box before another, 37 pixels wide so that rows have odd lengths."""
    near = box_at((0.5, 0.5, 0.5), (2.0, 0.1, 0.0), glowing((1, 2, 3), transparency=transparency))
    far = box_at((1.0, 2.0, 1.0), (4.0, 0.0, 0.2), glowing((9, 8, 7)))
    renderer = Renderer({"b": body_of("b", (near, far))})
    lens = Pinhole(37, 23, 1.0, 0.1, 9.0)
    return renderer.render(lens, LOOKING_ALONG_X, {"b": poses_of(Pose())})


@pytest.mark.parametrize("transparency", [0.0, 0.3])
def test_pictures_are_those_of_moderngl(transparency, by_moderngl):
    ours = two_boxes(transparency)
    assert gl._functions() is not None
    by_moderngl()
    theirs = two_boxes(transparency)
    np.testing.assert_array_equal(ours.color, theirs.color)
    np.testing.assert_array_equal(ours.depth, theirs.depth)
    assert len(np.unique(ours.color.reshape(-1, 3), axis=0)) >= 3
    assert len(np.unique(ours.depth)) == 3


def runs_meanwhile(work):
    """Whether a thread gets Python's lock during some call, though nobody takes it by force."""
    ran, interval = threading.Event(), sys.getswitchinterval()
    gate = threading.Lock()
    gate.acquire()
    thread = threading.Thread(target=lambda: gate.acquire() and ran.set())
    thread.start()
    sys.setswitchinterval(1000.0)
    try:
        gate.release()
        for _ in range(ATTEMPTS):
            work()
            if ran.is_set():
                return True
        return False
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_other_threads_run_while_a_picture_is_drawn(by_moderngl):
    context = thread_context()
    framebuffer = context.framebuffer([context.renderbuffer((1024, 1024), 3)])
    pixels = np.empty((1024, 1024, 3), np.uint8)
    framebuffer.clear(1.0, 0.5, 0.0)
    assert runs_meanwhile(lambda: gl.read(framebuffer, pixels))
    assert (pixels == (255, 128, 0)).all()
    by_moderngl()
    assert not runs_meanwhile(lambda: gl.read(framebuffer, pixels))


PROGRAM = """
from pathlib import Path
from hrp_sim.render.gl import thread_context
context = thread_context()
print(context.info["GL_RENDERER"].split()[0])
picture = context.framebuffer([context.renderbuffer((8, 8), 3)])
picture.clear()
picture.read()  # all threads of the renderer have begun, and have their names
for task in Path("/proc/self/task").iterdir():
    print((task / "comm").read_text().strip())
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads are shown by Linux")
@pytest.mark.parametrize("wanted", ["3", None])
def test_one_core_is_left_to_the_physics_unless_the_user_says_otherwise(wanted):
    environment = {k: v for k, v in os.environ.items() if k != THREADS_VARIABLE}
    environment |= {THREADS_VARIABLE: wanted} if wanted else {}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    renderer, *names = done.stdout.split()
    if renderer != "llvmpipe":
        pytest.skip("there is a GPU")
    count = int(wanted or max(len(os.sched_getaffinity(0)) - 1, 1))
    assert sum(name.startswith("llvmpipe-") for name in names) == count
