"""Options of reading a project, which files of our own do not need."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def parse_variable(text: str) -> tuple[str, str]:
    """Return name and folder, as absolute path, of ``NAME=FOLDER``.

    Raises:
        ValueError: It is something else, or there is no such folder.
    """
    name, equals, written = text.partition("=")
    if not equals or not re.fullmatch(r"\w+", name):
        raise ValueError(f"must be NAME=FOLDER, such as SHARE=share, not '{text}'")
    folder = os.path.expanduser(written)
    if not os.path.isdir(folder):
        raise ValueError(f"there is no folder '{written}'")
    return name, os.path.abspath(folder)


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """How a project is read.

    Attributes:
        simulator: Name of the simulator whose settings apply; "" for the first one.
        variables: Folders by the name of the variable that stands for them in the paths of a
            project, such as SHARE. They take precedence over environment variables.
        controlled: Names of bodies for which the user gives controllers, instead of those of the
            project that cannot run.
    """

    simulator: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    controlled: Collection[str] = ()

    def expanded(self, path: str) -> str:
        """Return a path of a project with the given variables replaced; others remain."""
        return _VARIABLE.sub(lambda m: self.variables.get(m[1], m[0]), path)


AS_IN_PROJECT = ProjectOptions()
