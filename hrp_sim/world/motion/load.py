"""Load a motion file of any supported format, and read that of plain text."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from hrp_model import Diagnostics, ModelError
from hrp_model.diagnostics import Source, Span
from hrp_model.files.resources import ResourceError, path_from_uri
from hrp_model.read_context import read_source
from hrp_model.readers.yaml.nodes import Mapping
from hrp_model.readers.yaml.tree import parse

from .motion import Motion
from .sequences import DEFAULT_RATE, read_pose_sequence, read_value_sequences

_MAX_NUMBER = 1e12  # as of commands to joints
# The first line of plain text is numbers only.
_PLAIN = re.compile(r"[\s,]*[-+.\d][-+.\deE\s,]*(?:\n|$)")


def load_motion(
    path: str | os.PathLike[str],
    diagnostics: Diagnostics | None = None,
    *,
    rate: float = DEFAULT_RATE,
) -> Motion:
    """Load a motion, of the format that its text has, whatever its suffix.

    Formats are body motions of Choreonoid (``.yaml``, ``.seq``: CompositeSeq or a single
    MultiValueSeq), its key poses (``.pseq``: PoseSeq), and plain text with a time and the joint
    positions in each line (``.seq``, ``.pos`` of OpenHRP and hrpsys).

    Args:
        path: Path of the file, or its ``file://`` or ``package://`` URI.
        diagnostics: Receives notes and warnings; by default they are logged.
        rate: Number of postures per second computed from key poses, in [Hz].

    Raises:
        ModelError: The file cannot be used; lists every problem with its location.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    source = _source(path, diagnostics)
    motion = None
    if source is not None:
        with np.errstate(all="ignore"):  # such numbers are refused
            motion = _read(source, diagnostics, rate)
        if motion is not None and not _is_usable(motion):
            message = (
                f"the numbers of a motion must be below {_MAX_NUMBER:g}, and its poses regular"
            )
            diagnostics.error("bad-motion", message, Span(source, 0, 0))
    diagnostics.raise_errors()
    if motion is None:  # which was reported
        raise ModelError(diagnostics.found)
    return motion


def _source(path: str | os.PathLike[str], diagnostics: Diagnostics) -> Source | None:
    try:
        return read_source(Path(os.path.realpath(path_from_uri(path))), os.fspath(path))
    except ResourceError as error:
        diagnostics.error("missing-resource", str(error))
    except OSError as error:
        message = f"cannot read the motion '{os.fspath(path)}': {error.strerror or error}"
        diagnostics.error("unreadable-file", message)
    return None


def _read(source: Source, diagnostics: Diagnostics, rate: float) -> Motion | None:
    if _PLAIN.match(source.text):
        return _read_table(source, diagnostics)
    root = parse(source, diagnostics)
    if diagnostics.has_errors:
        return None
    if isinstance(root, Mapping) and "type" in root:
        if root.text("type", default="") == "PoseSeq":
            return read_pose_sequence(root, rate)
        return read_value_sequences(root)
    message = (
        "this is no motion: expected 'type: CompositeSeq' or 'type: PoseSeq' of Choreonoid, or "
        "lines with a time and joint positions"
    )
    diagnostics.error("not-a-motion", message, Span(source, 0, 0) if root is None else root.span)
    return None


def _is_usable(motion: Motion) -> bool:
    """Return whether all numbers are finite and not too large, except those of unmoved joints."""
    numbers = [motion.times, motion.q[:, ~np.isnan(motion.q[0])]]
    if motion.root_positions is not None and motion.root_quaternions is not None:
        # The norm is 0 or NaN after an overflow.
        norms = np.linalg.norm(motion.root_quaternions, axis=1)
        numbers += [motion.root_positions, np.where(norms > 0.5, norms, np.nan)]
    return all(bool(np.all(np.abs(x) < _MAX_NUMBER)) for x in numbers)


def _read_table(source: Source, diagnostics: Diagnostics) -> Motion | None:
    """Read the table; return None after reporting an error.

    Lines are the time [s] and the joint positions [rad, m] by joint id, separated by blanks,
    tabs or commas. Empty lines are skipped.
    """
    rows: list[list[float]] = []
    offset = 0
    for line in source.text.splitlines(keepends=True):
        span = Span(source, offset, offset + len(line.rstrip()))
        offset += len(line)
        words = line.replace(",", " ").split()
        if not words:
            continue
        problem, row = _row(words, rows)
        if problem:
            diagnostics.error("bad-motion", problem, span)
            return None
        rows.append(row)
    if not rows:
        diagnostics.error("bad-motion", "the motion has no lines", Span(source, 0, 0))
        return None
    table = np.array(rows)
    return Motion(table[:, 0].copy(), table[:, 1:].copy())


def _row(words: list[str], rows: list[list[float]]) -> tuple[str, list[float]]:
    """Return an error message or "", and the numbers of a line."""
    try:
        row = [float(word) for word in words]
    except ValueError:
        return "expected numbers only: a time [s] and the positions of the joints", []
    if not np.isfinite(row).all():
        return "all numbers of a motion must be finite", []
    if len(row) < 2:
        return "expected a time [s] and the positions of the joints, not a single number", []
    if rows and len(row) != len(rows[0]):
        return f"expected {len(rows[0])} numbers, as in the first line, not {len(row)}", []
    if rows and row[0] <= rows[-1][0]:
        return f"times must increase, but {row[0]:g} s follows {rows[-1][0]:g} s", []
    return "", row
