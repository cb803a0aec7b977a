"""Parse Wavefront OBJ files into arrays of points, texture coordinates, normals and faces."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ...geometry import ByteArray, IntArray
from ...late_dataclass import dataclass
from ...rigid import Array
from ..number_list import number_list

_BLOCK = 1 << 22  # [B] parsed at once, to bound the memory of temporary arrays
_MAX_OTHERS = 1_000_000  # far beyond any model
_MAX_CORNERS = 10_000_000  # of all faces; each takes up to 60 B meanwhile
_CONTINUED = re.compile(rb"#[^\n]*|\\\r?\n")
_COMMENT = re.compile(rb"#[^\n]*")
_BLANKS = re.compile(rb"[ \t]*")
# Bytes up to the space, except line ends, separate words.
_TO_BLANKS = bytes(32 if i < 32 and i != 10 else i for i in range(256))
_NO_INDEX = np.iinfo(np.int32).max
_SPACE, _LINE_END, _SLASH, _HASH = b" \n/#"
# Kinds of lines with numbers. The first three have the order of indices in a corner (1/2/3).
_POINT, _TEX_COORD, _NORMAL, _FACE = range(1, 5)
_OTHER = 5
_IGNORED = np.frombuffer(b"slp", dtype=np.uint8)  # smoothing, lines, points
_WIDTHS = {_POINT: 3, _TEX_COORD: 2, _NORMAL: 3}
_COLORED = 6


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement without numbers, such as "usemtl steel".

    Attributes:
        faces: Number of faces above it.
        start: Offset of its first character in the file, in [B].
        words: Its text.
    """

    faces: int
    start: int
    words: bytes

    @property
    def keyword(self) -> bytes:
        """Its first word."""
        return self.words.split(None, 1)[0]

    @property
    def argument(self) -> bytes:
        """The text after the first word."""
        return self.words[len(self.keyword) :].strip()


@dataclass(frozen=True, slots=True, eq=False)
class ObjText:
    """Contents of an OBJ file; missing and invalid numbers are NaN.

    Attributes:
        points: Position, then RGB if any point has it, shape (n, 3) or (n, 6).
        tex_coords: (s, t), shape (k, 2).
        normals: Shape (l, 3).
        corners: Rows of points, texture coordinates and normals for each corner of each
            face; -1 for none; rows may be out of range; shape (c, 3).
        counts: Number of corners of each face, shape (f,).
        face_starts: Offset of each face in the file, in [B], shape (f,).
        others: All other statements, in order.
    """

    points: Array
    tex_coords: Array
    normals: Array
    corners: IntArray
    counts: IntArray
    face_starts: NDArray[np.int64]
    others: list[Statement]


def parse_obj(data: bytes) -> ObjText:
    """Parse an OBJ file (Wavefront's Advanced Visualizer manual, appendix B1).

    Raises:
        ValueError: It exceeds a limit of statements or corners.
    """
    text = _plain_lines(data)
    parser = _Parser()
    start = 0
    while start < len(text):
        end = text.find(b"\n", min(start + _BLOCK, len(text) - 1)) + 1
        parser.read(text[start:end], start)
        start = end
    return parser.result()


def _plain_lines(data: bytes) -> bytes:
    """Return a text of the same length with line feeds only, and without continued lines."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = b"   " + data[3:]
    if b"\\\n" in data or b"\\\r\n" in data:
        data = _CONTINUED.sub(lambda m: m[0] if m[0].startswith(b"#") else b" " * len(m[0]), data)
    if b"\r" in data:
        data = data.replace(b"\r\n", b" \n").replace(b"\r", b"\n")
    return data if data.endswith(b"\n") else data + b"\n"


class _Parser:
    """Collects the contents of blocks of a text."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Array]] = {
            kind: [np.empty((0, w))] for kind, w in _WIDTHS.items()
        }
        self._totals = dict.fromkeys((*_WIDTHS, _FACE), 0)
        self._corners = [np.empty((0, 3), dtype=np.int32)]
        self._corner_count = 0
        self._counts = [np.empty(0, dtype=np.int32)]
        self._face_starts = [np.empty(0, dtype=np.int64)]
        self._others: list[Statement] = []

    def result(self) -> ObjText:
        """Return everything that was read."""
        points, tex_coords, normals = (_joined(self._rows[kind]) for kind in _WIDTHS)
        return ObjText(
            points,
            tex_coords,
            normals,
            np.concatenate(self._corners),
            np.concatenate(self._counts),
            np.concatenate(self._face_starts),
            self._others,
        )

    def read(self, block: bytes, offset: int) -> None:
        """Read whole lines that begin at ``offset`` in the file."""
        lines = _Lines(block)
        kinds = lines.kinds
        above = {kind: self._totals[kind] + np.cumsum(kinds == kind) for kind in self._totals}
        for kind in _WIDTHS:
            if above[kind][-1] > self._totals[kind]:
                self._rows[kind].append(_rows(lines.numbers(kind), kind))
        others = np.flatnonzero(kinds == _OTHER)
        if len(self._others) + len(others) > _MAX_OTHERS:
            raise ValueError(f"it has more than {_MAX_OTHERS} lines without numbers")
        for i in others.tolist():
            words = block[lines.starts[i] : lines.ends[i]].translate(_TO_BLANKS).strip()
            start = offset + int(lines.starts[i])
            self._others.append(Statement(int(above[_FACE][i]), start, words))
        faces = kinds == _FACE
        if faces.any():
            corners, counts = _faces(lines.numbers(_FACE))
            self._corner_count += len(corners)
            if self._corner_count > _MAX_CORNERS:
                raise ValueError(f"its faces have more than {_MAX_CORNERS} corners")
            so_far = np.stack([above[kind][faces] for kind in _WIDTHS], axis=1)
            self._corners.append(_absolute(corners, counts, so_far))
            self._counts.append(counts)
            self._face_starts.append(lines.starts[faces] + offset)
        self._totals = {kind: int(total[-1]) for kind, total in above.items()}


class _Lines:
    """The lines of a text: offsets of their first words and ends, and their kinds."""

    def __init__(self, text: bytes) -> None:
        self._codes = np.frombuffer(text, dtype=np.uint8)
        self.ends = np.flatnonzero(self._codes == _LINE_END) + 1
        begins = np.concatenate(([0], self.ends[:-1]))
        self._sizes = self.ends - begins
        self.starts = begins.copy()
        first = self._codes[begins]
        for i in np.flatnonzero((first <= _SPACE) & (first != _LINE_END)).tolist():
            blanks = _BLANKS.match(text, begins[i])
            self.starts[i] = blanks.end() if blanks else begins[i]
        self.kinds = self._kinds()

    def numbers(self, kind: int) -> bytes:
        """Return the lines of one kind, without comments, with keywords replaced by blanks."""
        chosen = self.kinds == kind
        text = self._codes[np.repeat(chosen, self._sizes)]
        first = np.cumsum(self._sizes[chosen]) - (self.ends - self.starts)[chosen]
        text[first] = _SPACE
        if kind in (_TEX_COORD, _NORMAL):
            text[first + 1] = _SPACE
        lines = text.tobytes().translate(_TO_BLANKS)
        return _COMMENT.sub(b"", lines) if b"#" in lines else lines

    def _kinds(self) -> ByteArray:
        """Return the kind of each line, by its first letters; 0 for lines to be ignored."""
        last = len(self._codes) - 1
        first, second, third = (self._codes[np.minimum(self.starts + i, last)] for i in range(3))
        v, ends = first == ord("v"), third <= _SPACE
        kinds = np.full(len(first), _OTHER, dtype=np.uint8)
        kinds[(first <= _SPACE) | (first == _HASH)] = 0
        kinds[np.isin(first, _IGNORED) & (second <= _SPACE)] = 0
        kinds[v & (second <= _SPACE)] = _POINT
        kinds[v & (second == ord("t")) & ends] = _TEX_COORD
        kinds[v & (second == ord("n")) & ends] = _NORMAL
        kinds[(first == ord("f")) & (second <= _SPACE)] = _FACE
        return kinds


def _rows(lines: bytes, kind: int) -> Array:
    """Return the first numbers of each line, NaN where it has none, shape (n, width)."""
    codes = np.frombuffer(lines, dtype=np.uint8)
    words = np.cumsum(_begins(codes > _SPACE), dtype=np.int32)[codes == _LINE_END]
    counts = np.diff(words, prepend=np.int32(0))
    found = number_list(lines.decode("latin-1") + "]", 0, integer=False)
    values = np.empty(0) if found is None else found[0]
    if len(values) != words[-1]:
        values = np.array([_number(word) for word in lines.split()], dtype=np.float64)
    width = _COLORED if kind == _POINT and counts.max() >= _COLORED else _WIDTHS[kind]
    rows = np.full((len(counts), width), np.nan)
    if len(values) == len(counts) * counts[0] and (counts == counts[0]).all():
        rows[:, : counts[0]] = values.reshape(len(counts), -1)[:, :width]
    else:
        for i in range(width):
            has = counts > i
            rows[has, i] = values[words[has] - counts[has] + i]
    return rows


def _joined(parts: list[Array]) -> Array:
    """Return the concatenated rows, with NaN in missing columns."""
    width = max(part.shape[1] for part in parts)
    padded = [np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=np.nan) for p in parts]
    return np.concatenate(padded)


def _begins(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where runs of True begin."""
    begins = inside.copy()
    begins[1:] &= ~inside[:-1]
    return begins


def _number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return np.nan


def _faces(lines: bytes) -> tuple[IntArray, IntArray]:
    """Return indices of corners, shape (c, 3), 0 if missing, and corner counts, shape (f,)."""
    codes = np.frombuffer(lines, dtype=np.uint8)
    solid, slash = codes > _SPACE, codes == _SLASH
    begins = _begins(solid)
    words = np.cumsum(begins, dtype=np.int32)
    counts = np.diff(words[codes == _LINE_END], prepend=np.int32(0))
    corners = np.zeros((int(words[-1]), 3), dtype=np.int32)
    numbers = np.flatnonzero(_begins(solid & ~slash))
    values = _integers(lines, len(numbers))
    if not slash.any():
        corners[:, 0] = values
        return corners, counts
    slashes = np.cumsum(slash, dtype=np.int32)
    before = (slashes - slash)[begins]  # of each corner
    corner = words[numbers] - 1
    field = slashes[numbers] - before[corner]
    known = field < 3
    corners[corner[known], field[known]] = values[known]
    return corners, counts


def _integers(lines: bytes, count: int) -> IntArray:
    plain = lines.replace(b"/", b" ")
    found = number_list(plain.decode("latin-1") + "]", 0, integer=True)
    if found is not None and len(found[0]) == count:
        return found[0].astype(np.int32, copy=False)
    return np.array([_integer(word) for word in plain.split()], dtype=np.int32)


def _integer(word: bytes) -> int:
    try:
        return min(max(int(word), -_NO_INDEX), _NO_INDEX)
    except ValueError:
        return _NO_INDEX


def _absolute(corners: IntArray, counts: IntArray, above: NDArray[np.int64]) -> IntArray:
    """Return rows from indices, which start at 1, or count backwards from -1 for the latest.

    Args:
        corners: Indices, shape (c, 3), 0 for none.
        counts: Number of corners of each face, shape (f,).
        above: Numbers of points, texture coordinates and normals above each face, shape (f, 3).
    """
    rows = corners - 1
    backwards = corners < 0
    if backwards.any():
        latest = corners + np.repeat(above, counts, axis=0)
        latest[latest < 0] = _NO_INDEX
        rows[backwards] = latest[backwards]
    return rows
