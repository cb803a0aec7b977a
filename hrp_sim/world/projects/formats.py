"""The formats of projects. A new one is a row here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source

from ..config import WorldConfig
from .choreonoid import read_cnoid
from .openhrp import read_openhrp
from .options import ProjectOptions

# Reads the text of a project, whose relative paths start at the folder. Problems are reported, and
# only the world of a project without errors is used.
ProjectReader: TypeAlias = Callable[[Source, Path, Diagnostics, ProjectOptions], WorldConfig]


@dataclass(frozen=True)
class ProjectFormat:
    """A format of projects.

    Attributes:
        suffix: Of its files, in lower case.
        mark: Is found in a text of this format, and in no world file or model.
        read: Its reader.
    """

    suffix: str
    mark: re.Pattern[str]
    read: ProjectReader


_FORMATS = (
    ProjectFormat(".cnoid", re.compile(r"^[\"']?items[\"']?\s*:", re.MULTILINE), read_cnoid),
    ProjectFormat(".xml", re.compile(r"\A\s*<"), read_openhrp),
)
PROJECT_SUFFIXES = tuple(row.suffix for row in _FORMATS)


def project_format(*, suffix: str = "", text: str = "") -> ProjectFormat | None:
    """Return the format of projects with a suffix, or of a text; None if there is none."""
    for row in _FORMATS:
        if row.suffix == suffix.lower() or (text and row.mark.search(text)):
            return row
    return None
