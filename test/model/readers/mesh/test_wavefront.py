"""Wavefront OBJ files: faces in every notation, their groups, and their materials."""

import numpy as np
import pytest
from body_tools import read_context, read_link
from hypothesis import given
from hypothesis import strategies as st

from hrp_model.diagnostics import Diagnostics
from hrp_model.geometry import Material
from hrp_model.read_context import ReadContext
from hrp_model.readers.mesh import wavefront_text
from hrp_model.readers.mesh.mesh_file import read_scene
from hrp_model.shapes.measure import area
from hrp_model.shapes.meshing import corner_normals

SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
TRIANGLE = SQUARE + "f 1 2 3\n"


def scene(text, folder, diagnostics, **files):
    """Read the text of a file a.obj with other files beside it, such as mtl="..." for a.mtl."""
    for suffix, content in files.items():
        (folder / f"a.{suffix}").write_text(content)
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "a.obj").write_bytes(data)
    return read_scene(folder / "a.obj", read_context(diagnostics))


def shape(text, folder, diagnostics, **files):
    (found,) = scene(text, folder, diagnostics, **files).flattened()
    return found


def material(mtl, folder, diagnostics):
    head = "mtllib a.mtl\nusemtl paint\n"
    return shape(head + TRIANGLE, folder, diagnostics, mtl=f"newmtl paint\n{mtl}\n").material


def place(diagnostic):
    line, column = diagnostic.at.source.line_column(diagnostic.at.start)
    return f"{diagnostic.at.source.path.name}:{line}:{column}"


@pytest.mark.parametrize(
    "text",
    [
        SQUARE + "f 1 2 3 4",
        SQUARE + "f -4 -3 -2 -1\n",
        SQUARE.replace("\n", "\r\n") + "f 1 2 3 4\r\n",
        SQUARE.replace("\n", "\r") + "f 1 2 3 4\r",
        "\ufeff" + SQUARE + "f 1 2 3 4\n",
        SQUARE.replace("v ", " \tv\t") + "\n\tf\t1  2\t3 4 \n",
        SQUARE.replace("\n", " # here\n") + "f 1 2 3 4 # f 1 2 3\n#f 2 3 4\n",
        SQUARE + "f 1 2 \\\n3 \\\r\n 4\n",
        "# C:\\models\\\n" + SQUARE + "# \\\nf 1 2 3 4\n",
        SQUARE.replace("1 1 0", "+1.0 10e-1 0.") + "f 1 2 3 4\n",
        SQUARE.replace("\n", " 1.0\n") + "f 1 2 3 4\n",
        "f 1 2 3 4\n" + SQUARE,
    ],
    ids=[
        "last line without end", "relative", "crlf", "cr", "bom", "tabs and blanks", "comments",
        "continued", "comments that end in a back slash", "numbers", "weights",
        "faces first",
    ],
)  # fmt: skip
def test_the_same_square_in_many_notations(text, tmp_path, diagnostics):
    mesh = shape(text, tmp_path, diagnostics).geometry
    np.testing.assert_array_equal(mesh.vertices, [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
    assert len(mesh.triangles) == 2
    assert area(mesh) == 1.0
    np.testing.assert_array_equal(corner_normals(mesh), np.broadcast_to([0, 0, 1], (2, 3, 3)))


def test_a_concave_face_is_cut_along_its_inside(tmp_path, diagnostics):
    arrow = "v 0 0 0\nv 2 -1 0\nv 1 0 0\nv 2 1 0\nf 1 2 3 4\n"
    mesh = shape(arrow, tmp_path, diagnostics).geometry
    assert area(mesh) == pytest.approx(1.0)
    assert (corner_normals(mesh)[..., 2] == 1.0).all()


def test_relative_indices_count_from_where_they_stand(tmp_path, diagnostics):
    triangle = "v 0 0 {z}\nv 1 0 {z}\nv 0 1 {z}\nvn 0 0 1\nvn {z} 0 1\nf -3//-1 -2//-1 -1//-1\n"
    text = "".join(triangle.format(z=z) for z in range(3))
    mesh = shape(text, tmp_path, diagnostics).geometry
    assert mesh.vertices[mesh.triangles][:, :, 2].tolist() == [[0] * 3, [1] * 3, [2] * 3]
    normals = corner_normals(mesh)[:, 0]
    np.testing.assert_allclose(normals[:, 0] / normals[:, 2], [0, 1, 2])


def test_normals_and_texture_coordinates_have_indices_of_their_own(tmp_path, diagnostics):
    text = SQUARE + "vt 0.25 0.5\nvt 0.75 1 0\nvn 2 0 0\nvn 0 3 0\n"
    mesh = shape(text + "f 1/2/1 2/1/2 3/2/1\n", tmp_path, diagnostics).geometry
    np.testing.assert_array_equal(corner_normals(mesh)[0], [(1, 0, 0), (0, 1, 0), (1, 0, 0)])
    st_of_corners = mesh.tex_coords.values[mesh.tex_coords.indices]
    np.testing.assert_array_equal(st_of_corners[0], [(0.75, 1), (0.25, 0.5), (0.75, 1)])


def test_corners_without_a_normal_get_that_of_their_face(tmp_path, diagnostics):
    text = SQUARE + "vn 1 0 0\nvn 0 0 0\nvn 1e999 0 0\nf 1//1 2 3//2\nf 1/ 3// 4//3\n"
    normals = corner_normals(shape(text, tmp_path, diagnostics).geometry)
    assert normals[0].tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert normals[1].tolist() == [[0, 0, 1]] * 3
    assert diagnostics.take("mismatched-attribute").message.startswith("1 faces")


def test_attributes_that_do_not_exist_are_reported_once(tmp_path, diagnostics):
    text = SQUARE + "vn 0 0 1\nf 1 2 3\nf 1//1 2//1 3//2\nf 1/7/1 2/7/1 3/7/1\n"
    mesh = shape(text, tmp_path, diagnostics).geometry
    assert len(mesh.triangles) == 3
    assert mesh.tex_coords is None
    warning = diagnostics.take("mismatched-attribute")
    assert warning.message.startswith("2 faces")
    assert place(warning) == "a.obj:7:1"


@pytest.mark.parametrize(
    "face", ["f 1 2 9", "f 1 2 0", "f 1 2 -5", "f 1 2", "f", "f 1 2 x", "f 1 2 5", "f 1 2 6"]
)
def test_faces_that_cannot_be_drawn_are_left_out(face, tmp_path, diagnostics):
    # The fifth point is no number, the sixth is not finite.
    text = TRIANGLE + face + "\nv 1 nan 0\nv 0 0 1e999\nf 1 3 4\n"
    mesh = shape(text, tmp_path, diagnostics).geometry
    expected = [[(0, 0, 0), (1, 0, 0), (1, 1, 0)], [(0, 0, 0), (1, 1, 0), (0, 1, 0)]]
    np.testing.assert_array_equal(mesh.vertices[mesh.triangles], expected)
    warning = diagnostics.take("bad-index")
    assert warning.message.startswith("1 faces of 'a.obj'")
    assert place(warning) == "a.obj:6:1"


def test_colours_of_points_replace_the_diffuse_colour(tmp_path, diagnostics):
    text = "usemtl m\nmtllib a.mtl\nv 0 0 0 1 0.5 0\nv 1 0 0\nv 0 1 0 0 2 -1\nf 1 2 3\n"
    mesh = shape(text, tmp_path, diagnostics, mtl="newmtl m\nKd 0.5 1 1\n").geometry
    colors = mesh.colors.values[mesh.colors.indices]
    np.testing.assert_array_equal(colors[0], [(0.5, 0.5, 0), (0.5, 1, 1), (0, 1, 0)])


def test_each_object_group_and_material_is_a_shape_in_the_order_of_the_file(tmp_path, diagnostics):
    text = (
        SQUARE + "f 1 2 3\no arm\nusemtl red\nf 2 3 4\nusemtl blue\nf 1 3 4\n"
        "g\nf 1 2 4\ng hand left\ng palm\nf 1 2 3 4\no empty\n"
    )
    mtl = "newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n"
    root = scene(f"mtllib a.mtl\n{text}", tmp_path, diagnostics, mtl=mtl)
    assert [(n.name, len(n.shapes)) for n in root.children] == [("a", 1), ("arm", 3), ("palm", 1)]
    shapes = root.flattened()
    assert [s.material.name for s in shapes] == ["", "red", "blue", "blue", "blue"]
    assert [len(s.geometry.triangles) for s in shapes] == [1, 1, 1, 1, 2]
    # No more points than the faces have.
    assert [len(s.geometry.vertices) for s in shapes] == [3, 3, 3, 3, 4]
    assert shapes[1].geometry.vertices.tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 0]]


def test_a_model_picks_an_object_by_its_name(tmp_path, diagnostics):
    text = SQUARE + "o one\nf 1 2 3\no two\nf 1 2 3 4\n"
    (tmp_path / "a.obj").write_text(text)
    for name, triangles in (("one", 1), ("two", 2)):
        link = read_link(
            f"elements: [{{type: Resource, uri: a.obj, node: {name}}}]", diagnostics, tmp_path
        )
        (found,) = link.visual
        assert len(found.geometry.triangles) == triangles


def test_a_material_keeps_its_numbers(tmp_path, diagnostics):
    mtl = "\tka 0.1 0.2 0.2\nKd 0.123456 0.5 0.7\r\nKs 0.1 0.2 0.3 # shiny\nKe 0.3\nNs 32\nd 0.25"
    found = material(mtl + "\nTr 1\nNi 1.5\nillum 2\nmap_Bump b.png\n\n#x\n", tmp_path, diagnostics)
    ambient = 0.3 / np.linalg.norm((0.123456, 0.5, 0.7))
    assert found == Material(
        name="paint",
        diffuse=(0.123456, 0.5, 0.7),
        specular=(0.1, 0.2, 0.3),
        emissive=(0.3, 0.3, 0.3),
        ambient=pytest.approx(ambient),
        shininess=0.25,
        transparency=0.75,
    )


@pytest.mark.parametrize(
    ("mtl", "transparency"), [("Tr 0.25", 0.25), ("d -halo 0.5", 0.5), ("d 7", 0.0), ("", 0.0)]
)
def test_transparency_has_two_spellings(mtl, transparency, tmp_path, diagnostics):
    found = material(mtl, tmp_path, diagnostics)
    assert found.transparency == transparency
    assert found.diffuse == (1.0, 1.0, 1.0)


def test_what_a_material_says_in_vain_is_reported(tmp_path, diagnostics):
    found = material("Kd red\nKs 1 2\nNs nan\nShine 3\nshine 4", tmp_path, diagnostics)
    assert found.diffuse == (1.0, 1.0, 1.0)
    taken = [diagnostics.take("wrong-value") for _ in range(3)]
    assert sorted(map(place, taken)) == ["a.mtl:2:1", "a.mtl:3:1", "a.mtl:4:1"]
    assert place(diagnostics.take("unknown-key")) == "a.mtl:5:1"


def test_a_picture_needs_texture_coordinates(tmp_path, diagnostics):
    (tmp_path / "wood.png").write_bytes(b"")
    assert material("map_Kd wood.png", tmp_path, diagnostics).texture is None


def test_unknown_materials_are_one_warning_and_grey(tmp_path, diagnostics):
    text = (
        f"mtllib a.mtl\n{SQUARE}usemtl steal\nf 1 2 3\nusemtl x\nf 2 3 4\nusemtl steal\nf 1 3 4\n"
    )
    shapes = scene(text, tmp_path, diagnostics, mtl="newmtl steel\nKd 1 0 0\n").flattened()
    assert {s.material.diffuse for s in shapes} == {(0.8, 0.8, 0.8)}
    warning = diagnostics.take("unknown-material")
    assert "Did you mean 'steel'?" in warning.message
    assert place(warning) == "a.obj:6:1"


def test_libraries_may_be_several_or_have_blanks_in_their_names(tmp_path, diagnostics):
    (tmp_path / "my arm.mtl").write_text("newmtl one\nKd 1 0 0\n")
    (tmp_path / "b.mtl").write_text("newmtl pale blue\nKd 0 0 1\n")
    text = SQUARE + "usemtl one\nf 1 2 3\nusemtl pale blue\nf 2 3 4\n"
    text = "mtllib my arm.mtl\nmtllib a.mtl b.mtl\n" + text
    one, two = scene(text, tmp_path, diagnostics, mtl="").flattened()
    assert (one.material.diffuse, two.material.diffuse) == ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def test_names_in_shift_jis_are_understood(tmp_path, diagnostics):
    (tmp_path / "a.mtl").write_bytes("newmtl 赤\nKd 1 0 0\n".encode("cp932"))
    text = f"mtllib a.mtl\no 腕\nusemtl 赤\n{TRIANGLE}".encode("cp932")
    (node,) = scene(text, tmp_path, diagnostics).children
    assert node.name == "腕"
    assert node.shapes[0].material.diffuse == (1.0, 0.0, 0.0)


def test_other_statements_are_left_out_with_one_warning(tmp_path, diagnostics):
    text = "s off\nl 1 2\np 1\nlod 2\n" + TRIANGLE + "ö 1\ncurv2 1 2\ncurv2 3\nvt2 0 0\n"
    assert len(shape(text, tmp_path, diagnostics).geometry.triangles) == 1
    text = TRIANGLE.replace("v 0 1 0\n", "v 0 1 0\n  curv2 1 2\nfoo\n")
    diagnostics.take("unknown-key")
    shape(text, tmp_path, diagnostics)
    warning = diagnostics.take("unknown-key")
    assert "'curv2'" in warning.message
    assert place(warning) == "a.obj:5:3"


def test_a_place_behind_other_characters_is_right(tmp_path, diagnostics):
    shape("# 赤い腕\n" + TRIANGLE + "  赤 f 1 2\nfoo\n", tmp_path, diagnostics)
    warning = diagnostics.take("unknown-key")
    assert place(warning) == "a.obj:7:3"


def test_a_face_too_large_to_cut_is_reported(tmp_path, diagnostics):
    angles = np.linspace(0.0, 2.0 * np.pi, 3000, endpoint=False)
    points = "".join(f"v {np.cos(a):.9f} {np.sin(a):.9f} 0\n" for a in angles)
    text = points + "f " + " ".join(map(str, range(1, 3001))) + "\n"
    assert area(shape(text, tmp_path, diagnostics).geometry) == pytest.approx(np.pi, rel=1e-5)
    assert place(diagnostics.take("large-face")) == "a.obj:3001:1"


@st.composite
def written(draw):
    """Corners of triangles, shape (m, 3, 3), and a text that draws them in any notation."""
    whole = st.integers(-9, 9)
    triangles, lines, points, normals = [], [], 0, 0
    for _ in range(draw(st.integers(1, 6))):
        size = draw(st.integers(3, 5))
        new = draw(st.lists(st.tuples(whole, whole, whole), min_size=size, max_size=size))
        lines += [f"v {x}{draw(st.sampled_from(['', '.0', 'e0']))} {y} {z}" for x, y, z in new]
        points += size
        if draw(st.booleans()):
            lines.append("vn 0 0 1")
            normals += 1
        lines.append(draw(st.sampled_from(["", "# f 1 2 3", "s 1", "l 1 2", "  "])))
        first = new[:3]
        if len(set(first)) == 3:
            triangles.append(first)
        words = []
        for i in range(3):
            row = points - size + i + 1
            word = str(draw(st.sampled_from([row, row - points - 1])))
            words.append(word + (f"//{normals}" if normals and draw(st.booleans()) else ""))
        if len(set(first)) == 3:
            lines.append("f " + draw(st.sampled_from([" ", "  ", " \\\n"])).join(words))
    return triangles, draw(st.sampled_from(["\n", "\r\n"])).join(lines)


@given(file=written(), block=st.integers(1, 60))
def test_any_notation_gives_the_triangles_that_it_draws(file, block, tmp_path_factory):
    triangles, text = file
    path = tmp_path_factory.getbasetemp() / "any.obj"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wavefront_text, "_BLOCK", block)  # so that blocks end everywhere
        if not triangles:
            with pytest.raises(ValueError, match="no triangle"):
                read_scene(path, ReadContext(Diagnostics()))
            return
        (found,) = read_scene(path, ReadContext(Diagnostics())).flattened()
    mesh = found.geometry
    np.testing.assert_array_equal(mesh.vertices[mesh.triangles], triangles)
