"""Mesh files: another program reads the same shape, in the same place, with the same looks."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image
from urdf_tools import file_of, origin_matrix, parsed, with_visuals

from hrp_model.geometry import (
    Attribute,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Material,
    Mesh,
    Shape,
    Sphere,
    Texture,
)
from hrp_model.rigid import Pose, rpy_matrix
from hrp_model.tessellate import shape_mesh
from hrp_model.urdf import body_to_urdf
from hrp_model.urdf.meshes import write_meshes

TURNED = Pose(rpy_matrix(0.4, -1.1, 2.2), [0.5, -2.0, 1.5]).matrix()
SHEARED = np.array([[1.0, 0.6, 0, 1], [0, 2, 0, 2], [0, 0, 3, 3], [0, 0, 0, 1]])
# No two edges alike, so that a mirrored or turned mesh shows.
WEDGE = Mesh(
    [[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
)
SHAPES = {
    "cone": Shape(Cone(0.5, 1.2), TURNED),
    "capsule": Shape(Capsule(0.2, 0.7), TURNED),
    "oval": Shape(Sphere(1.0), TURNED @ np.diag([1.0, 2.0, 3.0, 1.0])),
    "sheared": Shape(Box([1.0, 2.0, 3.0]), SHEARED),
    "mirrored": Shape(WEDGE, TURNED @ np.diag([1.0, -1.0, 1.0, 1.0])),
    "wedge": Shape(WEDGE, TURNED @ np.diag([2.0, 2.0, 0.5, 1.0])),
}


def loaded(element):
    """Return the mesh of a URDF element as trimesh reads it, in the frame of its link."""
    mesh = trimesh.load(file_of(element.geometry.filename), force="mesh")
    return mesh.apply_transform(origin_matrix(element.origin))


def gltf(path):
    """Return the JSON part of a GLB file."""
    data = path.read_bytes()
    assert data[:4] == b"glTF"
    return json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])


def vertex_bytes(path, attribute):
    """Return an attribute of four bytes of each vertex of a GLB file's only mesh."""
    data, tree = path.read_bytes(), gltf(path)
    accessor = tree["accessors"][tree["meshes"][0]["primitives"][0]["attributes"][attribute]]
    view = tree["bufferViews"][accessor["bufferView"]]
    start = 20 + int.from_bytes(data[12:16], "little") + 8 + view.get("byteOffset", 0)
    start += accessor.get("byteOffset", 0)
    return [data[start + 4 * i :][:4] for i in range(accessor["count"])]


def only_file(folder, suffix):
    (path,) = folder.glob(f"*{suffix}")
    return path


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_mesh_reloads_where_the_shape_is(shape, tmp_path, diagnostics):
    body = with_visuals(shape, collision=[shape])
    uris = write_meshes(body, tmp_path, diagnostics=diagnostics)
    link = parsed(body_to_urdf(body, uris, diagnostics)).links[0]
    expected = shape_mesh(shape)
    corners = expected.vertices[expected.triangles]
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    for element in (link.visual, link.collision):
        mesh = loaded(element)
        bounds = [corners.min(axis=(0, 1)), corners.max(axis=(0, 1))]
        np.testing.assert_allclose(mesh.bounds, bounds, atol=2e-6)
        assert len(mesh.faces) == len(expected.triangles)
        assert mesh.volume == pytest.approx(volume, rel=1e-5)
        assert volume > 0


def test_primitives_need_no_mesh(tmp_path):
    shapes = (Shape(Box([1, 2, 3]), TURNED), Shape(Sphere(1.0)), Shape(Cylinder(1.0, 2.0)))
    uris = write_meshes(with_visuals(*shapes, collision=shapes), tmp_path)
    assert not uris.visual
    assert not uris.collision
    assert not list(tmp_path.iterdir())


def test_an_open_cylinder_is_drawn_open_and_touched_solid(tmp_path):
    tube = Shape(Cylinder(1.0, 2.0, top=False, bottom=False))
    body = with_visuals(tube, collision=[tube])
    link = parsed(body_to_urdf(body, write_meshes(body, tmp_path))).links[0]
    assert not loaded(link.visual).is_watertight
    assert link.collision.geometry.length == 2.0


def test_a_mesh_without_triangles_leaves_no_trace(tmp_path, diagnostics):
    body = with_visuals(Shape(Mesh(np.empty((0, 3)), np.empty((0, 3), np.int32))))
    uris = write_meshes(body, tmp_path, diagnostics=diagnostics)
    assert not parsed(body_to_urdf(body, uris, diagnostics)).links[0].visuals


def test_equal_shapes_share_a_file_wherever_they_stand(tmp_path):
    left, right = Shape(Cone(1.0, 2.0)), Shape(Cone(1.0, 2.0), TURNED)
    uris = write_meshes(with_visuals(left, right, Shape(Cone(1.0, 2.5))), tmp_path)
    assert uris.visual[left] == uris.visual[right]
    assert len(list(tmp_path.iterdir())) == 2


def test_files_that_are_there_are_kept_and_new_ones_would_be_the_same(tmp_path):
    body = with_visuals(*SHAPES.values(), collision=SHAPES.values())
    for folder in ("a", "b"):
        write_meshes(body, tmp_path / folder)
    first = {p.name: p.read_bytes() for p in (tmp_path / "a").iterdir()}
    assert first == {p.name: p.read_bytes() for p in (tmp_path / "b").iterdir()}
    inodes = {p.name: p.stat().st_ino for p in (tmp_path / "a").iterdir()}
    write_meshes(body, tmp_path / "a")
    assert inodes == {p.name: p.stat().st_ino for p in (tmp_path / "a").iterdir()}


def test_uris_may_name_a_package(tmp_path):
    body = with_visuals(SHAPES["cone"])
    (uri,) = write_meshes(body, tmp_path, "package://robot/meshes/").visual.values()
    assert uri.startswith("package://robot/meshes/ROOT-")
    assert (tmp_path / uri.rsplit("/", 1)[1]).is_file()


def test_an_unwritable_folder_leaves_nothing_half_written(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_meshes(with_visuals(SHAPES["cone"]), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_file_in_place_of_the_folder_is_an_os_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        write_meshes(with_visuals(SHAPES["cone"]), tmp_path / "file")


# Looks


def test_the_material_of_a_mesh_is_exact(tmp_path):
    material = Material(
        "glass", diffuse=(0.1, 0.2, 0.3), emissive=(0.4, 0.5, 0.6), transparency=0.3, shininess=0.5
    )
    write_meshes(with_visuals(Shape(WEDGE, material=material)), tmp_path)
    (look,) = gltf(only_file(tmp_path, ".glb"))["materials"]
    assert look["name"] == "glass"
    assert look["pbrMetallicRoughness"]["baseColorFactor"] == pytest.approx([0.1, 0.2, 0.3, 0.7])
    assert look["emissiveFactor"] == pytest.approx([0.4, 0.5, 0.6])
    assert look["alphaMode"] == "BLEND"
    assert look["doubleSided"] is False


def test_a_mesh_seen_from_both_sides_says_so(tmp_path):
    sheet = Mesh(WEDGE.vertices, WEDGE.triangles, solid=False)
    write_meshes(with_visuals(Shape(sheet)), tmp_path)
    assert gltf(only_file(tmp_path, ".glb"))["materials"][0]["doubleSided"] is True


def test_colours_of_vertices_replace_the_diffuse_colour(tmp_path):
    colors = Attribute(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array([[0, 1, 2]] * 4))
    mesh = Mesh(WEDGE.vertices, WEDGE.triangles, colors=colors)
    body = with_visuals(Shape(mesh, material=Material(diffuse=(0.1, 0.1, 0.1))))
    robot = parsed(body_to_urdf(body, write_meshes(body, tmp_path)))
    path = only_file(tmp_path, ".glb")
    assert gltf(path)["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] == [1, 1, 1, 1]
    assert set(vertex_bytes(path, "COLOR_0")) == {b"\xff\0\0\xff", b"\0\xff\0\xff", b"\0\0\xff\xff"}
    assert robot.links[0].visual.material is None  # a URDF colour could be laid over them


def test_edges_sharper_than_the_crease_angle_stay_sharp(tmp_path):
    for angle, count in ((0.0, 12), (4.0, 4)):
        mesh = Mesh(WEDGE.vertices, WEDGE.triangles, crease_angle=angle)
        write_meshes(with_visuals(Shape(mesh)), tmp_path / str(angle))
        read = trimesh.load(only_file(tmp_path / str(angle), ".glb"), force="mesh", process=False)
        assert len(read.vertices) == count


def textured(path, tmp_path, **texture):
    uv = Attribute(np.array([[0, 0], [1, 0], [0, 1.0]]), np.array([[0, 1, 2]] * 4))
    mesh = Mesh(WEDGE.vertices, WEDGE.triangles, tex_coords=uv)
    return Shape(mesh, material=Material(diffuse=(0.5, 0.5, 0.5), texture=Texture(path, **texture)))


def picture(tmp_path, mode="RGB", color=(10, 20, 30)):
    path = tmp_path / "picture.png"
    image = Image.new(mode, (4, 2), color)
    image.save(path)
    return path


def test_a_texture_is_packed_into_the_mesh(tmp_path):
    shape = textured(picture(tmp_path), tmp_path, repeat=(False, True))
    write_meshes(with_visuals(shape), tmp_path / "out")
    path = only_file(tmp_path / "out", ".glb")
    tree = gltf(path)
    assert tree["samplers"] == [{"wrapS": 33071, "wrapT": 10497}]
    assert tree["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] == [1, 1, 1, 1]
    read = trimesh.load(path, force="mesh", process=False)
    image = read.visual.material.baseColorTexture
    assert image.size == (4, 2)
    assert image.convert("RGB").getpixel((0, 0)) == (10, 20, 30)
    assert {tuple(uv) for uv in read.visual.uv.tolist()} == {(0, 0), (1, 0), (0, 1)}


def test_a_grey_texture_is_multiplied_with_the_colour(tmp_path):
    write_meshes(with_visuals(textured(picture(tmp_path, "L", 99), tmp_path)), tmp_path / "out")
    look = gltf(only_file(tmp_path / "out", ".glb"))["materials"][0]
    assert look["pbrMetallicRoughness"]["baseColorFactor"] == [0.5, 0.5, 0.5, 1]


def test_the_texture_transform_is_worked_into_the_coordinates(tmp_path):
    transform = {
        "center": (0.5, 0.5),
        "rotation": np.pi / 2,
        "scale": (2.0, 3.0),
        "translation": (0.1, 0.2),
    }
    write_meshes(with_visuals(textured(picture(tmp_path), tmp_path, **transform)), tmp_path / "out")
    read = trimesh.load(only_file(tmp_path / "out", ".glb"), force="mesh", process=False)
    # (u, v): moved to (u + .6, v + .7), turned to (-v - .7, u + .6), scaled, moved back.
    expected = {(2 * (-v - 0.7) - 0.5, 3 * (u + 0.6) - 0.5) for u, v in ((0, 0), (1, 0), (0, 1))}
    seen = {tuple(np.round(uv, 5)) for uv in read.visual.uv.tolist()}
    assert seen == {tuple(np.round(uv, 5)) for uv in expected}


def test_a_texture_that_is_no_picture_is_left_out_aloud(tmp_path, diagnostics):
    path = tmp_path / "broken.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n nonsense")
    body = with_visuals(textured(path, tmp_path))
    write_meshes(body, tmp_path / "out", diagnostics=diagnostics)
    assert "broken.png" in diagnostics.take("unreadable-texture").message
    assert "textures" not in gltf(only_file(tmp_path / "out", ".glb"))


def test_a_texture_on_a_primitive_needs_a_mesh(tmp_path):
    """How an image lies on a URDF primitive is said nowhere."""
    pixels = np.array([[[255, 0, 0], [0, 255, 0]]], np.uint8)
    box = Shape(Box([1, 2, 3]), TURNED, Material(texture=Texture(image=pixels)))
    body = with_visuals(box)
    uris = write_meshes(body, tmp_path)
    read = trimesh.load(only_file(tmp_path, ".glb"), force="mesh", process=False)
    np.testing.assert_array_equal(read.visual.material.baseColorTexture, pixels)
    assert len(read.visual.uv) == len(read.vertices) == 24
    (visual,) = parsed(body_to_urdf(body, uris)).links[0].visuals
    assert visual.material is None  # a colour might be laid over the image
    # Without files, the box at least has its size and colour.
    robot = parsed(body_to_urdf(body))
    (visual,) = robot.links[0].visuals
    assert visual.geometry.size == [1, 2, 3]
    (material,) = robot.materials
    assert (visual.material.name, material.color.rgba) == (material.name, [0.8, 0.8, 0.8, 1.0])


def test_triangles_without_area_do_no_harm(tmp_path):
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]], float)
    texture = Texture(image=np.zeros((1, 1, 3), np.uint8))
    flat = Mesh(points, [[0, 1, 2], [0, 0, 0], [0, 1, 3]], crease_angle=3.0)
    for shape in (
        Shape(flat),
        Shape(flat, material=Material(texture=texture)),
        Shape(WEDGE, np.diag([1.0, 1.0, 0.0, 1.0])),
        Shape(Mesh(np.zeros((3, 3)), [[0, 1, 2]]), material=Material(texture=texture)),
    ):
        write_meshes(with_visuals(shape), tmp_path)
    for path in tmp_path.glob("*.glb"):
        (read,) = trimesh.load(path, process=False).geometry.values()
        assert np.isfinite(read.vertices).all()
        np.testing.assert_allclose(np.linalg.norm(read.vertex_normals, axis=1), 1.0, atol=1e-6)
        uv = getattr(read.visual, "uv", None)
        assert uv is None or np.isfinite(uv).all()


def test_files_may_be_read_by_others(tmp_path):
    mask = os.umask(0o022)
    try:
        write_meshes(with_visuals(SHAPES["cone"]), tmp_path)
    finally:
        os.umask(mask)
    assert only_file(tmp_path, ".glb").stat().st_mode & 0o777 == 0o644
