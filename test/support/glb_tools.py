"""Read the contents of GLB files, and a mesh to be written."""

import json

from hrp_model.geometry import Mesh

# All edges differ, so that a mirrored or rotated mesh is detected.
WEDGE = Mesh(
    [[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
)


def gltf(path):
    """Return the JSON part of a GLB file."""
    data = path.read_bytes()
    assert data[:4] == b"glTF"
    return json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])


def vertex_bytes(path, attribute):
    """Return an attribute of four bytes of each vertex of a GLB file's only mesh."""
    tree = gltf(path)
    accessor = tree["accessors"][tree["meshes"][0]["primitives"][0]["attributes"][attribute]]
    data = binary(path, tree["bufferViews"][accessor["bufferView"]])
    return [data[4 * i :][:4] for i in range(accessor["count"])]


def binary(path, view):
    """Return the bytes of a buffer view of a GLB file."""
    data = path.read_bytes()
    start = 20 + int.from_bytes(data[12:16], "little") + 8 + view["byteOffset"]
    return data[start : start + view["byteLength"]]


def only_file(folder, suffix):
    (path,) = folder.glob(f"*{suffix}")
    return path
