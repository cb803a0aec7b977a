"""glTF: what each feature means, and what is lost with a broken part."""

import base64
import json
import struct

import numpy as np
import pytest
from body_tools import read_context

from hrp_model.readers.mesh.mesh_file import read_scene
from hrp_model.shapes.measure import area
from hrp_model.shapes.tessellate import shape_mesh

ANGLES = np.arange(6) * np.pi / 3.0
HEXAGON = np.c_[np.cos(ANGLES), np.sin(ANGLES), np.zeros(6)].astype("<f4")
HEXAGON_AREA = 1.5 * np.sqrt(3.0)
TRIANGLE = np.sqrt(3.0) / 4.0  # of three corners next to each other
STRIP = np.array([(x, y, 0) for x in range(4) for y in (1, 0)], dtype="<f4")  # 3 x 1
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}
COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}


class Gltf:
    """A glTF file with one mesh, and its buffer."""

    def __init__(self, points=HEXAGON, **primitive):
        self.blob = b""
        self.header = {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "accessors": [],
            "bufferViews": [],
        }
        self.primitive = {"attributes": {"POSITION": self.add(points)}, **primitive}
        self.header["meshes"] = [{"primitives": [self.primitive]}]

    def view(self, data, **more):
        self.blob += b"\0" * (-len(self.blob) % 4)
        view = {"buffer": 0, "byteOffset": len(self.blob), "byteLength": len(data), **more}
        self.header["bufferViews"].append(view)
        self.blob += data
        return len(self.header["bufferViews"]) - 1

    def add(self, values, **more):
        values = np.asarray(values)
        columns = values.shape[1] if values.ndim == 2 else 1
        accessor = {
            "bufferView": self.view(values.tobytes()),
            "componentType": COMPONENTS[values.dtype.str[1:]],
            "count": len(values),
            "type": TYPES[columns],
            **more,
        }
        self.header["accessors"].append(accessor)
        return len(self.header["accessors"]) - 1

    def write(self, folder, name="a.glb"):
        path = folder / name
        header = {**self.header, "buffers": [{"byteLength": len(self.blob)}]}
        if name.endswith(".gltf"):
            content = base64.b64encode(self.blob).decode()
            header["buffers"][0]["uri"] = f"data:application/octet-stream;base64,{content}"
            path.write_text(json.dumps(header))
            return path
        text, blob = json.dumps(header).encode(), self.blob
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        chunks += struct.pack("<I4s", len(blob), b"BIN\0") + blob
        path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)
        return path

    def meshes(self, folder, diagnostics, name="a.glb"):
        scene = read_scene(self.write(folder, name), read_context(diagnostics))
        return [shape_mesh(shape) for shape in scene.flattened()]

    def areas(self, folder, diagnostics):
        return [area(mesh) for mesh in self.meshes(folder, diagnostics)]


def indices(*values):
    return np.array(values, dtype="<u2")


@pytest.mark.parametrize("name", ["a.glb", "a.gltf"])
@pytest.mark.parametrize(
    ("mode", "points", "size"),
    [(4, HEXAGON, 2 * TRIANGLE), (5, STRIP, 3.0), (6, HEXAGON, HEXAGON_AREA)],
    ids=["triangles", "strip", "fan"],
)
def test_triangles_strips_and_fans_are_surfaces(mode, points, size, name, tmp_path, diagnostics):
    for is_indexed in (False, True):
        gltf = Gltf(points, mode=mode)
        if is_indexed:
            gltf.primitive["indices"] = gltf.add(indices(*range(len(points))))
        (mesh,) = gltf.meshes(tmp_path, diagnostics, name)
        corners = mesh.vertices[mesh.triangles]
        z = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2]
        assert (z > 0.0).all()
        assert z.sum() / 2.0 == pytest.approx(size)


@pytest.mark.parametrize("mode", range(4))
def test_points_and_lines_are_no_surface(mode, tmp_path, diagnostics):
    with pytest.raises(ValueError, match="no triangle"):
        Gltf(mode=mode).areas(tmp_path, diagnostics)


def sparse(gltf, accessor, rows, values):
    accessor["sparse"] = {
        "count": len(rows),
        "indices": {"bufferView": gltf.view(indices(*rows).tobytes()), "componentType": 5123},
        "values": {"bufferView": gltf.view(np.array(values, dtype="<f4").tobytes())},
    }


def test_a_sparse_accessor_replaces_rows(tmp_path, diagnostics):
    gltf = Gltf(np.zeros((3, 3), dtype="<f4"))
    accessor = gltf.header["accessors"][0]
    sparse(gltf, accessor, (1, 2), [(5, 0, 0), (0, 3, 0)])
    assert gltf.areas(tmp_path, diagnostics) == [pytest.approx(7.5)]
    del accessor["bufferView"]
    assert gltf.areas(tmp_path, diagnostics) == [pytest.approx(7.5)]


@pytest.mark.parametrize(("kind", "top"), [("<i2", 32767), ("<i1", 127)])
def test_quantized_points_have_the_size_of_the_original(kind, top, tmp_path, diagnostics):
    padded = np.c_[np.round(HEXAGON * top), np.zeros(6)].astype(kind)
    for normalized in (True, False):
        gltf = Gltf(padded)
        accessor = gltf.header["accessors"][0] | {"type": "VEC3", "normalized": normalized}
        gltf.header["accessors"] = [accessor]
        gltf.header["bufferViews"][0]["byteStride"] = padded.itemsize * 4
        gltf.header["extensionsRequired"] = ["KHR_mesh_quantization"]
        if not normalized:
            gltf.header["nodes"][0]["scale"] = [1.0 / top] * 3
        assert gltf.areas(tmp_path, diagnostics) == [pytest.approx(2 * TRIANGLE, rel=0.01)] or (
            not normalized
        )
        scene = read_scene(tmp_path / "a.glb", read_context(diagnostics))
        (shape,) = scene.flattened()
        moved = shape.geometry.vertices @ shape.T_FG[:3, :3].T
        np.testing.assert_allclose(moved, HEXAGON, atol=0.6 / top)


def test_morph_targets_apply_with_their_weights(tmp_path, diagnostics):
    gltf = Gltf()
    gltf.primitive["targets"] = [{"POSITION": gltf.add(HEXAGON)}]
    gltf.header["meshes"][0]["weights"] = [2.0]
    assert gltf.areas(tmp_path, diagnostics) == [pytest.approx(2 * TRIANGLE * 9.0)]
    gltf.header["nodes"][0]["weights"] = [0.0]
    assert gltf.areas(tmp_path, diagnostics) == [pytest.approx(2 * TRIANGLE)]


@pytest.mark.parametrize(
    "name", ["KHR_draco_mesh_compression", "EXT_meshopt_compression", "VENDOR_magic"]
)
def test_an_unknown_extension_that_is_required_is_named(name, tmp_path, diagnostics):
    gltf = Gltf()
    gltf.header["extensionsUsed"] = [name]
    assert gltf.areas(tmp_path, diagnostics)
    gltf.header["extensionsRequired"] = [name]
    with pytest.raises(ValueError, match=name):
        gltf.areas(tmp_path, diagnostics)


def test_compressed_data_without_another_is_named(tmp_path, diagnostics):
    gltf = Gltf(extensions={"KHR_draco_mesh_compression": {"bufferView": 0, "attributes": {}}})
    del gltf.header["accessors"][0]["bufferView"]
    gltf.header["meshes"].append(Gltf().header["meshes"][0])
    with pytest.raises(ValueError, match="no triangle"):
        gltf.areas(tmp_path, diagnostics)
    assert "KHR_draco_mesh_compression" in diagnostics.take("unreadable-part").message


@pytest.mark.parametrize("name", ["KHR_materials_unlit", "KHR_texture_transform"])
def test_extensions_of_the_appearance_are_no_obstacle(name, tmp_path, diagnostics):
    gltf = Gltf()
    gltf.header["extensionsRequired"] = [name]
    assert gltf.areas(tmp_path, diagnostics) == [pytest.approx(2 * TRIANGLE)]


def test_another_version_is_refused_in_words(tmp_path, diagnostics):
    gltf = Gltf()
    gltf.header["asset"] = {"version": "1.0"}
    gltf.header["meshes"] = {"m": {}}
    with pytest.raises(ValueError, match=r"glTF 1; export it as glTF 2\.0"):
        gltf.areas(tmp_path, diagnostics)
    (tmp_path / "b.glb").write_bytes(struct.pack("<4sIIII", b"glTF", 1, 20, 0, 0))
    with pytest.raises(ValueError, match="glTF 1"):
        read_scene(tmp_path / "b.glb", read_context(diagnostics))
    gltf.header["asset"] = {"version": "2.5", "minVersion": "3.0"}
    with pytest.raises(ValueError, match="glTF 3"):
        gltf.areas(tmp_path, diagnostics)


def broken(**changes):
    def change(gltf):
        gltf.primitive.update(changes.pop("primitive", {}))
        gltf.primitive["attributes"].update(changes.pop("attributes", {}))
        gltf.header["nodes"][0].update(changes.pop("node", {}))
        gltf.header.update(changes)

    return change


TEXTURED = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
BROKEN = {
    "no material": broken(primitive={"material": 7}),
    "a material of words": broken(
        primitive={"material": 0}, materials=[{"pbrMetallicRoughness": {"baseColorFactor": "red"}}]
    ),
    "no texture": broken(primitive={"material": 0}, materials=TEXTURED),
    "no image": broken(primitive={"material": 0}, materials=TEXTURED, textures=[{"source": 3}]),
    "no source": broken(primitive={"material": 0}, materials=TEXTURED, textures=[{}]),
    "no normals": broken(attributes={"NORMAL": 9}),
    "no colours": broken(attributes={"COLOR_0": "red"}),
    "a pose of words": broken(node={"translation": ["a", "b", "c"]}),
    "a missing child": broken(node={"children": [9]}),
    "a node in itself": broken(node={"children": [0]}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_geometry_stays_whatever_else_is_broken(name, tmp_path, diagnostics):
    gltf = Gltf()
    BROKEN[name](gltf)
    assert gltf.areas(tmp_path, diagnostics) == [pytest.approx(2 * TRIANGLE)]
    diagnostics.take("unreadable-part")


@pytest.mark.parametrize(
    "change", [broken(node={"camera": 5}), broken(node={"skin": 5}), broken(cameras=[{}])]
)
def test_cameras_and_skins_are_not_looked_at(change, tmp_path, diagnostics):
    gltf = Gltf()
    change(gltf)
    assert gltf.areas(tmp_path, diagnostics) == [pytest.approx(2 * TRIANGLE)]


def test_one_broken_primitive_leaves_the_others(tmp_path, diagnostics):
    gltf = Gltf()
    gltf.header["meshes"][0]["primitives"] += [{"attributes": {"POSITION": 9}}, {}]
    assert gltf.areas(tmp_path, diagnostics) == [pytest.approx(2 * TRIANGLE)]
    assert "2 parts" in diagnostics.take("unreadable-part").message


def test_a_missing_buffer_takes_only_its_primitives(tmp_path, diagnostics):
    gltf = Gltf()
    path = gltf.write(tmp_path, "a.gltf")
    header = json.loads(path.read_text())
    header["buffers"].append({"byteLength": 36, "uri": "gone.bin"})
    header["bufferViews"].append({"buffer": 1, "byteLength": 36})
    header["accessors"].append({**header["accessors"][0], "bufferView": 1, "count": 3})
    header["meshes"][0]["primitives"].append({"attributes": {"POSITION": 1}})
    path.write_text(json.dumps(header))
    assert len(read_scene(path, read_context(diagnostics)).flattened()) == 1
    assert "gone.bin" in diagnostics.take("missing-resource").message
    assert "gone.bin" in diagnostics.take("unreadable-part").message


def test_without_a_scene_all_nodes_are_shown(tmp_path, diagnostics):
    gltf = Gltf()
    del gltf.header["scene"], gltf.header["scenes"]
    gltf.header["nodes"] = [{"children": [1, 2]}, {"mesh": 0}, {"mesh": 0, "scale": [2, 2, 2]}]
    assert gltf.areas(tmp_path, diagnostics) == [
        pytest.approx(2 * TRIANGLE), pytest.approx(8 * TRIANGLE),
    ]  # fmt: skip


def test_coordinates_of_a_texture_are_transformed(tmp_path, diagnostics):
    from PIL import Image

    Image.new("RGB", (2, 2), (200, 10, 30)).save(tmp_path / "a.png")
    gltf = Gltf(material=0)
    uv = np.array([(0, 0), (1, 0), (0, 1), (1, 1), (0.5, 0.5), (0, 0)], dtype="<f4")
    gltf.primitive["attributes"]["TEXCOORD_1"] = gltf.add(uv)
    transform = {"offset": [0.25, 0.5], "rotation": np.pi / 2, "scale": [2.0, 3.0], "texCoord": 1}
    reference = {"index": 0, "extensions": {"KHR_texture_transform": transform}}
    gltf.header["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": reference}}]
    gltf.header["textures"] = [{"source": 0}]
    gltf.header["images"] = [{"uri": "a.png"}]
    (mesh,) = gltf.meshes(tmp_path, diagnostics)
    # Scaled, then turned from v to u, then moved; v is downwards in glTF.
    u, v = 0.25 + 3.0 * uv[:, 1], 0.5 - 2.0 * uv[:, 0]
    np.testing.assert_allclose(mesh.tex_coords.values, np.c_[u, 1.0 - v], atol=1e-6)
