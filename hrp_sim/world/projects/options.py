"""Options of reading a project, which files of our own do not need."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

_VARIABLE = re.compile(r"\$\{(\w+)\}")


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
