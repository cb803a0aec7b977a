"""What a glTF file promises, weighed before anything of it is unpacked."""

from __future__ import annotations

import base64
import json
import warnings
from typing import Any

from ...reading import Reading
from ...shapes.images import opened_image
from .mesh_resources import MeshResources

# Bytes that a file may take in memory: at least so many, and so many for each of its own.
_LEAST_LIMIT = 2**28
_GROWTH = 8
_MOST_VALUES = 1_000_000  # of its JSON part: texts, numbers, lists, objects
_MOST_PRIMITIVES = 20_000  # each becomes a mesh of its own; far beyond any model
_MOST_NODES = 50_000  # each shows a mesh anew
_JSON = 0x4E4F534A  # "JSON"
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_SIZES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
_VERTEX, _INDEX = 24, 8  # bytes in the arrays made of them


def check_gltf(data: bytes, mesh_resources: MeshResources, reading: Reading) -> None:
    """Refuse a file whose few bytes would become many, and report pictures that are none.

    Views may overlap, accessors need no data, and primitives may share them, so that a
    small file could fill any memory. Other faults are left to the loader.

    Raises:
        ValueError: It takes too much memory, or is no glTF at all.
        KeyError, TypeError, ...: It is broken.
    """
    header, own = _header(data)
    if len(header.get("nodes", ())) > _MOST_NODES:
        raise ValueError(f"it has more than {_MOST_NODES} nodes")
    buffers = [_buffer(b, mesh_resources, own) for b in header.get("buffers", ())]
    limit = max(_LEAST_LIMIT, _GROWTH * (len(data) + sum(map(len, buffers))))
    total = 0
    for view in header.get("bufferViews", ()):
        length = _natural(view, "byteLength")
        if _natural(view, "byteOffset", 0) + length > len(buffers[_natural(view, "buffer")]):
            raise ValueError("a part of a buffer ends beyond it")
        total += length
    counts = []
    for accessor in header.get("accessors", ()):
        _natural(accessor, "byteOffset", 0)
        counts.append(_natural(accessor, "count"))
        width = _COMPONENTS[accessor["type"]] * _SIZES[accessor["componentType"]]
        total += counts[-1] * width
        if "sparse" in accessor:
            total += (_INDEX + width) * _natural(accessor["sparse"], "count")
    primitives = 0
    for mesh in header.get("meshes", ()):
        primitives += len(mesh["primitives"])
        if primitives > _MOST_PRIMITIVES:
            raise ValueError(f"it has more than {_MOST_PRIMITIVES} primitives")
        for primitive in mesh["primitives"]:
            total += _VERTEX * counts[primitive["attributes"]["POSITION"]]
            total += _INDEX * counts[primitive["indices"]] if "indices" in primitive else 0
    if total > limit:
        raise ValueError(f"it would take {total / 1e6:.0f} MB of memory")
    _check_pictures(header, buffers, reading)


def _natural(holder: dict[str, Any], key: str, default: int | None = None) -> int:
    """Return a count or size, which no negative number may offset against others."""
    value = holder[key] if default is None else holder.get(key, default)
    if type(value) is not int or value < 0:
        raise ValueError(f"its {key} {value!r} is no count")
    return value


def _header(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the JSON part, and the binary part of a .glb file."""
    own = b""
    text = data
    if data.startswith(b"glTF"):
        length = int.from_bytes(data[12:16], "little")
        if int.from_bytes(data[16:20], "little") != _JSON or len(data) < 20 + length:
            raise ValueError("it ends too early")
        text, own = data[20 : 20 + length], data[28 + length :]
    if sum(map(text.count, (b",", b"{", b"["))) > _MOST_VALUES:
        raise ValueError(f"its JSON holds more than {_MOST_VALUES} values")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ValueError("it is no glTF")
    return header, own


def _buffer(buffer: dict[str, Any], mesh_resources: MeshResources, own: bytes) -> bytes:
    if "uri" not in buffer:
        return own
    _, encoded, content = buffer["uri"].partition("base64,")
    return base64.b64decode(content) if encoded else mesh_resources.get(buffer["uri"])


def _check_pictures(header: dict[str, Any], buffers: list[bytes], reading: Reading) -> None:
    """Report embedded pictures that cannot be opened; the loader would say nothing."""
    for image in header.get("images", ()):
        if "bufferView" in image:
            view = header["bufferViews"][image["bufferView"]]
            start = int(view.get("byteOffset", 0))
            content = buffers[view["buffer"]][start : start + int(view["byteLength"])]
        elif "base64," in image.get("uri", ""):
            content = base64.b64decode(image["uri"].partition("base64,")[2])
        else:
            continue  # one in a file of its own
        try:
            with warnings.catch_warnings():  # of large ones, which count when they are unpacked
                warnings.simplefilter("ignore")
                opened_image(content).close()
        except Exception as error:  # Pillow's plugins raise whatever broken data makes them
            message = f"a picture inside a mesh file is left out: {error}"
            reading.diagnostics.warn("unreadable-texture", message, reading.reference_span)
