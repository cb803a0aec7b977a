"""Mesh files: what is in them, and what is said about those that cannot be used."""

import numpy as np
import pytest
import trimesh
from body_tools import read_context
from each_case import all_cases
from hypothesis import given
from hypothesis import strategies as st
from mesh_samples import CORNERS, DAE, FACES, binary_stl, text_stl
from paths import SHARED, needs_shared

from hrp_model.geometry import Mesh
from hrp_model.readers.mesh.mesh_file import read_scene, read_stl
from hrp_model.shapes.measure import area, bounding_box, signed_volume


def tetrahedron():
    return trimesh.Trimesh(CORNERS, FACES, process=False)


@pytest.mark.parametrize(
    "data",
    [text_stl(), text_stl(word="VERTEX"), binary_stl(), binary_stl(b"solid facet")],
    ids=["text", "capitals", "binary", "binary that begins with solid"],
)
def test_stl_gives_the_solid(data):
    mesh = read_stl(data)
    assert len(mesh.vertices) == 4
    assert signed_volume(mesh) == pytest.approx(1.0)


def test_equal_corners_are_joined_even_with_signed_zeros():
    corners = CORNERS.copy()
    corners[0] = -0.0
    data = text_stl(corners).replace(b"-0.0", b"0.0", 2)
    assert len(read_stl(data).vertices) == 4


@all_cases(
    "data",
    [
        text_stl().replace(b"facet normal 0 0 0", b"facet  normal 0 0 0"),
        text_stl().replace(b"normal 0 0 0", b"normal nan nan nan"),
        text_stl().replace(b"\n", b"\r\n"),
        text_stl() + text_stl(),
        text_stl().replace(b"my part", b"facet vertex 1 2 3"),
        text_stl().replace(b"\n", b" "),
        "\ufeff".encode() + text_stl(),
        text_stl().decode().encode("utf-16"),
    ],
)
def test_a_text_stl_may_be_untidy(data):
    solids = data.replace(b"\0", b"").count(b"endsolid")
    assert signed_volume(read_stl(data)) == pytest.approx(solids)


@all_cases(
    ("data", "reason"),
    [
        (b"", "neither"),
        (b"solid x\nendsolid\n", "no triangle"),
        (b"ISO-10303-21;", "neither"),
        (binary_stl(count=9), "it is truncated"),
        (text_stl().replace(b"3.0", b"tall"), "not numbers"),
        (text_stl().replace(b"3.0", b"nan"), "not finite"),
        (text_stl().replace(b"vertex 0.0 0.0 3.0", b"vertex 0.0 0.0", 1), "not numbers"),
    ],
)
def test_a_broken_stl_is_refused_with_a_reason(data, reason):
    with pytest.raises(ValueError, match=reason):
        read_stl(data)


@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_crash_the_stl_reader(data, headed):
    try:
        mesh = read_stl(binary_stl()[:84] + data if headed else data)
    except ValueError:
        return
    assert isinstance(mesh, Mesh)


@pytest.mark.parametrize("suffix", ["stl", "obj", "glb", "ply"])
def test_every_format_gives_the_same_solid(suffix, tmp_path, diagnostics):
    tetrahedron().export(tmp_path / f"t.{suffix}")
    (shape,) = read_scene(tmp_path / f"t.{suffix}", read_context(diagnostics)).flattened()
    assert signed_volume(shape.geometry) == pytest.approx(1.0)


def test_glb_keeps_nodes_their_places_and_colours(tmp_path, diagnostics):
    scene = trimesh.Scene()
    part = tetrahedron()
    material = trimesh.visual.material.PBRMaterial(baseColorFactor=[255, 0, 51, 128])
    part.visual = trimesh.visual.TextureVisuals(material=material)
    place = trimesh.transformations.translation_matrix([1, 2, 3])
    scene.add_geometry(part, node_name="hand", transform=place)
    scene.export(tmp_path / "s.glb")
    (shape,) = read_scene(tmp_path / "s.glb", read_context(diagnostics)).flattened()
    np.testing.assert_allclose(shape.T_FG, place)
    np.testing.assert_allclose(shape.material.diffuse, (1, 0, 0.2))
    assert shape.material.transparency == pytest.approx(1.0 - 128 / 255)


def test_collada_keeps_names_units_and_axes(tmp_path, diagnostics):
    (tmp_path / "a.dae").write_text(DAE)
    scene = read_scene(tmp_path / "a.dae", read_context(diagnostics))
    (arm,) = scene.children
    (hand,) = arm.children
    assert (arm.name, hand.name) == ("arm", "N2")
    (shape,) = scene.flattened()
    np.testing.assert_allclose(shape.T_FG[:3, 3], (0, 0, 0.254))
    np.testing.assert_allclose(np.diag(shape.T_FG)[:3], 2 * 0.0254)
    assert area(shape.geometry) == pytest.approx(2.0)
    assert (shape.material.name, shape.material.diffuse) == ("red", (1.0, 0.0, 0.5))
    assert shape.material.transparency == pytest.approx(0.25)


@pytest.mark.parametrize("name", ["a.dae", "a.obj", "a.glb", "a.ply", "a.stl"])
@pytest.mark.parametrize("data", [b"", b"\x00\xff garbage", b"<COLLADA>", DAE[:900].encode()])
def test_a_broken_file_is_left_out_with_a_warning(name, data, tmp_path, diagnostics):
    (tmp_path / name).write_bytes(data)
    found = read_context(diagnostics)
    found.scene_readers[".ply"] = read_scene
    assert found.read_scene(tmp_path / name, None) is None
    assert "is left out" in diagnostics.take("unreadable-resource").message


@needs_shared
def test_real_stl_files_equal_what_trimesh_reads():
    folder = SHARED / "models/choreonoid__choreonoid/share/model/GR001/parts"
    files = sorted(folder.glob("*.stl"))
    assert files
    for file in files:
        ours, theirs = read_stl(file.read_bytes()), trimesh.load(file)
        assert len(ours.triangles) == len(theirs.faces)
        assert area(ours) == pytest.approx(theirs.area, rel=1e-6)
        np.testing.assert_allclose(bounding_box(ours), theirs.bounds)
