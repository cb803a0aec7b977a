"""Load a motion file of any supported format."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hrp_model import Diagnostics, ModelError
from hrp_model.diagnostics import Source, Span
from hrp_model.files.resources import ResourceError, path_from_uri
from hrp_model.readers.yaml.nodes import Mapping
from hrp_model.readers.yaml.tree import parse
from hrp_model.reading import read_source

from .motion import Motion
from .plain_table import read_plain_table
from .pose_sequence import DEFAULT_RATE, read_pose_sequence
from .value_sequences import read_value_sequences

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
    motion = None if source is None else _read(source, diagnostics, rate)
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
