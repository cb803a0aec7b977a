"""Checks of files that are not models, registered by other packages.

A package registers a function in the entry point group ``hrp_model.checkers``, under the name
of a top-level key of a YAML file. It takes the path or URI of the file and ``Diagnostics``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from ...diagnostics import Diagnostics
from ...files.resources import ResourceError, path_from_uri
from ...readers.file_kind import is_world
from ...readers.yaml.nodes import Mapping
from ...readers.yaml.tree import parse
from ...reading import read_source

GROUP = "hrp_model.checkers"

Checker = Callable[[str, Diagnostics], None]


def checker_of(name: str, *, sandbox: bool) -> Checker | None:
    """Return the check for a YAML file that is not a model, or None without one.

    Args:
        name: Path or URI of the file, as given by the user.
        sandbox: Whether nothing outside its folder may be read; then a world is not checked,
            and the command that checks it is reported.
    """
    quiet = Diagnostics(listener=lambda _: None)
    try:
        path = Path(os.path.realpath(path_from_uri(name)))
        root = parse(read_source(path, name), quiet)
    except (OSError, ResourceError):
        return None
    if not isinstance(root, Mapping):
        return None
    for entry_point in () if sandbox else entry_points(group=GROUP):
        if entry_point.name in root:
            return partial(_check_with, entry_point)
    return _refuse_world if is_world(root) else None


def _check_with(entry_point: EntryPoint, name: str, diagnostics: Diagnostics) -> None:
    """Load and run a check; errors of the import are errors of this check only."""
    check: Checker = entry_point.load()
    check(name, diagnostics)


def _refuse_world(name: str, diagnostics: Diagnostics) -> None:
    message = f"this is a world, not a model; check it with 'hrp-sim check {name}'"
    diagnostics.error("not-a-model", message)
