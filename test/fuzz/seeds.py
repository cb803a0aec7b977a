"""Where fuzzing begins: the project's own files, and small ones of every mesh format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh

from fuzz.mutate import minimal_glb

ROOT = Path(__file__).resolve().parents[2]
_SMALL = 20_000  # [B]; the rest is no more than the same again

_PART = """#VRML V2.0 utf8
DEF N Transform { translation 1 0 0 children Shape { geometry Box { size 1 1 1 } } }
"""
_NODES = "tool: &N { type: Shape, geometry: { type: Sphere, radius: 0.1 } }\nother: *N\n"
_OTHER = """format: ChoreonoidBody
format_version: 2.0
name: other
links: [ { name: A, mass: 1 }, { name: B, parent: A, joint_type: revolute, joint_id: 0 } ]
"""
_COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <asset><unit name="cm" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
 <library_images><image id="i"><init_from>picture.png</init_from></image></library_images>
 <library_effects><effect id="e"><profile_COMMON>
  <newparam sid="f"><surface type="2D"><init_from>i</init_from></surface></newparam>
  <newparam sid="s"><sampler2D><source>f</source></sampler2D></newparam>
  <technique sid="t"><phong>
  <diffuse><texture texture="s" texcoord="T"/></diffuse>
  <transparent opaque="A_ONE"><color>1 1 1 1</color></transparent>
  <transparency><float>0.5</float></transparency><shininess><float>10</float></shininess>
  </phong></technique></profile_COMMON></effect></library_effects>
 <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
 <library_geometries><geometry id="g" name="G"><mesh>
  <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
   <technique_common><accessor source="#pa" count="4" stride="3">
   <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
   </accessor></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <triangles count="1" material="w"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p>
  </triangles>
  <polylist count="2" material="w"><input semantic="VERTEX" source="#v" offset="0"/>
  <vcount>3 4</vcount><p>0 1 3 0 1 2 3</p></polylist>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene id="S"><node id="n" name="N">
  <translate>1 2 3</translate><rotate>0 0 1 90</rotate><scale>1 1 2</scale>
  <node id="k"><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix>
  <instance_geometry url="#g"><bind_material><technique_common>
  <instance_material symbol="w" target="#m"/></technique_common></bind_material>
  </instance_geometry></node></node></visual_scene></library_visual_scenes>
 <scene><instance_visual_scene url="#S"/></scene>
</COLLADA>
"""


def files(suffix: str) -> list[bytes]:
    """Return the seeds of one kind of file."""
    if suffix in (".wrl", ".body", ".urdf", ".yaml"):
        folders = ("test/data", "models")
        paths = [p for folder in folders for p in sorted((ROOT / folder).rglob(f"*{suffix}"))]
        return [data for data in (p.read_bytes() for p in paths) if len(data) <= _SMALL]
    if suffix == ".dae":
        robot = (ROOT / "test/data/collada/arm.dae").read_bytes()
        return [_COLLADA.encode(), robot]
    if suffix == ".glb":
        return [minimal_glb(), _export("glb")]
    if suffix == ".stl":
        return [_export("stl"), _export("stl_ascii")]
    return [_export(suffix[1:])]


def companions(folder: Path) -> None:
    """Write the files that fuzzed ones may refer to."""
    texts = {
        "part.wrl": _PART,
        "loop.wrl": '#VRML V2.0 utf8\nInline { url "m.wrl" }',
        "nodes.yaml": _NODES,
        "other.body": _OTHER,
        "loop.body": _OTHER.replace("links: [", "links: [ { type: SubBody, uri: m.body },"),
        "arm.body": (ROOT / "models/arm/arm.body").read_text(encoding="utf-8"),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "part.stl").write_bytes(_export("stl"))


def _export(file_type: str) -> bytes:
    mesh = trimesh.Trimesh(
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float),
        np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
        process=False,
    )
    exported = mesh.export(file_type=file_type)
    return exported.encode() if isinstance(exported, str) else bytes(exported)
