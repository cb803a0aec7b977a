"""Tables of more rows than a texture of OpenGL is high, which is 16384 at most."""

from dataclasses import replace

import numpy as np
import pytest
from sim.render.scenes import AROUND, BACKGROUND, LENS, LOOKING_ALONG_X, body_of, glowing, poses_of
from sim.render.scenes import needs_opengl as pytestmark  # noqa: F401

from hrp_model import Pose
from hrp_model.geometry import Shape, Sphere
from hrp_sim.engine.state import LinkPoses
from hrp_sim.render import Parts
from hrp_sim.render.gl import thread_context
from hrp_sim.render.gpu import GpuScene
from hrp_sim.render.scene import build_scene

RGB = (250, 128, 7)
AHEAD = poses_of(Pose(p=[3.0, 0.0, 0.0]))
BALL = body_of("ball", (Shape(Sphere(1.0), material=glowing(RGB)),))


def drawn(scene, poses):
    gpu = GpuScene(thread_context(), scene)
    picture = gpu.draw(LENS, LOOKING_ALONG_X, poses, Parts(True, True), AROUND, {})
    assert tuple(picture.color[0, 0]) == BACKGROUND
    return picture


@pytest.mark.parametrize("column", ["link", "material", "surface"])
@pytest.mark.parametrize("more", [4095, 20_000])
def test_what_stands_in_the_last_row_of_a_long_table_is_drawn_as_alone(diagnostics, column, more):
    scene = build_scene({"ball": BALL}, diagnostics)
    alone = drawn(scene, {"ball": AHEAD})
    assert tuple(alone.color[32, 32]) == RGB
    (batch,) = scene.batches
    vertices = batch.vertices.copy()
    vertices["ids"][:, ["link", "material", "surface"].index(column)] += more
    changed, poses = {"batches": (replace(batch, vertices=vertices),)}, AHEAD
    if column == "link":
        changed |= {"link_count": scene.link_count + more}
        p, R = np.zeros((more, 3)), np.zeros((more, 3, 3))
        poses = LinkPoses(np.concatenate([p, AHEAD.p]), np.concatenate([R, AHEAD.R]))
    else:
        name = f"{column}s"
        rows = getattr(scene, name)
        changed[name] = np.concatenate([np.zeros((more, *rows.shape[1:]), np.float32), rows])
    picture = drawn(replace(scene, **changed), {"ball": poses})
    np.testing.assert_array_equal(picture.color, alone.color)
    np.testing.assert_array_equal(picture.depth, alone.depth)
