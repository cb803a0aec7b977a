"""Options of reading a project, which files of our own do not need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """How a project is read.

    Attributes:
        simulator: Name of the simulator whose settings apply; "" for the first one.
        variables: Folders by the name of the variable that stands for them in the paths of a
            project, such as SHARE. They take precedence over environment variables.
    """

    simulator: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    def expanded(self, path: str) -> str:
        """Return a path of a project with the given variables replaced; others remain."""
        return _VARIABLE.sub(lambda m: self.variables.get(m[1], m[0]), path)


AS_IN_PROJECT = ProjectOptions()
