"""Shapes as what a browser draws: limits, damaged meshes, colours and textures."""

import json
import struct
from dataclasses import replace

import numpy as np
import pytest
from each_case import all_cases
from view_models import two_cubes

pytest.importorskip("viser")

from viser import FrameHandle, GlbHandle

from hrp_model.body import Joint, JointType, Link
from hrp_model.geometry import Box, Material, Mesh, Shape, Sphere, Texture
from hrp_model.shapes import light
from hrp_model.view.link_meshes import ShapeMeshes, outline
from hrp_model.view.robot import RobotView
from hrp_model.view.viewer import Viewer


def link_of(*shapes):
    joint = Joint(type=JointType.FIXED, name="base")
    return Link(name="base", parent=None, joint=joint, visual=shapes, collision=shapes)


def glb_json(data):
    (length,) = struct.unpack_from("<I", data, 12)
    return json.loads(data[20 : 20 + length])


def triangle(vertices=((0, 0, 0), (1, 0, 0), (0, 1, 0)), triangles=((0, 1, 2),)):
    return Mesh(np.array(vertices, dtype=np.float64), np.array(triangles, dtype=np.int32))


def test_a_link_is_one_file_with_the_materials_of_all_its_shapes():
    red = Shape(Box(np.ones(3)), material=Material(diffuse=(1.0, 0.0, 0.0)))
    grey = Shape(Sphere(0.5), material=Material(diffuse=(0.5, 0.5, 0.5), transparency=0.25))
    found = glb_json(ShapeMeshes().visual(link_of(red, grey)))
    colors = [m["pbrMetallicRoughness"]["baseColorFactor"] for m in found["materials"]]
    assert [color[3] for color in colors] == [1.0, 0.75]
    # In full light they show the share EXPOSURE of their colours (IEC 61966-2-1).
    linear_half = ((0.5 + 0.055) / 1.055) ** 2.4
    shown = light.toned(np.array([color[:3] for color in colors])) / light.EXPOSURE
    np.testing.assert_allclose(shown, [[1, 0, 0], [linear_half] * 3], atol=0.01)


def test_images_of_several_shapes_of_a_link_are_kept():
    images = [np.full((2, 2, 3), value, dtype=np.uint8) for value in (50, 200)]
    shapes = [Shape(Box(np.ones(3)), material=Material(texture=Texture(image=i))) for i in images]
    found = glb_json(ShapeMeshes().visual(link_of(*shapes)))
    used = [m["pbrMetallicRoughness"]["baseColorTexture"]["index"] for m in found["materials"]]
    assert [found["textures"][i]["source"] for i in used] == [0, 1]
    assert len(found["images"]) == 2


def test_a_texture_that_cannot_be_read_is_left_out_with_a_note(tmp_path):
    texture = Texture(path=tmp_path / "missing.png")
    meshes = ShapeMeshes()
    data = meshes.visual(link_of(Shape(Box(np.ones(3)), material=Material(texture=texture))))
    assert "images" not in glb_json(data)
    (note,) = meshes.notes
    assert "missing.png" in note


def test_a_mesh_beyond_the_limit_is_drawn_as_its_box_with_a_note():
    many = triangle(triangles=[(0, 1, 2)] * 100)
    meshes = ShapeMeshes(max_triangles=50)
    vertices, triangles = meshes.collision(link_of(Shape(many), Shape(Box(np.ones(3)))))
    np.testing.assert_array_equal(vertices.min(axis=0), [-0.5, -0.5, -0.5])
    assert len(triangles) <= 24
    assert "100 triangles" in meshes.notes[0]


def test_shapes_beyond_the_limit_are_left_out_with_one_note():
    meshes = ShapeMeshes(max_triangles=20)
    _, triangles = meshes.collision(link_of(*[Shape(Box(np.ones(3)))] * 10))
    assert len(triangles) == 24  # two boxes; the second one begins within the limit
    assert len(meshes.notes) == 1


def test_images_beyond_the_limit_are_left_out_with_a_note(monkeypatch):
    monkeypatch.setattr("hrp_model.view.link_meshes.MAX_IMAGE_BYTES", 1000)
    noise = np.random.default_rng(0).integers(0, 256, (15, 15, 3), dtype=np.uint8)
    shape = Shape(Box(np.ones(3)), material=Material(texture=Texture(image=noise)))
    meshes = ShapeMeshes()
    found = glb_json(meshes.visual(link_of(shape, shape, shape)))
    assert len(found["images"]) == 1  # each of about 700 bytes
    (note,) = meshes.notes
    assert "left out" in note


@all_cases(
    "mesh",
    [
        triangle(triangles=((0, 1, 7),)),
        triangle(triangles=((0, 1, -1),)),
        triangle(vertices=((0, 0, 0), (np.nan, 0, 0), (0, np.inf, 0))),
        triangle(vertices=((0, 0, 0), (0, 0, 0), (0, 0, 0))),
        triangle(triangles=np.empty((0, 3))),
    ],
)
def test_damaged_meshes_are_left_out(mesh):
    link = link_of(Shape(mesh))
    assert ShapeMeshes().visual(link) is None
    assert ShapeMeshes().collision(link) is None
    assert outline(link) is None


def test_the_outline_of_a_link_is_that_of_its_collision_shapes_if_it_has_no_others():
    joint = Joint(type=JointType.FIXED, name="base")
    link = Link(name="base", parent=None, joint=joint, collision=(Shape(Box(np.ones(3))),))
    vertices, _ = outline(link)
    np.testing.assert_array_equal(np.abs(vertices), 0.5)


def test_a_robot_without_visual_shapes_is_drawn_by_its_collision_shapes_or_frames():
    shown = two_cubes()
    bare = [replace(link, visual=(), collision=link.visual) for link in shown.links]
    empty = [replace(link, collision=()) for link in bare]
    with Viewer(0) as viewer:
        for links, kind, words in ((bare, GlbHandle, "collision"), (empty, FrameHandle, "frames")):
            robot = RobotView(viewer, words, replace(shown, links=tuple(links)))
            node = viewer.server.scene.get_handle_by_name(f"{robot.node_of('arm')}/visual")
            assert isinstance(node, kind)
            assert words in robot.meshes.notes[0]
