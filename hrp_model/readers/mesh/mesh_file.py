"""Read mesh files as scenes; contains the reader of STL, and selects those of other formats."""

from __future__ import annotations

import codecs
import re
import struct
import warnings
from pathlib import Path

import numpy as np

from ...files.model_file import decoded
from ...files.resources import read_file
from ...geometry import GREY, Mesh, SceneNode, Shape
from ...read_context import ReadContext
from ...rigid import Array
from ...shapes.measure import unique_rows

# A triangle in binary STL: normal and three corners as floats, and two unused bytes.
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("unused", "<u2")])
_HEADER = 84
_SOLID = re.compile(rb"^[ \t]*(?:end)?solid[^\r\n]*", re.MULTILINE)
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NUMBERS = b"0123456789+-.e \t\r\n"


def read_scene(path: Path, context: ReadContext) -> SceneNode:
    """Read the shapes of a mesh file, in [m].

    The unit of the file is converted, but not its upper axis.

    Raises:
        OSError: The file cannot be read.
        ValueError: It does not have the format of its suffix, or has no triangles.
    """
    suffix = path.suffix.lower()
    if suffix == ".stl":
        return SceneNode(shapes=(Shape(read_stl(read_file(path)), material=GREY),))
    if suffix == ".dae":
        from . import collada_file  # of the formats, few models use more than one

        return collada_file.read_collada(path, context)
    if suffix == ".obj":
        from . import wavefront

        return wavefront.read_obj(path, context)
    if suffix in (".glb", ".gltf"):
        from . import gltf_file

        return gltf_file.read_gltf(path, context)
    from . import ply_file

    return ply_file.read_ply(path, context)


def read_stl(data: bytes) -> Mesh:
    """Return the triangles of an STL file, text or binary, with equal corners merged.

    The normals in the file are ignored: those computed from the faces are more precise.

    Raises:
        ValueError: The data is not an STL file, or has no triangles.
    """
    if data.startswith(_MARKS) and decoded(data[:_HEADER])[0].lstrip().startswith("solid"):
        data = decoded(data)[0].encode()
    corners = _binary_corners(data)
    if corners is None:
        corners = _text_corners(data)
    if not len(corners):
        raise ValueError("it contains no triangle")
    if not np.isfinite(corners).all():
        raise ValueError("it has coordinates that are not finite")
    vertices, triangles = unique_rows(corners.astype(np.float32))
    return Mesh(vertices.astype(np.float64), triangles)


def _binary_corners(data: bytes) -> Array | None:
    """Return corners of shape (3 m, 3), or None for data that must be text."""
    if len(data) < _HEADER:
        return None
    (count,) = struct.unpack_from("<I", data, 80)
    fits = len(data) - _HEADER >= count * _TRIANGLE.itemsize
    # Binary files may begin with "solid" too; then the size identifies them.
    if len(data) - _HEADER != count * _TRIANGLE.itemsize:
        if data[:80].lstrip().lower().startswith(b"solid") and b"facet" in data[:4096].lower():
            return None
        if not fits:
            raise ValueError(f"it is truncated: it should have {count} triangles")
    triangles = np.frombuffer(data, dtype=_TRIANGLE, count=count, offset=_HEADER)
    corners: Array = triangles["corners"].reshape(-1, 3)
    return corners


def _text_corners(data: bytes) -> Array:
    """Return corners of shape (3 m, 3) of a text."""
    lower = data.lower()
    if not lower.lstrip().startswith(b"solid"):
        raise ValueError("it is neither a binary nor a text STL file")
    corners = _fast_corners(lower)
    return _corners_by_word(lower) if corners is None else corners


def _fast_corners(lower: bytes) -> Array | None:
    """Return the corners of a regular text, converted at once; None if it is irregular.

    Without its keywords, such a text has twelve numbers per triangle: normal and corners.
    """
    numbers = _SOLID.sub(b"", lower)
    for word in (b"facet normal", b"outer loop", b"vertex", b"endloop", b"endfacet"):
        numbers = numbers.replace(word, b"")
    if not numbers or numbers.isspace() or numbers.translate(None, _NUMBERS):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values = np.fromstring(numbers, np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    if len(values) % 12 or lower.count(b"vertex") * 4 != len(values):
        return None
    return values.reshape(-1, 4, 3)[:, 1:].reshape(-1, 3)


def _corners_by_word(lower: bytes) -> Array:
    unnamed = _SOLID.sub(b"", lower)  # a name may be "vertex"; but all may be in one line
    words = (unnamed if b"vertex" in unnamed else lower).split()
    at = [i for i, word in enumerate(words) if word == b"vertex"]
    if len(at) % 3:
        raise ValueError("it is truncated: a triangle has fewer than three corners")
    try:
        return np.array([[float(w) for w in words[i + 1 : i + 4]] for i in at]).reshape(-1, 3)
    except ValueError:
        raise ValueError("the coordinates of a vertex are not numbers") from None
