"""Projects of other simulators, read as worlds; ``formats`` lists them."""

from .common import AS_IN_PROJECT, ProjectOptions, merged, parse_variable, parse_variables
from .formats import PROJECT_SUFFIXES, ProjectFormat, project_format

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
