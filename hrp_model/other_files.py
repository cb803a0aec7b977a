"""Files that are no models but are checked, too: by whoever has registered for them.

A package registers in the entry point group ``hrp_model.checkers``: under the name of a key at
the top of a YAML file, a function that takes what the user called the file and ``Diagnostics``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from .diagnostics import Diagnostics
from .reading import read_source
from .resources import ResourceError, named_path
from .yaml_nodes import Mapping
from .yaml_tree import parse

GROUP = "hrp_model.checkers"
# At the top of a world file of hrp-sim.
_OF_WORLDS = "bodies"

Checker = Callable[[str, Diagnostics], None]


def checker_of(name: str, *, sandbox: bool) -> Checker | None:
    """Return what checks a YAML file that no reader takes for a model, or None if nothing does.

    Args:
        name: What the user called the file.
        sandbox: Whether nothing outside its folder may be read; then only a pointer to the right
            command comes of a world.
    """
    quiet = Diagnostics(listener=lambda _: None)
    try:
        path = Path(os.path.realpath(named_path(name)))
        root = parse(read_source(path, name), quiet)
    except (OSError, ResourceError):
        return None
    if not isinstance(root, Mapping):
        return None
    for entry_point in () if sandbox else entry_points(group=GROUP):
        if entry_point.name in root:
            return cast(Checker, entry_point.load())
    return _refuse_world if _OF_WORLDS in root else None


def _refuse_world(name: str, diagnostics: Diagnostics) -> None:
    message = f"this is a world and no model; it is checked by 'hrp-sim check {name}'"
    diagnostics.error("not-a-model", message)
