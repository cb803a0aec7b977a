"""Check the memory that a glTF file would take, before it is loaded."""

from __future__ import annotations

import base64
import json
import warnings
from typing import Any

from ...reading import Reading
from ...shapes.images import opened_image
from .mesh_resources import MeshResources

# Limit of memory in [B]: the larger of a constant and a multiple of the size of the files.
_MIN_LIMIT = 2**28
_MAX_GROWTH = 8
# Far beyond any model:
_MAX_VALUES = 1_000_000  # of the JSON part: strings, numbers, lists, objects
_MAX_PRIMITIVES = 20_000  # each becomes a mesh
_MAX_NODES = 50_000  # each is an instance of a mesh
_JSON = 0x4E4F534A  # "JSON"
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_SIZES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
_VERTEX, _INDEX = 24, 8  # [B] in the arrays of a mesh


def check_gltf(data: bytes, mesh_resources: MeshResources, reading: Reading) -> None:
    """Raise for a file that would take too much memory, and report invalid embedded images.

    Views may overlap, accessors need no data, and primitives may share them, so that a
    small file could fill any memory. Other errors are left to the loader.

    Raises:
        ValueError: The file would take too much memory, or is not glTF.
        KeyError, TypeError, ...: The file is broken.
    """
    header, own = _header(data)
    if len(header.get("nodes", ())) > _MAX_NODES:
        raise ValueError(f"it has more than {_MAX_NODES} nodes")
    buffers = [_buffer(b, mesh_resources, own) for b in header.get("buffers", ())]
    limit = max(_MIN_LIMIT, _MAX_GROWTH * (len(data) + sum(map(len, buffers))))
    total = 0
    for view in header.get("bufferViews", ()):
        length = _natural(view, "byteLength")
        if _natural(view, "byteOffset", 0) + length > len(buffers[_natural(view, "buffer")]):
            raise ValueError("a buffer view exceeds its buffer")
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
        if primitives > _MAX_PRIMITIVES:
            raise ValueError(f"it has more than {_MAX_PRIMITIVES} primitives")
        for primitive in mesh["primitives"]:
            total += _VERTEX * counts[primitive["attributes"]["POSITION"]]
            total += _INDEX * counts[primitive["indices"]] if "indices" in primitive else 0
    if total > limit:
        raise ValueError(f"it would take {total / 1e6:.0f} MB of memory")
    _check_images(header, buffers, reading)


def _natural(holder: dict[str, Any], key: str, default: int | None = None) -> int:
    """Return a count or size; raises ValueError if it is not a natural number."""
    value = holder[key] if default is None else holder.get(key, default)
    if type(value) is not int or value < 0:
        raise ValueError(f"{key} must be a non-negative integer, not {value!r}")
    return value


def _header(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the JSON part, and the binary part of a .glb file."""
    own = b""
    text = data
    if data.startswith(b"glTF"):
        length = int.from_bytes(data[12:16], "little")
        if int.from_bytes(data[16:20], "little") != _JSON or len(data) < 20 + length:
            raise ValueError("it is truncated")
        text, own = data[20 : 20 + length], data[28 + length :]
    if sum(map(text.count, (b",", b"{", b"["))) > _MAX_VALUES:
        raise ValueError(f"its JSON has more than {_MAX_VALUES} values")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ValueError("it is not glTF")
    return header, own


def _buffer(buffer: dict[str, Any], mesh_resources: MeshResources, own: bytes) -> bytes:
    if "uri" not in buffer:
        return own
    _, encoded, content = buffer["uri"].partition("base64,")
    return base64.b64decode(content) if encoded else mesh_resources.get(buffer["uri"])


def _check_images(header: dict[str, Any], buffers: list[bytes], reading: Reading) -> None:
    """Report embedded images that cannot be opened, which the loader ignores silently."""
    for image in header.get("images", ()):
        if "bufferView" in image:
            view = header["bufferViews"][image["bufferView"]]
            start = int(view.get("byteOffset", 0))
            content = buffers[view["buffer"]][start : start + int(view["byteLength"])]
        elif "base64," in image.get("uri", ""):
            content = base64.b64decode(image["uri"].partition("base64,")[2])
        else:
            continue  # in another file
        try:
            with warnings.catch_warnings():  # about large images; the limit applies on decoding
                warnings.simplefilter("ignore")
                opened_image(content).close()
        except Exception as error:  # Pillow's plugins raise any kind of error for broken data
            message = f"an image embedded in a mesh file is left out: {error}"
            reading.diagnostics.warn("unreadable-texture", message, reading.reference_span)
