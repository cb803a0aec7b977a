"""COLLADA 1.5 as OpenHRP writes it: its sources, images and samplers differ from those of 1.4."""

import numpy as np
import pytest
from body_tools import read_context
from PIL import Image

from hrp_model.geometry import Texture
from hrp_model.readers.mesh.mesh_file import read_scene

PLATE = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2008/03/COLLADASchema" version="1.5.0">
<asset><unit/></asset>
<library_visual_scenes><visual_scene id="scene"><node><instance_geometry url="#g"><bind_material>
<technique_common><instance_material symbol="paint" target="#m"/></technique_common>
</bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="9">0 0 0 2 0 0 2 3 0</float_array><technique_common>
<accessor count="9" source="#pa" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<source id=""/>
<source id="t"><float_array id="ta" count="6">0 0 1 0 1 1</float_array><technique_common>
<accessor count="6" source="#missing" stride="2"><param name="S" type="float"/>
<param name="T" type="float"/></accessor></technique_common></source>
<vertices id="vertices"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1" material="paint">
<input offset="0" semantic="VERTEX" source="#g/vertices" set="0"/>
<input offset="1" semantic="TEXCOORD" source="#t" set="0"/><p>0 0 1 1 2 2</p></triangles>
</mesh></geometry></library_geometries>
<library_effects><effect id="e"><profile_COMMON>
<newparam sid="sampler"><sampler2D><instance_image url="#i"/></sampler2D></newparam>
<technique sid=""><phong><diffuse><color>1 0.5 0 1</color> <!-- orange -->
<texture texture="sampler" texcoord="TEX0"/></diffuse></phong></technique>
</profile_COMMON></effect></library_effects>
<library_images><image id="i"><init_from><ref>wood.png</ref></init_from></image></library_images>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>
"""


def shape(tmp_path, diagnostics, text=PLATE):
    (tmp_path / "a.dae").write_text(text, encoding="utf-8")
    (found,) = read_scene(tmp_path / "a.dae", read_context(diagnostics)).flattened()
    return found


@pytest.fixture
def wood(tmp_path):
    Image.new("RGB", (2, 2)).save(tmp_path / "wood.png")
    return tmp_path / "wood.png"


def test_sources_are_named_with_their_geometry(tmp_path, wood, diagnostics):
    mesh = shape(tmp_path, diagnostics).geometry
    corners = mesh.vertices[mesh.triangles[0]]
    np.testing.assert_array_equal(corners, [(0, 0, 0), (2, 0, 0), (2, 3, 0)])
    st = mesh.tex_coords.values[mesh.tex_coords.indices[0]]
    np.testing.assert_array_equal(st, [(0, 0), (1, 0), (1, 1)])


def test_the_image_of_a_sampler_replaces_the_colour(tmp_path, wood, diagnostics):
    material = shape(tmp_path, diagnostics).material
    assert material.texture == Texture(wood)
    assert material.diffuse == (1.0, 1.0, 1.0)


def test_the_colour_remains_if_the_image_does_not_exist(tmp_path, diagnostics):
    material = shape(tmp_path, diagnostics).material
    assert "'wood.png'" in diagnostics.take("missing-resource").message
    assert (material.diffuse, material.texture) == ((1.0, 0.5, 0.0), None)


def test_primitives_that_share_points_do_not_copy_all_of_them(tmp_path, wood, diagnostics):
    """Thousands of primitives, as some exporters write, would need gigabytes."""
    points = " ".join(["5 5 5"] * 1000)
    text = PLATE.replace('count="9">0 0 0', f'count="3009">{points} 0 0 0')
    text = text.replace("<p>0 0 1 1 2 2", "<p>1000 0 1001 1 1002 2")
    mesh = shape(tmp_path, diagnostics, text).geometry
    np.testing.assert_array_equal(
        mesh.vertices[mesh.triangles[0]], [(0, 0, 0), (2, 0, 0), (2, 3, 0)]
    )
    assert len(mesh.vertices) == 3
