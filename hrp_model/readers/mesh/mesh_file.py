"""Mesh files to scenes: STL by itself, OBJ and COLLADA by their readers, others by trimesh."""

from __future__ import annotations

import re
import struct
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...files.resources import read_file
from ...geometry import GREY, IntArray, Mesh, SceneNode, Shape
from ...reading import Reading
from ...rigid import Array
from . import collada_file, wavefront

# An STL triangle: normal and three corners as floats, and two unused bytes.
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("unused", "<u2")])
_HEADER = 84
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)  # odd, bits spread
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
    """Return the triangles of an STL file, text or binary, equal corners joined.

    The normals in the file are not used: a mesh's faces tell them better.

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
    single = np.array(corners, dtype=np.float32, order="C")
    single += 0.0  # no -0.0
    vertices, triangles = _joined(single)
    return Mesh(vertices, triangles)


def _joined(corners: NDArray[np.float32]) -> tuple[Array, IntArray]:
    """Return vertices (n, 3) and triangles (m, 3) of corners (3 m, 3), equal ones joined."""
    # Equal bits are equal corners. One number for the three is sorted faster than they are;
    # should two corners ever share theirs, the bytes themselves decide.
    bits = corners.view(np.uint32)
    keys = bits[:, 0].astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= bits[:, 1]
    keys *= _MIX[0]
    keys ^= keys >> np.uint64(29)
    keys += bits[:, 2]
    keys *= _MIX[1]
    first, row = _first_and_row(keys)
    del keys
    if not np.array_equal(bits[first][row], bits):
        rows = corners.view(np.dtype((np.void, 12))).ravel()
        _, at, inverse = np.unique(rows, return_index=True, return_inverse=True)
        first, row = at.astype(np.int32), inverse.astype(np.int32)
    return corners[first].astype(np.float64), row.reshape(-1, 3)


def _first_and_row(keys: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Return where each different key stands, and which of them each key is.

    As ``np.unique`` does, in half the memory.
    """
    order = np.argsort(keys).astype(np.int32)
    ordered = keys[order]
    new = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    del ordered
    row = np.empty(len(keys), dtype=np.int32)
    row[order] = np.cumsum(new, dtype=np.int32) - 1
    return order[new], row


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
