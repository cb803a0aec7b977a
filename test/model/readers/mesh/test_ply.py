"""PLY: polygons, strips, all types and byte orders, and files that end too early."""

import struct

import numpy as np
import pytest
from body_tools import read_context

from hrp_model.readers.mesh.mesh_file import read_scene
from hrp_model.shapes.measure import area
from hrp_model.shapes.tessellate import shape_mesh

ANGLES = np.arange(6) * np.pi / 3.0
HEXAGON = np.c_[np.cos(ANGLES), np.sin(ANGLES), np.zeros(6)]
STRIP = np.array([(x, y, 0) for x in range(4) for y in (1, 0)], dtype=float)  # 3 x 1
CONCAVE = np.array([(0, 0, 0), (4, 0, 0), (4, 3, 0), (2, 1, 0), (0, 3, 0)], dtype=float)
TRIANGLE = np.sqrt(3.0) / 4.0
CODES = {"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I"}
CODES |= {"float": "f", "double": "d", "uint8": "B", "int32": "i", "float32": "f"}
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


def ply(rows, faces, form="ascii", coordinate="float", index="int", count="uchar", **names):
    """A PLY file of points with further columns, and of faces."""
    columns = [f"{coordinate} {x}" for x in "xyz"] + names.get("columns", [])
    element, key = names.get("element", "face"), names.get("key", "vertex_indices")
    more = names.get("more", [])  # columns of faces
    head = [
        "ply", f"format {form} 1.0", *names.get("comments", []), f"element vertex {len(rows)}",
        *(f"property {column}" for column in columns), f"element {element} {len(faces)}",
        f"property list {count} {index} {key}", *(f"property {column}" for column in more),
        "end_header", "",
    ]  # fmt: skip
    kinds = [column.split()[0] for column in columns]
    body = [list(zip(kinds, row, strict=True)) for row in rows]
    tail = [column.split()[0] for column in more]
    for face in faces:
        corners, extra = face[: len(face) - len(tail)], face[len(face) - len(tail) :]
        row = [(count, len(corners)), *((index, x) for x in corners)]
        body.append([*row, *zip(tail, extra, strict=True)])
    if form == "ascii":
        text = "".join(" ".join(f"{value:.9g}" for _, value in row) + "\n" for row in body)
        return ("\n".join(head) + text).encode()
    packed = b"".join(
        struct.pack(ORDERS[form] + CODES[kind], value if CODES[kind] in "fd" else int(value))
        for row in body
        for kind, value in row
    )
    return "\n".join(head).encode() + packed


def shape_of(data, folder, diagnostics):
    (folder / "a.ply").write_bytes(data)
    (shape,) = read_scene(folder / "a.ply", read_context(diagnostics)).flattened()
    return shape


def measured(data, folder, diagnostics):
    mesh = shape_mesh(shape_of(data, folder, diagnostics))
    return len(mesh.triangles), area(mesh)


# Name: points, faces, triangles, area.
SURFACES = {
    "a hexagon": (HEXAGON, [range(6)], 4, 6 * TRIANGLE),
    "faces of all kinds": (HEXAGON, [(0, 1, 2), (0, 2, 3, 4), (0, 4, 5)], 4, 6 * TRIANGLE),
    "a concave face": (CONCAVE, [range(5)], 3, 8.0),
    "points and lines among them": (HEXAGON, [(0, 1), (), (0, 1, 2), (3,)], 1, TRIANGLE),
}  # fmt: skip


@pytest.mark.parametrize("form", ORDERS)
@pytest.mark.parametrize("name", SURFACES)
def test_faces_are_triangulated(name, form, tmp_path, diagnostics):
    points, faces, triangles, size = SURFACES[name]
    found = measured(ply(points, faces, form), tmp_path, diagnostics)
    assert found == (triangles, pytest.approx(size))


@pytest.mark.parametrize("form", ORDERS)
def test_strips_are_triangles_with_the_winding_of_the_first(form, tmp_path, diagnostics):
    for corners, size in (
        (range(8), 3.0),
        ((0, 1, 2, 3, -1, 4, 5, 6, 7), 2.0),
        ((0, 0, 1, 2), 0.5),
    ):
        data = ply(STRIP, [corners], form, element="tristrips")
        mesh = shape_mesh(shape_of(data, tmp_path, diagnostics))
        corner = mesh.vertices[mesh.triangles]
        z = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])[:, 2]
        assert (np.sign(z) == np.sign(z[0])).all()
        assert abs(z.sum()) / 2.0 == pytest.approx(size)


@pytest.mark.parametrize("form", ORDERS)
@pytest.mark.parametrize(
    ("coordinate", "index", "count", "key"),
    [
        ("double", "uint", "int", "vertex_index"),
        ("float32", "ushort", "uint8", "vertex_indices"),
        ("double", "int32", "ushort", "vertex_indices"),
        ("float", "double", "float", "vertex_indices"),
    ],
)
def test_every_type_of_number_is_read(form, coordinate, index, count, key, tmp_path, diagnostics):
    data = ply(HEXAGON, [range(6), (0, 1, 2)], form, coordinate, index, count, key=key)
    assert measured(data, tmp_path, diagnostics) == (5, pytest.approx(7 * TRIANGLE))


@pytest.mark.parametrize("form", ORDERS)
def test_further_columns_and_elements_are_passed(form, tmp_path, diagnostics):
    rows = np.c_[HEXAGON, np.tile((0, 0, 3), (6, 1)), np.eye(3)[[0, 1, 2, 0, 1, 2]] * 255]
    columns = [*(f"float n{x}" for x in "xyz"), *(f"uchar {x}" for x in ("red", "green", "blue"))]
    faces = [(0, 1, 2, 7), (0, 2, 3, 4, 8)]
    data = ply(rows, faces, form, columns=columns, more=["short quality"])
    mesh = shape_of(data, tmp_path, diagnostics).geometry
    np.testing.assert_array_equal(mesh.colors.values, np.eye(3)[[0, 1, 2, 0, 1, 2]])
    np.testing.assert_array_equal(mesh.normals.values, np.tile((0, 0, 1), (6, 1)))
    assert mesh.triangles.tolist()[0] == [0, 1, 2]
    assert len(mesh.triangles) == 3


def test_faces_have_colours_and_corners_coordinates_of_a_texture(tmp_path, diagnostics):
    faces = [(0, 1, 2, 255, 0, 0), (0, 2, 3, 4, 0, 0, 255)]
    more = [f"uchar {x}" for x in ("red", "green", "blue")]
    mesh = shape_of(ply(HEXAGON, faces, more=more), tmp_path, diagnostics).geometry
    corners = mesh.colors.values[mesh.colors.indices]
    np.testing.assert_array_equal(corners[:, 0], [(1, 0, 0), (0, 0, 1), (0, 0, 1)])


def test_a_texture_file_is_found_beside_it(tmp_path, diagnostics):
    (tmp_path / "wood.png").write_bytes(b"read when it is drawn")
    columns, rows = ["float s", "float t"], np.c_[HEXAGON, HEXAGON[:, :2]]
    data = ply(rows, [range(6)], columns=columns, comments=["comment TextureFile wood.png"])
    shape = shape_of(data, tmp_path, diagnostics)
    assert shape.material.texture.path == tmp_path / "wood.png"
    np.testing.assert_allclose(shape.geometry.tex_coords.values, HEXAGON[:, :2], atol=1e-6)
    (tmp_path / "wood.png").unlink()
    assert shape_of(data, tmp_path, diagnostics).material.texture is None
    diagnostics.take("missing-resource")


@pytest.mark.parametrize("form", ORDERS)
def test_faces_with_points_that_do_not_exist_are_left_out(form, tmp_path, diagnostics):
    points = np.vstack((HEXAGON, (np.nan, 0, 0)))
    faces = [(0, 1, 2), (0, 1, 99), (0, -1, 1), (0, 1, 6), (2, 3, 4, 5)]
    assert measured(ply(points, faces, form), tmp_path, diagnostics)[0] == 3
    assert diagnostics.take("bad-index").message.startswith("3 faces")


@pytest.mark.parametrize("form", ORDERS)
def test_a_file_that_ends_too_early_keeps_its_rows(form, tmp_path, diagnostics):
    data = ply(HEXAGON, [(0, 1, 2), (0, 2, 3, 4), (0, 4, 5)], form)
    cut = data.rstrip()[:-2] if form == "ascii" else data[:-2]
    assert measured(cut, tmp_path, diagnostics)[0] == 3
    assert "1 rows are missing" in diagnostics.take("unreadable-part").message


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((b"end_header", b"end"), "no PLY header"),
        ((b"format ascii 1.0", b"format morse 1.0"), "invalid line"),
        ((b"float x", b"string x"), "invalid line"),
        ((b"element vertex 6", b"element vertex -6"), "invalid line"),
        ((b"format ascii 1.0\n", b""), "no format"),
        ((b"float x", b"float w"), "no vertices"),
        ((b"vertex_indices", b"corners"), "no triangle"),
        ((b"\n0.5", b"\nhalf"), "other than numbers"),
    ],
)
def test_a_broken_file_is_refused_with_a_reason(change, reason, tmp_path, diagnostics):
    data = ply(HEXAGON, [range(6)]).replace(*change)
    with pytest.raises(ValueError, match=reason):
        shape_of(data, tmp_path, diagnostics)
