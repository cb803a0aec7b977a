"""Mesh files to scenes: STL by itself, OBJ and COLLADA by their readers, others by trimesh."""

from __future__ import annotations

import re
import struct
import warnings
from pathlib import Path

import numpy as np

from ...files.resources import read_file
from ...geometry import GREY, Mesh, SceneNode, Shape
from ...reading import Reading
from ...rigid import Array
from ...shapes.unique_rows import unique_rows
from . import collada_file, wavefront

# An STL triangle: normal and three corners as floats, and two unused bytes.
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("unused", "<u2")])
_HEADER = 84
_SOLID = re.compile(rb"^[ \t]*(?:end)?solid[^\r\n]*", re.MULTILINE)
_NUMBERS = b"0123456789+-.e \t\r\n"


def read_scene(path: Path, reading: Reading) -> SceneNode:
    """Read the shapes of a mesh file, in [m].

    A file's own unit is converted; its upper axis is left as it is, so that a part
    lies as its numbers say.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not what its suffix says, or holds nothing usable.
        MissingLibraryError: The library that reads such files is not installed.
    """
    if path.suffix.lower() == ".stl":
        return SceneNode(shapes=(Shape(read_stl(read_file(path)), material=GREY),))
    if path.suffix.lower() == ".dae":
        return collada_file.read_collada(path, reading)
    if path.suffix.lower() == ".obj":
        return wavefront.read_obj(path, reading)
    from .trimesh_file import read_with_trimesh  # draws in Pillow, which most models need not

    return read_with_trimesh(path, reading)


def read_stl(data: bytes) -> Mesh:
    """Return the triangles of an STL file, text or binary, with equal corners as one vertex.

    The normals in the file are ignored: those of the faces are more precise.

    Raises:
        ValueError: The data is no STL file, or holds no triangle.
    """
    corners = _binary_corners(data)
    if corners is None:
        corners = _text_corners(data)
    if not len(corners):
        raise ValueError("it holds no triangle")
    if not np.isfinite(corners).all():
        raise ValueError("it holds coordinates that are no finite numbers")
    vertices, triangles = unique_rows(corners.astype(np.float32))
    return Mesh(vertices.astype(np.float64), triangles)


def _binary_corners(data: bytes) -> Array | None:
    """Return corners of shape (3 m, 3), or None for data that must be text."""
    if len(data) < _HEADER:
        return None
    (count,) = struct.unpack_from("<I", data, 80)
    fits = len(data) - _HEADER >= count * _TRIANGLE.itemsize
    # Binary files may begin with "solid" too; their size tells them apart.
    if len(data) - _HEADER != count * _TRIANGLE.itemsize:
        if data[:80].lstrip().lower().startswith(b"solid") and b"facet" in data[:4096].lower():
            return None
        if not fits:
            raise ValueError(f"it promises {count} triangles, but ends too early")
    triangles = np.frombuffer(data, dtype=_TRIANGLE, count=count, offset=_HEADER)
    corners: Array = triangles["corners"].reshape(-1, 3)
    return corners


def _text_corners(data: bytes) -> Array:
    """Return corners of shape (3 m, 3) of a text."""
    lower = data.lower()
    if not lower.lstrip().startswith(b"solid"):
        raise ValueError("it is neither a binary nor a text STL file")
    corners = _corners_in_one_go(lower)
    return _corners_word_by_word(lower) if corners is None else corners


def _corners_in_one_go(lower: bytes) -> Array | None:
    """Return the corners of an orderly text; None if it is not that.

    Without its words, such a text is a list of twelve numbers for each triangle: its
    normal and its corners.
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


def _corners_word_by_word(lower: bytes) -> Array:
    words = lower.split()
    at = [i for i, word in enumerate(words) if word == b"vertex"]
    if len(at) % 3:
        raise ValueError("it ends too early")
    try:
        return np.array([[float(w) for w in words[i + 1 : i + 4]] for i in at]).reshape(-1, 3)
    except ValueError:
        raise ValueError("a vertex has coordinates that are no numbers") from None
