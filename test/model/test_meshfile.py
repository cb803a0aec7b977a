"""Mesh files: what is in them, and what is said about those that cannot be used."""

import struct

import numpy as np
import pytest
import trimesh
from body_tools import reading
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import SHARED, needs_shared

from hrp_model.geometry import Mesh
from hrp_model.measure import area, bounding_box, signed_volume
from hrp_model.meshfile import read_scene, read_stl

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], dtype=float)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def tetrahedron():
    return trimesh.Trimesh(CORNERS, FACES, process=False)


def text_stl(corners=CORNERS, word="vertex"):
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"{word} {' '.join(map(repr, map(float, corners[i])))}\n" for i in face)
        + "endloop\nendfacet\n"
        for face in FACES
    )
    return f"solid my part\n{facets}endsolid\n".encode()


def binary_stl(start=b"", count=None):
    data = start.ljust(80) + struct.pack("<I", len(FACES) if count is None else count)
    for face in FACES:
        data += struct.pack("<12fH", 0, 0, 0, *CORNERS[list(face)].ravel(), 0)
    return data


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


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "neither"),
        (b"solid x\nendsolid\n", "no triangle"),
        (b"ISO-10303-21;", "neither"),
        (binary_stl(count=9), "ends too early"),
        (text_stl().replace(b"3.0", b"tall"), "no numbers"),
        (text_stl().replace(b"3.0", b"nan"), "no finite"),
        (text_stl().replace(b"vertex 0.0 0.0 3.0", b"vertex 0.0 0.0", 1), "no numbers"),
    ],
)
def test_a_broken_stl_is_refused_with_a_reason(data, reason):
    with pytest.raises(ValueError, match=reason):
        read_stl(data)


@settings(derandomize=True, deadline=None)
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
    (shape,) = read_scene(tmp_path / f"t.{suffix}", reading(diagnostics)).flattened()
    assert signed_volume(shape.geometry) == pytest.approx(1.0)


def test_glb_keeps_nodes_their_places_and_colours(tmp_path, diagnostics):
    scene = trimesh.Scene()
    part = tetrahedron()
    material = trimesh.visual.material.PBRMaterial(baseColorFactor=[255, 0, 51, 128])
    part.visual = trimesh.visual.TextureVisuals(material=material)
    place = trimesh.transformations.translation_matrix([1, 2, 3])
    scene.add_geometry(part, node_name="hand", transform=place)
    scene.export(tmp_path / "s.glb")
    (shape,) = read_scene(tmp_path / "s.glb", reading(diagnostics)).flattened()
    np.testing.assert_allclose(shape.T_FG, place)
    np.testing.assert_allclose(shape.material.diffuse, (1, 0, 0.2))
    assert shape.material.transparency == pytest.approx(1.0 - 128 / 255)
    diagnostics.take("texture-left-out")


DAE = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="inch" meter="0.0254"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong>
<diffuse><color>1 0 0.5 1</color></diffuse><transparency><float>0.75</float></transparency>
</phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m" name="red"><instance_effect url="#e"/></material>
</library_materials>
<library_geometries><geometry id="g" name="plate"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 2 0 0 2 1 0 0 1 0</float_array>
<technique_common><accessor source="#pa" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist count="1" material="s"><input semantic="VERTEX" source="#v" offset="0"/>
<vcount>4</vcount><p>0 1 2 3</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node id="N1" name="arm">
<translate>0 0 10</translate>
<node id="N2"><scale>2 2 2</scale><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#m"/></technique_common></bind_material>
</instance_geometry></node></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>
"""


def test_collada_keeps_names_units_and_axes(tmp_path, diagnostics):
    (tmp_path / "a.dae").write_text(DAE)
    scene = read_scene(tmp_path / "a.dae", reading(diagnostics))
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
    found = reading(diagnostics)
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
