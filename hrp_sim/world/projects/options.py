"""Options of reading a project, which files of our own do not need."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hrp_model.files.resources import ResourceError, resolve

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_NEXT_VARIABLE = re.compile(rf"{re.escape(os.pathsep)}(?=\w+=)")


def parse_variable(text: str) -> tuple[str, tuple[str, ...]]:
    """Return name and folders, as absolute paths, of ``NAME=FOLDER`` or ``NAME=FOLDER:FOLDER``.

    Raises:
        ValueError: It is something else, or there is no such folder.
    """
    name, equals, written = text.partition("=")
    if not equals or not re.fullmatch(r"\w+", name):
        raise ValueError(f"must be NAME=FOLDER, such as SHARE=share, not '{text}'")
    folders = []
    for part in written.split(os.pathsep):
        folder = os.path.expanduser(part)
        if not os.path.isdir(folder):
            raise ValueError(f"there is no folder '{part}'")
        folders.append(os.path.abspath(folder))
    return name, tuple(folders)


def parse_variables(text: str) -> dict[str, tuple[str, ...]]:
    """Return the folders of variables by name: ``NAME=FOLDER:FOLDER:NAME=FOLDER``.

    Raises:
        ValueError: See ``parse_variable``.
    """
    return merged(map(parse_variable, _NEXT_VARIABLE.split(text))) if text else {}


def merged(given: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return the folders of variables by name, in their order; a name may be given repeatedly."""
    variables: dict[str, tuple[str, ...]] = {}
    for name, folders in given:
        variables[name] = (*variables.get(name, ()), *folders)
    return variables


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """How a project is read.

    Attributes:
        simulator: Name of the simulator whose settings apply; "" for the first one.
        variables: Folder, or folders, by the name of the variable that stands for them in the
            paths of a project, such as SHARE. They take precedence over environment variables.
        controlled: Names of bodies for which the user gives controllers, instead of those of the
            project that cannot run.
    """

    simulator: str = ""
    variables: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    controlled: Collection[str] = ()

    def expanded(self, path: str, folder: Path) -> str:
        """Return a path of a project with the given variable replaced; others remain.

        Of several folders the first one counts that has the file. If none has it, the file is
        searched above the project.

        Args:
            path: The path.
            folder: Base of relative paths.
        """
        match = _VARIABLE.search(path)
        while match is not None and match[1] not in self.variables:
            match = _VARIABLE.search(path, match.end())
        if match is None:
            return path
        folders = self.variables[match[1]]
        folders = (folders,) if isinstance(folders, str) else folders
        found = [f"{path[: match.start()]}{x}{path[match.end() :]}" for x in folders]
        if not any(map(os.path.exists, found)) and match[1] not in os.environ:
            with suppress(ResourceError):
                return str(resolve(path, folder))
        return next((x for x in found if os.path.exists(x)), found[0])


AS_IN_PROJECT = ProjectOptions()
