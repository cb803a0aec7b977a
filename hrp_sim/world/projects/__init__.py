"""Projects of other simulators, read as worlds. A new format is a row here."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source
from hrp_model.late_dataclass import dataclass
from hrp_model.readers.file_kind import is_sdf_world

from ..config import WorldConfig
from .common import AS_IN_PROJECT, ProjectOptions, merged, parse_variable, parse_variables

__all__ = [
    "AS_IN_PROJECT",
    "PROJECT_SUFFIXES",
    "ProjectFormat",
    "ProjectOptions",
    "merged",
    "parse_variable",
    "parse_variables",
    "project_format",
]

# Reads the text of a project, whose relative paths start at the folder. Problems are reported, and
# only the world of a project without errors is used.
ProjectReader: TypeAlias = Callable[[Source, Path, Diagnostics, ProjectOptions], WorldConfig]


@dataclass(frozen=True)
class ProjectFormat:
    """A format of projects.

    Attributes:
        suffix: Of its files, in lower case.
        accepts: Whether a text is of this format, and no world file or model.
        read: Its reader.
    """

    suffix: str
    accepts: Callable[[str], object]
    read: ProjectReader


def _late(module: str, name: str) -> ProjectReader:
    """Return a reader that is imported when it is used: most worlds are no projects."""

    def read(
        source: Source, folder: Path, diagnostics: Diagnostics, options: ProjectOptions
    ) -> WorldConfig:
        reader: ProjectReader = getattr(import_module(module, __name__), name)
        return reader(source, folder, diagnostics, options)

    return read


_CNOID = re.compile(r"^[\"']?items[\"']?\s*:", re.MULTILINE)
_FORMATS = (
    ProjectFormat(".world", is_sdf_world, _late(".sdf", "read_sdf")),
    ProjectFormat(".cnoid", _CNOID.search, _late(".choreonoid", "read_cnoid")),
    ProjectFormat(".xml", re.compile(r"\A\s*<").search, _late(".openhrp", "read_openhrp")),
)
PROJECT_SUFFIXES = tuple(row.suffix for row in _FORMATS)


def project_format(*, suffix: str = "", text: str = "") -> ProjectFormat | None:
    """Return the format of projects with a suffix, or of a text; None if there is none."""
    for row in _FORMATS:
        if row.suffix == suffix.lower() or (text and row.accepts(text)):
            return row
    return None
