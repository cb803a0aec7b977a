"""OpenGL contexts come and go with their threads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sim.render.scenes import (
    LOOKING_ALONG_X,
    body_of,
    box_at,
    glowing,
    in_thread,
    needs_opengl,
    poses_of,
)

from hrp_model import Pose
from hrp_sim.render import Pinhole, Renderer
from hrp_sim.render.gl import thread_context

pytestmark = needs_opengl
STATUS = Path("/proc/self/statm")


def test_a_thread_has_one_context_and_another_thread_another():
    here = thread_context()
    assert thread_context() is here
    assert in_thread(thread_context) is not here


FORKS_MEANWHILE = """
import os, threading
from hrp_sim.render import gl

def create():
    inside.set()
    threading.Event().wait()

gl._create, inside = create, threading.Event()
threading.Thread(target=gl.thread_context, daemon=True).start()
inside.wait()
if pid := os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
gl.check_libraries()
"""


def test_a_process_forked_while_a_context_is_created_says_so():
    """It would hang in OpenGL."""
    words = [sys.executable, "-c", FORKS_MEANWHILE]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "start processes by 'spawn' instead" in done.stderr


def test_pictures_do_not_depend_on_what_else_the_thread_draws():
    moderngl = pytest.importorskip("moderngl")
    bodies = {"b": body_of("b", (box_at((1, 1, 1), (3, 0, 0), glowing((1, 2, 3))),))}
    renderer, lens = Renderer(bodies), Pinhole(64, 48, 1.0, 0.1, 9.0)

    def draw():
        return renderer.render(lens, LOOKING_ALONG_X, {"b": poses_of(Pose())})

    before = draw()
    other = moderngl.create_context(standalone=True, backend="egl")
    after = draw()
    np.testing.assert_array_equal(after.color, before.color)
    np.testing.assert_array_equal(after.depth, before.depth)
    other.release()


@pytest.mark.skipif(not STATUS.exists(), reason="memory is measured as Linux shows it")
@pytest.mark.parametrize("where", [in_thread, lambda work: work()], ids=["thread", "renderer"])
def test_what_is_no_longer_used_is_given_back(where):
    bodies = {"b": body_of("b", (box_at((1, 1, 1), (3, 0, 0), glowing((1, 2, 3))),))}
    poses = {"b": poses_of(Pose())}

    def draw():
        Renderer(bodies).render(Pinhole(640, 480, 1.0, 0.1, 9.0), LOOKING_ALONG_X, poses)

    def megabytes():
        return int(STATUS.read_text().split()[1]) * 4096 / 1e6

    for _ in range(25):  # newer Mesa fills pools of its own first
        where(draw)
    before = megabytes()
    for _ in range(25):
        where(draw)
    # One context is some 7 MB, one scene with its picture 4 MB.
    assert megabytes() - before < 30.0
