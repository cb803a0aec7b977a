"""What the readers of projects share: options, limits of XML, and reports in the same words."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source, Span, counted
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.late_dataclass import dataclass
from hrp_model.read_context import TooLargeError
from hrp_msgs.sanitize import shortened

if TYPE_CHECKING:
    from hrp_model.readers.xml_tree import Element

_VARIABLE = r"\$\{(\w+)\}"
_NEXT_VARIABLE = rf"{re.escape(os.pathsep)}(?=\w+=)"
_MAX_ELEMENTS = 200_000  # of a project in XML
_MAX_SHOWN = 200  # characters of a controller in words


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
    return merged(map(parse_variable, re.split(_NEXT_VARIABLE, text))) if text else {}


def merged(given: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return the folders of variables by name, in their order; a name may be given repeatedly."""
    variables: dict[str, tuple[str, ...]] = {}
    for name, folders in given:
        variables[name] = (*variables.get(name, ()), *folders)
    return variables


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """How a project is read, and how the models of any world are completed.

    Attributes:
        simulator: Name of the simulator whose settings apply; "" for the first one.
        variables: Folder, or folders, by the name of the variable that stands for them in the
            paths of a project, such as SHARE. They take precedence over environment variables.
        controlled: Names of bodies for which the user gives controllers, instead of those of the
            project that cannot run.
        density: Of links without mass, which get that of their shapes, in [kg/m^3]; None leaves
            them without. For all worlds and models.
    """

    simulator: str = ""
    variables: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    controlled: Collection[str] = ()
    density: float | None = None

    def expanded(self, path: str, folder: Path) -> str:
        """Return a path of a project with the given variable replaced; others remain.

        Of several folders the first one counts that has the file. If none has it, the file is
        searched above the project.

        Args:
            path: The path.
            folder: Base of relative paths.
        """
        matches = re.finditer(_VARIABLE, path)
        match = next((match for match in matches if match[1] in self.variables), None)
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


def report_foreign_items(
    items: Iterable[tuple[str, Span]],
    diagnostics: Diagnostics,
    *,
    served: Mapping[str, str],
    reasons: Mapping[str, str],
) -> None:
    """Report items without effect, once for each class.

    Args:
        items: The class and the place of each.
        diagnostics: Receives warnings and notes.
        served: By class, how its purpose is served without it: these are notes.
        reasons: By class, why it has no effect.
    """
    by_kind: dict[str, list[Span]] = {}
    for kind, at in items:
        by_kind.setdefault(kind, []).append(at)
    for kind, found in by_kind.items():
        count = f" ({counted(len(found), 'item')})" if len(found) > 1 else ""
        if kind in served:
            message = f"{kind} is not needed here{count}: {served[kind]}"
            diagnostics.note("foreign-item", message, found[0])
        else:
            reason = f": {reasons[kind]}" if kind in reasons else ""
            diagnostics.warn("foreign-item", f"{kind} has no effect here{count}{reason}", found[0])


def report_program(
    shown: str,
    body: str,
    without: str,
    at: Span,
    *,
    diagnostics: Diagnostics,
    options: ProjectOptions,
) -> None:
    """Report a controller that is a program of another simulator.

    Args:
        shown: The controller in words, with the name of its body.
        body: Name of the body.
        without: What its joints do without it.
        at: Place of the controller.
        diagnostics: Receives a warning, or a note if the user gives a controller.
        options: How the project is read.
    """
    shown = shortened(shown, _MAX_SHOWN)
    if body in options.controlled:
        diagnostics.note("foreign-controller", f"{shown} is replaced by the given one", at)
        return
    message = (
        f"{shown} cannot run here, so its joints {without}; a Python class can replace it: "
        f"--controller '{body}=MODULE:CLASS'"
    )
    diagnostics.warn("foreign-controller", message, at)


def parse_project(source: Source, diagnostics: Diagnostics) -> Element | None:
    """Return the root element of a project, or None after reporting an error."""
    count = 0

    def add(at: Span) -> None:
        nonlocal count
        count += 1
        if count > _MAX_ELEMENTS:
            raise TooLargeError(f"the project has more than {_MAX_ELEMENTS} elements", at)

    from hrp_model.readers.xml_tree import parse

    try:
        return parse(source, diagnostics, add)
    except TooLargeError as error:
        diagnostics.error("too-large", str(error), error.at)
        return None
