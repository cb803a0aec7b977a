"""Projects of other simulators, read as worlds; ``formats`` lists them."""

from .formats import PROJECT_SUFFIXES, ProjectFormat, project_format
from .options import AS_IN_PROJECT, ProjectOptions, parse_variable

__all__ = [
    "AS_IN_PROJECT",
    "PROJECT_SUFFIXES",
    "ProjectFormat",
    "ProjectOptions",
    "parse_variable",
    "project_format",
]
