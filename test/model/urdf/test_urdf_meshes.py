"""Mesh files: another program reads the same shape, in the same place, with the same looks."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from glb_tools import WEDGE, binary, gltf, only_file
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from urdf_tools import file_of, origin_matrix, parsed, with_visuals

from hrp_model.geometry import (
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
from hrp_model.shapes import measure
from hrp_model.shapes.meshing import corner_normals
from hrp_model.shapes.tessellate import shape_mesh
from hrp_model.urdf import UpAxis, body_to_urdf, write_meshes

TURNED = Pose(rpy_matrix(0.4, -1.1, 2.2), [0.5, -2.0, 1.5]).matrix()
SHEARED = np.array([[1.0, 0.6, 0, 1], [0, 2, 0, 2], [0, 0, 3, 3], [0, 0, 0, 1]])
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


def test_triangles_without_area_or_place_are_left_out(tmp_path):
    points = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, np.inf], [1, 1e-50, 0]]
    mesh = Mesh(points, [[0, 1, 2], [0, 0, 3], [0, 1, 3], [0, 1, 4], [0, 1, 5]])
    shape = Shape(mesh)
    write_meshes(with_visuals(shape, collision=[shape]), tmp_path)
    for path in tmp_path.iterdir():
        read = trimesh.load(path, force="mesh", process=False)
        np.testing.assert_array_equal(read.triangles, [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]])
    line = Shape(Mesh(points, [[0, 1, 2], [0, 1, 5]]))
    assert not write_meshes(with_visuals(line, collision=[line]), tmp_path / "line").visual
    assert not list((tmp_path / "line").iterdir())


def random_mesh(seed):
    """Return a closed, bumpy mesh whose vertices have more digits than files."""
    rng = np.random.default_rng(seed)
    ball = trimesh.creation.icosphere(subdivisions=2)
    bumps = ball.vertices * rng.uniform(0.8, 1.2, (len(ball.vertices), 1))
    return Mesh(bumps * rng.uniform(0.01, 10.0, 3), ball.faces, crease_angle=rng.uniform(0, 3))


@pytest.mark.parametrize("seed", range(5))
def test_every_triangle_arrives_in_single_precision(seed, tmp_path):
    mesh = random_mesh(seed)
    shape = Shape(mesh)
    write_meshes(with_visuals(shape, collision=[shape]), tmp_path)
    expected = mesh.vertices.astype(np.float32)[mesh.triangles]
    for path in tmp_path.iterdir():
        read = trimesh.load(path, force="mesh", process=False)
        np.testing.assert_array_equal(read.triangles.astype(np.float32), expected)
    (read,) = trimesh.load(only_file(tmp_path, ".glb"), process=False).geometry.values()
    normals = read.vertex_normals[read.faces]
    np.testing.assert_allclose(normals, corner_normals(mesh), atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_glb_keeps_the_rules_of_gltf(shape, tmp_path):
    """What the validator of Khronos checks of the kinds of data that we write."""
    write_meshes(with_visuals(shape), tmp_path)
    path = only_file(tmp_path, ".glb")
    data, tree = path.read_bytes(), gltf(path)
    json_length = int.from_bytes(data[12:16], "little")
    binary_length = int.from_bytes(data[20 + json_length :][:4], "little")
    assert int.from_bytes(data[4:8], "little") == 2
    assert int.from_bytes(data[8:12], "little") == len(data) == 28 + json_length + binary_length
    assert data[16:20] == b"JSON"
    assert data[24 + json_length :][:4] == b"BIN\0"
    assert json_length % 4 == binary_length % 4 == 0
    assert binary_length - 3 <= tree["buffers"][0]["byteLength"] <= binary_length
    sizes = {5121: 1, 5123: 2, 5125: 4, 5126: 4}
    widths = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
    for accessor in tree["accessors"]:
        view = tree["bufferViews"][accessor["bufferView"]]
        size = sizes[accessor["componentType"]] * widths[accessor["type"]] * accessor["count"]
        assert view["byteLength"] == size
        assert view["byteOffset"] % 4 == 0
    (primitive,) = tree["meshes"][0]["primitives"]
    read = {n: tree["accessors"][i] for n, i in primitive["attributes"].items()}
    assert len({accessor["count"] for accessor in read.values()}) == 1
    position = read["POSITION"]
    view = tree["bufferViews"][position["bufferView"]]
    points = np.frombuffer(binary(path, view), "<f4").reshape(-1, 3)
    assert position["min"] == points.min(axis=0).tolist()
    assert position["max"] == points.max(axis=0).tolist()
    indices = tree["accessors"][primitive["indices"]]
    kind = {5123: "<u2", 5125: "<u4"}[indices["componentType"]]
    numbers = np.frombuffer(binary(path, tree["bufferViews"][indices["bufferView"]]), kind)
    assert sorted(set(numbers.tolist())) == list(range(position["count"]))


def test_a_mesh_of_many_vertices_has_long_indices(tmp_path):
    corner = np.arange(260 * 259).reshape(260, 259)[:-1, :-1].ravel()
    triangles = corner[:, None] + [0, 1, 259]
    x, y = np.meshgrid(np.arange(259.0), np.arange(260.0))
    mesh = Mesh(np.stack([x, y, np.sin(x)], axis=-1).reshape(-1, 3), triangles, crease_angle=3.0)
    write_meshes(with_visuals(Shape(mesh)), tmp_path)
    read = trimesh.load(only_file(tmp_path, ".glb"), force="mesh", process=False)
    assert 65536 < len(read.vertices) < 1.02 * len(mesh.vertices)
    np.testing.assert_allclose(read.triangles, mesh.vertices[triangles], atol=1e-4)


def test_y_up_is_turned_back_by_readers_that_hold_to_gltf(tmp_path):
    shape = SHAPES["wedge"]
    plain, turned = (tmp_path / name for name in ("z", "y"))
    uri = write_meshes(with_visuals(shape), plain).visual[shape]
    assert write_meshes(with_visuals(shape), turned, up=UpAxis.Y).visual[shape] != uri
    as_is, y_up = (
        trimesh.load(only_file(folder, ".glb"), force="mesh", process=False)
        for folder in (plain, turned)
    )
    back = trimesh.transformations.rotation_matrix(np.pi / 2, [1, 0, 0])
    y_up.apply_transform(back)
    np.testing.assert_allclose(y_up.triangles, as_is.triangles, atol=1e-7)
    np.testing.assert_allclose(y_up.vertex_normals, as_is.vertex_normals, atol=1e-7)


def test_a_mirrored_primitive_is_its_own_image(tmp_path):
    mirror = TURNED @ np.diag([1.0, -1.0, 1.0, 1.0])
    shapes = [Shape(g, mirror) for g in (Box([1, 2, 3]), Sphere(0.5), Cylinder(0.2, 1.0))]
    body = with_visuals(*shapes)
    uris = write_meshes(body, tmp_path)
    assert not uris.visual
    for shape, visual in zip(shapes, parsed(body_to_urdf(body)).links[0].visuals, strict=True):
        corners = shape_mesh(shape, 64).vertices
        T = origin_matrix(visual.origin)
        assert np.linalg.det(T) == pytest.approx(1.0)
        inside = (corners - T[:3, 3]) @ T[:3, :3]
        geometry = visual.geometry
        if isinstance(shape.geometry, Box):
            half = np.array(geometry.size) / 2
        elif isinstance(shape.geometry, Sphere):
            half = np.full(3, geometry.radius)
        else:
            half = np.array([geometry.radius, geometry.radius, geometry.length / 2])
        np.testing.assert_allclose(np.abs(inside).max(axis=0), half, rtol=1e-2)


def test_a_link_of_any_name_has_files(tmp_path):
    for name in ("x" * 300, "../up", "腕", "-rf"):
        body = with_visuals(SHAPES["cone"])
        body = replace(body, links=(replace(body.root, name=name),))
        (uri,) = write_meshes(body, tmp_path / "meshes").visual.values()
        assert Path(file_of(uri)).parent == tmp_path / "meshes"
    assert [p.name for p in tmp_path.iterdir()] == ["meshes"]


@given(
    arrays(np.float32, st.tuples(st.integers(0, 30), st.integers(1, 4)), elements=st.integers(0, 3))
)
def test_equal_rows_are_joined_in_order_of_first_use(rows):
    check_joined(rows)


def test_rows_are_told_apart_when_their_hashes_are_equal(monkeypatch):
    monkeypatch.setattr(measure, "_hashes", lambda words: np.zeros(len(words), np.uint64))
    check_joined(np.random.default_rng(1).integers(0, 3, (50, 3)).astype(np.float32))


def check_joined(rows):
    different, index = measure.unique_rows(rows)
    np.testing.assert_array_equal(different[index], rows)
    expected = list(dict.fromkeys(map(tuple, rows.tolist())))
    assert list(map(tuple, different.tolist())) == expected


def test_files_may_be_read_by_others(tmp_path):
    mask = os.umask(0o022)
    try:
        write_meshes(with_visuals(SHAPES["cone"]), tmp_path)
    finally:
        os.umask(mask)
    assert only_file(tmp_path, ".glb").stat().st_mode & 0o777 == 0o644
