"""Read a project of Choreonoid (``.cnoid``) into a WorldConfig."""

from __future__ import annotations

from pathlib import Path

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source

from ..config import WorldConfig
from .options import ProjectOptions


def read_cnoid(
    source: Source, folder: Path, diagnostics: Diagnostics, options: ProjectOptions
) -> WorldConfig:
    """Read a project; problems are reported.

    Args:
        source: The text.
        folder: Base of relative paths.
        diagnostics: Receives all problems.
        options: How the project is read.
    """
    raise NotImplementedError
