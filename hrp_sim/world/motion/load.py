"""Load a motion file of any supported format."""

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
from .plain_table import read_plain_table
from .pose_sequence import DEFAULT_RATE, read_pose_sequence
from .value_sequences import read_value_sequences

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
        return read_plain_table(source, diagnostics)
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
