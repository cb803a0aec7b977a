"""Decode the binary data of glTF files: buffers, views and accessors, within a limit of memory."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np
from numpy.typing import NDArray

from ...rigid import Array
from .mesh_resources import MeshResources

# Limit of memory in [B]: the larger of a constant and a multiple of the size of the files.
_MIN_LIMIT = 2**27
_MAX_GROWTH = 8
_MAX_VALUES = 1_000_000  # of the JSON part: strings, numbers, lists, objects; far beyond any model
_JSON, _BINARY = 0x4E4F534A, 0x004E4942  # "JSON", "BIN"
_MAX_VERSION = 2
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}

Json = dict[str, Any]
BROKEN = (ValueError, KeyError, IndexError, TypeError, AttributeError)  # of invalid JSON values


class GltfArrays:
    """The JSON part of a glTF file, and its arrays.

    Args:
        data: Content of the file, ``.gltf`` or ``.glb``.
        resources: Reads the files of buffers.

    Raises:
        ValueError: It is not glTF, or of another version.
    """

    def __init__(self, data: bytes, resources: MeshResources) -> None:
        self._resources = resources
        self.header, self._own = _parts(data)
        self._buffers: dict[int, bytes] = {}
        self._arrays: dict[int, Array] = {}
        self._left = max(_MIN_LIMIT, _MAX_GROWTH * len(data))
        _check_version(self.header)

    def item(self, kind: str, index: object) -> Json:
        """Return an element of a list of the file, such as "meshes".

        Raises:
            ValueError: It does not exist.
        """
        listed = self.header.get(kind, [])
        if type(index) is int and 0 <= index < len(listed) and isinstance(listed[index], dict):
            found: Json = listed[index]
            return found
        raise ValueError(f"{kind}[{index}] does not exist")

    def array(self, index: object) -> Array:
        """Return the elements of an accessor, normalised, shape (n, components).

        Raises:
            ValueError, KeyError, ...: See ``BROKEN``.
        """
        accessor = self.item("accessors", index)
        assert isinstance(index, int)  # else there was no such item
        if index not in self._arrays:
            self._arrays[index] = self._decoded(accessor)
        return self._arrays[index]

    def view(self, index: object) -> bytes:
        """Return the content of a buffer view; raises as ``array``."""
        view = self.item("bufferViews", index)
        start, length = natural(view, "byteOffset", 0), natural(view, "byteLength")
        content = self._buffer(view["buffer"])
        if start + length > len(content):
            raise ValueError("a buffer view exceeds its buffer")
        return content[start : start + length]

    def take(self, size: int) -> None:
        """Count memory to be used, in [B]; raises MemoryError if it is more than the limit."""
        self._left -= size
        if self._left < 0:
            raise MemoryError("it would take too much memory")

    def _buffer(self, index: object) -> bytes:
        buffer = self.item("buffers", index)
        assert isinstance(index, int)
        if index not in self._buffers:
            uri = buffer.get("uri")
            if uri is None:
                self._buffers[index] = self._own
            else:
                content = data_uri(uri)
                self._buffers[index] = self._resources.get(uri) if content is None else content
            self._left += _MAX_GROWTH * len(self._buffers[index])
        return self._buffers[index]

    def _decoded(self, accessor: Json) -> Array:
        count, width = natural(accessor, "count"), _COMPONENTS[accessor["type"]]
        kind = np.dtype(_TYPES[accessor["componentType"]])
        self.take(8 * count * width)
        if "bufferView" in accessor:
            values = self._elements(accessor, accessor["bufferView"], count, width, kind)
        elif "sparse" in accessor:
            values = np.zeros((count, width), dtype=kind)
        else:
            raise ValueError("an accessor has no data")
        if "sparse" in accessor:
            values = self._with_sparse(values, accessor["sparse"])
        numbers: Array = values.astype(np.float64)
        if accessor.get("normalized") and kind.kind in "iu":
            numbers = np.maximum(numbers / np.iinfo(kind).max, -1.0)
        return numbers

    def _elements(
        self, holder: Json, view: object, count: int, width: int, kind: np.dtype[Any]
    ) -> NDArray[Any]:
        content = self.view(view)
        size = width * kind.itemsize
        stride = natural(self.item("bufferViews", view), "byteStride", size)
        offset = natural(holder, "byteOffset", 0)
        if stride < size or (count and offset + (count - 1) * stride + size > len(content)):
            raise ValueError("an accessor exceeds its buffer view")
        strides = (stride, kind.itemsize)
        return np.ndarray(
            (count, width), kind, content if count else bytes(size), offset if count else 0, strides
        )

    def _with_sparse(self, values: NDArray[Any], sparse: Json) -> NDArray[Any]:
        """Return a copy of an array with the rows that a sparse accessor replaces."""
        count = natural(sparse, "count")
        self.take(8 * count * (1 + values.shape[1]))
        indices, rows = sparse["indices"], sparse["values"]
        kind = np.dtype(_TYPES[indices["componentType"]])
        at = self._elements(indices, indices["bufferView"], count, 1, kind)[:, 0].astype(np.int64)
        changed = values.copy()
        width = values.shape[1]
        changed[at] = self._elements(rows, rows["bufferView"], count, width, values.dtype)
        return changed


def natural(holder: Json, key: str, default: int | None = None) -> int:
    """Return a count or size; raises ValueError if it is not a natural number."""
    value = holder[key] if default is None else holder.get(key, default)
    if type(value) is not int or value < 0:
        raise ValueError(f"{key} must be a non-negative integer, not {value!r}")
    return value


def data_uri(uri: str) -> bytes | None:
    """Return the content of a "data:" URI; None for any other."""
    if not uri.startswith("data:"):
        return None
    kind, _, content = uri.partition(",")
    return base64.b64decode(content) if kind.endswith(";base64") else unquote_to_bytes(content)


def _parts(data: bytes) -> tuple[Json, bytes]:
    """Return the JSON part, and the binary part of a .glb file."""
    text, own = data, b""
    if data.startswith(b"glTF"):
        _check_number(int.from_bytes(data[4:8], "little"))
        length = int.from_bytes(data[12:16], "little")
        if int.from_bytes(data[16:20], "little") != _JSON or len(data) < 20 + length:
            raise ValueError("it is truncated")
        text = data[20 : 20 + length]
        size = int.from_bytes(data[20 + length : 24 + length], "little")
        if int.from_bytes(data[24 + length : 28 + length], "little") == _BINARY:
            own = data[28 + length : 28 + length + size]
    if sum(map(text.count, (b",", b"{", b"["))) > _MAX_VALUES:
        raise ValueError(f"its JSON has more than {_MAX_VALUES} values")
    try:
        header = json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"its JSON is invalid: {error}") from None
    if not isinstance(header, dict):
        raise ValueError("it is not glTF")
    return header, own


def _check_version(header: Json) -> None:
    asset = header.get("asset")
    written = asset.get("minVersion", asset.get("version")) if isinstance(asset, dict) else None
    if not isinstance(written, str):
        raise ValueError("it is not glTF: it has no version")
    major = written.partition(".")[0]
    _check_number(int(major) if major.isdecimal() and len(major) < 9 else 0)


def _check_number(version: int) -> None:
    if version != _MAX_VERSION:
        raise ValueError(f"it is glTF {version}; export it as glTF 2.0")
