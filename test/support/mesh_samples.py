"""Small mesh files as text and bytes."""

import struct

import numpy as np

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], dtype=float)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def text_stl(corners=CORNERS, word="vertex"):
    """The tetrahedron of CORNERS as a text STL file."""
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"{word} {' '.join(map(repr, map(float, corners[i])))}\n" for i in face)
        + "endloop\nendfacet\n"
        for face in FACES
    )
    return f"solid my part\n{facets}endsolid\n".encode()


def binary_stl(start=b"", count=None):
    """The tetrahedron of CORNERS as a binary STL file."""
    data = start.ljust(80) + struct.pack("<I", len(FACES) if count is None else count)
    for face in FACES:
        data += struct.pack("<12fH", 0, 0, 0, *CORNERS[list(face)].ravel(), 0)
    return data


def obj(faces="f 1/1/1 2/2/1 3/3/1\nf 1/1/1 3/3/1 4/4/1\n", head=""):
    """A unit square in the plane z = 0 as a Wavefront OBJ file."""
    points = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\n"
    return (head + points + faces).encode()


# A plate of 2 x 1 inches under two nodes, Y up.
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
