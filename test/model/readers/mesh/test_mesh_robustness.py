"""Mesh files that are broken or mean harm: a located warning, and little time and memory."""

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
import trimesh
from body_tools import read_context, read_link
from each_case import mostly_slow
from hypothesis import given
from hypothesis import strategies as st
from mesh_samples import DAE, binary_stl, obj, text_stl
from PIL import Image

from hrp_model.diagnostics import Diagnostics
from hrp_model.read_context import ReadContext
from hrp_model.readers.mesh.mesh_file import read_scene
from hrp_model.shapes.measure import area, bounding_box, signed_volume
from hrp_model.shapes.meshing import corner_normals
from hrp_model.shapes.tessellate import shape_mesh

LIMIT = 2**28  # bytes that no small file may take


def glb(header, binary=b""):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    chunks += struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def triangle(**changes):
    """A glTF header of one triangle, and the binary part that goes with it."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4").tobytes()
    header = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": len(points)}],
        "buffers": [{"byteLength": len(points)}],
    }
    return {**header, **changes}, points


def deep_scene(levels):
    """COLLADA nodes of which each draws in the next one twice."""
    nodes = "".join(
        f'<node id="L{i}">' + 2 * f'<instance_node url="#L{i + 1}"/>' + "</node>"
        for i in range(levels)
    )
    last = f'<node id="L{levels}"><instance_geometry url="#g"/></node>'
    library = f"<library_nodes>{nodes}{last}</library_nodes><library_visual_scenes>"
    text = DAE.replace("<library_visual_scenes>", library)
    return text.replace('<node id="N2">', '<node id="N2"><instance_node url="#L0"/>')


def bomb():
    """A document type whose one entity would be ten to the nine times as long."""
    entities = "".join(f'<!ENTITY e{i} "{10 * f"&e{i - 1};"}">' for i in range(1, 10))
    document_type = f'<!DOCTYPE COLLADA [<!ENTITY e0 "0 "> {entities}]>'
    return DAE.replace("<COLLADA", document_type + "<COLLADA", 1).replace(">0 0 0 ", ">&e9; ")


def archive(prefix=b""):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.dae", DAE)
    return prefix + stream.getvalue()


def many_views():
    binary = bytes(2**20)
    header, _ = triangle(
        bufferViews=[{"buffer": 0, "byteLength": len(binary)}] * 2000,
        buffers=[{"byteLength": len(binary)}],
    )
    return glb(header, binary)


def many_primitives():
    count = 2**18
    header, _ = triangle(
        accessors=[{"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3"}],
        bufferViews=[{"buffer": 0, "byteLength": 12 * count}],
        buffers=[{"byteLength": 12 * count}],
        meshes=[{"primitives": [{"attributes": {"POSITION": 0}}] * 3000}],
    )
    return glb(header, bytes(12 * count))


ATTACKS = {
    "entities.dae": bomb().encode(),
    "entities of 16 bits.dae": bomb().replace("utf-8", "utf-16", 1).encode("utf-16"),
    "compressed.dae": archive(),
    "compressed behind xml.dae": archive(DAE.encode()),
    "nodes in nodes.dae": deep_scene(40).encode(),
    "nodes in themselves.dae": DAE.replace(
        "<scale>2 2 2</scale>", '<instance_node url="#N1"/>'
    ).encode(),
    "no data.glb": glb(
        *triangle(accessors=[{"componentType": 5126, "count": 10**9, "type": "VEC3"}])
    ),
    **{
        f"{name}.glb": glb(*triangle(**changes))
        for name, changes in {
            "fewer than none": {
                "accessors": [
                    {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
                    {"componentType": 5126, "count": 10**8, "type": "VEC3"},
                    {"componentType": 5126, "count": -(10**9), "type": "VEC3"},
                ],
                "meshes": [
                    {"primitives": [{"attributes": {"POSITION": k}} for k in (0, 1, 2)]},
                ],
            },
            "a negative length": {"bufferViews": [{"buffer": 0, "byteLength": -1}]},
            "a negative offset": {
                "bufferViews": [{"buffer": 0, "byteOffset": -36, "byteLength": 36}]
            },
            "a length beyond the buffer": {"bufferViews": [{"buffer": 0, "byteLength": 2**40}]},
            "a count that is none": {
                "accessors": [
                    {"bufferView": 0, "componentType": 5126, "count": 3.5, "type": "VEC3"}
                ]
            },
        }.items()
    },
    "overlapping views.glb": many_views(),
    "shared points.glb": many_primitives(),
    "header only.glb": glb(*triangle())[:60],
    "cut off.glb": glb(*triangle())[:-20],
    "no json.glb": b"glTF" + struct.pack("<IIII", 2, 20, 0, 0),
    "nodes in a ring.glb": glb(*triangle(nodes=[{"mesh": 0, "children": [0]}])),
    "binary promises.stl": binary_stl(count=2**32 - 1),
    "text cut off.stl": text_stl()[:90],
    "long text.ply": b"ply\nformat ascii 1.0\n" + b"0" * (2**26),
    "elements.dae": DAE.replace("<scale>", "<a/>" * 10**6 + "<scale>").encode(),
    "one face of all.ply": b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\n"
    b"property float y\nproperty float z\nelement face 1\n"
    b"property list int int vertex_indices\nend_header\n0 0 0\n1100000" + b" 0" * 1_100_000,
    "faces without end.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 1\n"
    b"property float x\nproperty float y\nproperty float z\nelement face 20000000\n"
    b"property list uchar int vertex_indices\nend_header\n" + bytes(20_000_012),
    "points promised.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 999999999999\n"
    b"property float x\nproperty float y\nproperty float z\nend_header\n",
    "beyond all points.obj": obj(faces="f 1 2 9\n"),
    "before all points.obj": obj(faces="f -9 -8 -7\n"),
    "numbers beyond all.obj": obj(faces=f"f {10**400} {-(10**400)} 2147483648\n"),
    "groups without end.obj": obj(faces="g\nf 1 2 3\n" * 60_000),
    "words without end.obj": b"g\n" * 1_100_000,
    "one face of all.obj": obj(faces="f" + " 1" * 1_000_000 + "\n"),
    "blanks without end.obj": b" " * 1_000_000 + b"f" + b" " * 1_000_000,
    "comments without end.dae": b"<?xml version='1.0'?>" + b"<!--" * 300_000,
    "sections without end.dae": b"<?xml version='1.0'?><COLLADA>" + b"<![CDATA[" * 100_000,
}  # fmt: skip


WITH_USABLE_PARTS = (
    *(
        "nodes in a ring.glb",
        "nodes in themselves.dae",
        "overlapping views.glb",
        "fewer than none.glb",
    ),
)


@pytest.mark.parametrize("name", mostly_slow(ATTACKS, 14))
def test_a_harmful_file_is_left_out_and_takes_little_memory(name, tmp_path, diagnostics):
    path = tmp_path / name
    path.write_bytes(ATTACKS[name])
    trimesh.util  # what is imported does not count  # noqa: B018
    found = read_context(diagnostics)
    found.scene_readers[".ply"] = read_scene
    tracemalloc.start()
    try:
        scene = found.read_scene(path, None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LIMIT
    if scene is None:
        assert name in diagnostics.take("unreadable-resource").message
    more = {"bad-index", "unreadable-part"}  # said before it
    diagnostics.found[:] = [d for d in diagnostics.found if d.code not in more]
    assert scene is None or name in WITH_USABLE_PARTS


def test_an_external_entity_is_not_fetched(tmp_path, diagnostics):
    (tmp_path / "secret.txt").write_text("7 7 7 ")
    document_type = f'<!DOCTYPE COLLADA [<!ENTITY s SYSTEM "{tmp_path}/secret.txt">]>'
    text = DAE.replace("<COLLADA", document_type + "<COLLADA", 1).replace(">0 0 0 ", ">&s;")
    (tmp_path / "a.dae").write_text(text)
    with pytest.raises(ValueError, match="entities"):
        read_scene(tmp_path / "a.dae", read_context(diagnostics))


def test_what_is_wrong_is_said_at_the_place_that_names_the_file(tmp_path, diagnostics):
    (tmp_path / "p.stl").write_bytes(b"solid")
    resource = "elements: [{type: Shape, geometry: {type: Resource, uri: p.stl}}]"
    assert read_link(resource, diagnostics, tmp_path).visual == ()
    warning = diagnostics.take("unreadable-resource")
    assert "p.stl" in warning.message
    line, column = warning.at.source.line_column(warning.at.start)
    assert warning.at.source.text.splitlines()[line - 1][column - 1 :].startswith("p.stl")


def test_only_the_faces_that_use_missing_points_are_left_out(tmp_path, diagnostics):
    (tmp_path / "a.obj").write_bytes(obj(faces="f 1 2 3\nf 1 2 9\n"))
    (shape,) = read_scene(tmp_path / "a.obj", read_context(diagnostics)).flattened()
    assert shape.geometry.triangles.tolist() == [[0, 1, 2]]
    assert "1 faces of 'a.obj'" in diagnostics.take("bad-index").message


def test_a_comment_in_a_collada_file_hides_nothing(tmp_path, diagnostics):
    color = "<color>1 0 0.5 1</color>"
    text = DAE.replace(color, f"<!-- <color>0 0 0 1</color> -->{color}<!-- > -->")
    text = text.replace("<p>0", "<p><!-- 9 -->0").replace("<mesh>", "<mesh><!----><![CDATA[<!--]]>")
    for encoding in ("utf-8", "utf-16"):
        (tmp_path / "a.dae").write_bytes(text.replace("utf-8", encoding).encode(encoding))
        (shape,) = read_scene(tmp_path / "a.dae", read_context(diagnostics)).flattened()
        assert shape.material.diffuse == (1.0, 0.0, 0.5)
        assert len(shape.geometry.triangles) == 2


def test_the_parts_of_a_collada_file_that_cannot_be_read_are_reported(tmp_path, diagnostics):
    broken = DAE.split("<library_geometries>")[1].split("</library_geometries>")[0]
    broken = broken.replace('id="g"', 'id="h"').replace("<p>0 1 2 3</p>", "<p>0 1 2</p>")
    text = DAE.replace("</library_geometries>", broken + "</library_geometries>")
    text = text.replace("<scale>", '<instance_geometry url="#h"/><scale>')
    (tmp_path / "a.dae").write_text(text)
    assert len(read_scene(tmp_path / "a.dae", read_context(diagnostics)).flattened()) == 1
    assert "1 parts of 'a.dae' are left out" in diagnostics.take("unreadable-part").message


def samples():
    """One whole file of each kind, by suffix."""
    box = trimesh.creation.box()
    image = Image.new("RGB", (4, 4), (200, 10, 30))
    material = trimesh.visual.material.PBRMaterial(baseColorTexture=image)
    textured = box.copy()
    textured.visual = trimesh.visual.TextureVisuals(uv=np.zeros((8, 2)), material=material)
    return {
        "stl": [binary_stl(), text_stl()],
        "obj": [obj(), obj(faces="f -1/1/1 -2/2/1 -3/3/1\nf 1 2 3 4\n")],
        "ply": [box.export(file_type="ply"), box.export(file_type="ply", encoding="ascii")],
        "glb": [glb(*triangle()), textured.export(file_type="glb")],
        "dae": [DAE.encode()],
    }


SAMPLES = [(suffix, data) for suffix, all_data in samples().items() for data in all_data]
PIECES = [b"-1", b"99999999999", b"1e999", b"nan", b"", b"\0", b"\xff\xff\xff\xff", b"null", b"<"]


@st.composite
def damaged(draw):
    """A file with some bytes cut out, put in or doubled; its suffix."""
    suffix, data = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        piece = draw(st.sampled_from([*PIECES, data[start:end] * 2]) | st.binary(max_size=4))
        data = data[:start] + piece + data[end:]
    return suffix, data


@given(damaged())
def test_a_damaged_file_gives_whole_shapes_or_a_warning(tmp_path_factory, file):
    suffix, data = file
    path = tmp_path_factory.getbasetemp() / f"damaged.{suffix}"
    path.write_bytes(data)
    found = Diagnostics.silent()
    scene = ReadContext(found, {path.suffix: read_scene}).read_scene(path, None)
    if scene is None:
        assert [d.code for d in found.found][-1] == "unreadable-resource"
        return
    for shape in scene.flattened():
        mesh = shape_mesh(shape)
        assert np.isfinite(corner_normals(mesh)).all()
        assert np.isfinite([area(mesh), signed_volume(mesh)]).all()
        assert bounding_box(mesh) is not None
        for attribute in (mesh.normals, mesh.colors, mesh.tex_coords):
            assert attribute is None or attribute.values[attribute.indices].shape[1] == 3


@pytest.mark.parametrize("unit", ["nan", "0", "-1", "inf"])
def test_without_a_sensible_unit_a_collada_file_is_in_metres(unit, tmp_path, diagnostics):
    path = tmp_path / "a.dae"
    path.write_text(DAE.replace('meter="0.0254"', f'meter="{unit}"'))
    (shape,) = read_scene(path, read_context(diagnostics)).flattened()
    np.testing.assert_array_equal(np.diag(shape.T_FG), [2, 2, 2, 1])
    assert "metres are used" in diagnostics.take("wrong-value").message


def test_a_colour_that_is_no_number_is_the_default_one(tmp_path, diagnostics):
    path = tmp_path / "a.dae"
    shininess = "<shininess><float>nan</float></shininess>"
    text = DAE.replace("1 0 0.5 1</color></diffuse>", f"nan 0 0.5 1</color></diffuse>{shininess}")
    path.write_text(text)
    (shape,) = read_scene(path, read_context(diagnostics)).flattened()
    assert shape.material.diffuse == (0.6, 0.6, 0.6)
    assert shape.material.shininess == 0.0
    for name in ("diffuse", "shininess"):
        assert f"<{name}> that is not finite" in diagnostics.take("wrong-value").message
