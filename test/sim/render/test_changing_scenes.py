"""Bodies that come and go in pictures."""

import threading

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
from hrp_model.geometry import Material, Texture
from hrp_sim.render import Pinhole, Renderer
from hrp_sim.render.gl import thread_context
from hrp_sim.render.scene import build_scene

pytestmark = needs_opengl
LENS = Pinhole(32, 32, 1.0, 0.01, 50.0)
RED, GREEN = (255, 0, 0), (0, 255, 0)


def wall(name, rgb, distance, links=1):
    return body_of(name, *([(box_at((0.1, 40, 40), (distance, 0, 0), glowing(rgb)),)] * links))


def test_a_picture_shows_who_is_there_in_any_thread(diagnostics):
    far, near = wall("far", RED, 4.0), wall("near", GREEN, 2.0, links=2)
    here, two = poses_of(Pose()), poses_of(Pose(), Pose())
    renderer = Renderer({"far": far})
    renderer.prepare(diagnostics)

    def middle(**poses):
        return tuple(int(c) for c in renderer.render(LENS, LOOKING_ALONG_X, poses).color[16, 16])

    assert middle(far=here) == RED
    renderer.set_bodies({"far": far, "near": near}, diagnostics)
    assert middle(far=here, near=two) == GREEN
    assert in_thread(lambda: middle(far=here, near=two)) == GREEN
    # Exposed before it came, or when another of its name was there.
    assert middle(far=here) == RED
    assert middle(far=here, near=here) == RED
    renderer.set_bodies({"far": far}, diagnostics)
    assert middle(far=here, near=two) == RED
    renderer.set_bodies({}, diagnostics)
    np.testing.assert_array_equal(middle(), (140, 179, 217))


def test_cameras_of_different_sizes_take_turns():
    shapes = [box_at((0.5, 0.4, 0.3), (2, 0.1, 0), glowing(RED, transparency=0.4))]
    body = {"b": body_of("b", [*shapes, box_at((0.1, 99, 9), (4, 0, 0), glowing(GREEN))])}
    poses, shared = {"b": poses_of(Pose())}, Renderer(body)
    for size in ((64, 48), (33, 97), (200, 11), (64, 48), (33, 97)):
        lens = Pinhole(*size, 0.5, 0.01, 50.0)
        color, depth = shared.render(lens, LOOKING_ALONG_X, poses)
        alone = Renderer(body).render(lens, LOOKING_ALONG_X, poses)
        assert color.shape == (size[1], size[0], 3)
        np.testing.assert_array_equal(color, alone.color)
        np.testing.assert_array_equal(depth, alone.depth)
        np.testing.assert_allclose([depth.min(), depth.max()], [1.75, 3.95], rtol=1e-6)


def test_who_shows_other_bodies_does_not_wait_until_they_are_read(diagnostics, monkeypatch):
    renderer, readers = Renderer({}), []

    def spy(bodies, found):
        readers.append((threading.current_thread().name, *bodies))
        return build_scene(bodies, found)

    monkeypatch.setattr("hrp_sim.render.scene.build_scene", spy)
    renderer.prepare(diagnostics)
    renderer.set_bodies({"far": wall("far", RED, 4.0)}, diagnostics)
    renderer.prepare(diagnostics)  # as for a camera of the new body
    assert readers == [("MainThread",)]
    in_thread(lambda: renderer.render(LENS, LOOKING_ALONG_X, {}))
    assert readers[1][0] != "MainThread"
    assert readers[1][1:] == ("far",)
    renderer.render(LENS, LOOKING_ALONG_X, {})
    assert len(readers) == 2


def test_nothing_is_read_before_the_first_picture(diagnostics):
    renderer = Renderer({})
    renderer.set_bodies({"far": wall("far", RED, 4.0)}, diagnostics)
    pixels = renderer.render(LENS, LOOKING_ALONG_X, {"far": poses_of(Pose())}).color
    assert tuple(pixels[16, 16]) == RED


def test_a_scene_that_opengl_cannot_hold_is_an_error(monkeypatch):
    side = thread_context().info["GL_MAX_TEXTURE_SIZE"] + 1
    monkeypatch.setattr("hrp_sim.render.scene.MAX_TEXTURE_SIDE", side)
    wide = Material(texture=Texture(image=np.zeros((1, side, 3), np.uint8)))
    renderer = Renderer({"wall": body_of("wall", (box_at((1, 1, 1), (2, 0, 0), wide),))})
    with pytest.raises(RuntimeError, match="cannot draw this scene: GL_INVALID_VALUE"):
        renderer.render(LENS, LOOKING_ALONG_X, {})
    thread_context().texture((side, 1), 4)  # fails, too, but is no affair of the next picture
    renderer = Renderer({"far": wall("far", RED, 4.0)})
    pixels = renderer.render(LENS, LOOKING_ALONG_X, {"far": poses_of(Pose())}).color
    assert tuple(pixels[16, 16]) == RED
