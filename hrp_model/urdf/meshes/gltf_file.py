"""A binary glTF 2.0 file (GLB) from arrays."""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...geometry import IntArray

_ARRAY_BUFFER, _ELEMENT_ARRAY_BUFFER = 34962, 34963
_UNSIGNED_BYTE, _UNSIGNED_SHORT, _UNSIGNED_INT, _FLOAT = 5121, 5123, 5125, 5126
_REPEAT, _CLAMP_TO_EDGE = 10497, 33071
_WIDTHS = {2: "VEC2", 3: "VEC3", 4: "VEC4"}
_MAX_SHORT_INDEX = 65534  # 65535 restarts primitives in some graphics libraries


class GlbFile:
    """Builder of a file of meshes; clause numbers are glTF 2.0's."""

    def __init__(self) -> None:
        self._primitives: list[dict[str, Any]] = []
        self._materials: list[dict[str, Any]] = []
        self._textures: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._extensions: set[str] = set()
        self._accessors: list[dict[str, Any]] = []
        self._views: list[dict[str, Any]] = []
        self._chunks: list[bytes] = []
        self._length = 0

    def add_material(self, material: dict[str, Any]) -> int:
        """Add a glTF material (5.19) and return its index."""
        self._extensions.update(material.get("extensions", {}))
        self._materials.append(material)
        return len(self._materials) - 1

    def add_texture(self, image: bytes, media_type: str, repeat: tuple[bool, bool]) -> int:
        """Add an encoded image ("image/png" or "image/jpeg") and return its texture's index."""
        wrap_s, wrap_t = (_REPEAT if r else _CLAMP_TO_EDGE for r in repeat)
        index = len(self._textures["textures"])
        self._textures["images"].append({"bufferView": self._view(image), "mimeType": media_type})
        self._textures["samplers"].append({"wrapS": wrap_s, "wrapT": wrap_t})
        self._textures["textures"].append({"source": index, "sampler": index})
        return index

    def add_primitive(
        self, attributes: dict[str, NDArray[Any]], triangles: IntArray, material: int
    ) -> None:
        """Add triangles of one material.

        Args:
            attributes: Vertex attributes by glTF's names (3.7.2.1), float32 or normalised
                uint8, of shape (n, 2..4).
            triangles: Indices of vertices, shape (m, 3).
            material: Index from ``add_material``.
        """
        kind = np.uint16 if len(attributes["POSITION"]) <= _MAX_SHORT_INDEX + 1 else np.uint32
        indices = {
            "bufferView": self._view(triangles.astype(kind).tobytes(), _ELEMENT_ARRAY_BUFFER),
            "componentType": _UNSIGNED_SHORT if kind is np.uint16 else _UNSIGNED_INT,
            "count": triangles.size,
            "type": "SCALAR",
        }
        primitive = {
            "attributes": {name: self._attribute(name, v) for name, v in attributes.items()},
            "indices": self._accessor(indices),
            "material": material,
        }
        self._primitives.append(primitive)

    def content(self) -> bytes:
        """Return the bytes of the file: a header, the JSON and the binary chunk (4.4)."""
        # Each primitive gets its own node, as coal, pinocchio's mesh reader, confuses the
        # vertices of several primitives in one node.
        numbers = range(len(self._primitives))
        names = ["mesh" if i == 0 else f"mesh_{i + 1}" for i in numbers]
        tree = {
            "asset": {"version": "2.0", "generator": "hrp_ros"},
            "scene": 0,
            "scenes": [{"nodes": list(numbers)}],
            "nodes": [{"mesh": i, "name": names[i]} for i in numbers],
            "meshes": [{"primitives": [self._primitives[i]], "name": names[i]} for i in numbers],
            "materials": self._materials,
            **self._textures,
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": self._length}],
        }
        if self._extensions:
            tree["extensionsUsed"] = sorted(self._extensions)
        text = json.dumps(tree, separators=(",", ":"), allow_nan=False).encode()
        chunks = _chunk(b"JSON", text, b" ") + _chunk(b"BIN\0", b"".join(self._chunks), b"\0")
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    def _attribute(self, name: str, values: NDArray[Any]) -> int:
        accessor: dict[str, Any] = {
            "bufferView": self._view(values.tobytes(), _ARRAY_BUFFER),
            "componentType": _UNSIGNED_BYTE if values.dtype == np.uint8 else _FLOAT,
            "count": len(values),
            "type": _WIDTHS[values.shape[1]],
        }
        if values.dtype == np.uint8:
            accessor["normalized"] = True
        if name == "POSITION":
            accessor["min"] = values.min(axis=0).tolist()
            accessor["max"] = values.max(axis=0).tolist()
        return self._accessor(accessor)

    def _accessor(self, accessor: dict[str, Any]) -> int:
        self._accessors.append(accessor)
        return len(self._accessors) - 1

    def _view(self, data: bytes, target: int | None = None) -> int:
        view = {"buffer": 0, "byteOffset": self._length, "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        self._views.append(view)
        self._chunks += [data, b"\0" * (-len(data) % 4)]  # every accessor begins aligned
        self._length += len(data) + -len(data) % 4
        return len(self._views) - 1


def _chunk(kind: bytes, data: bytes, filler: bytes) -> bytes:
    data += filler * (-len(data) % 4)
    return struct.pack("<I4s", len(data), kind) + data
