"""Source files of a controller: its own, and those of the user's modules that it imports."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from hrp_model.files.resources import ResourceError, read_file, resolve

from .classes import MAX_SIZE
from .entry import ControllerEntry


def read_sources(entry: ControllerEntry) -> dict[str, bytes]:
    """Return the contents of the source files of a controller by name, without executing them.

    These are its file and the modules below its folder that it imports, itself or by others of
    them, at their tops or in functions; not those whose names are computed.

    Args:
        entry: Of the controller. If its class is named by a module, there are no files.

    Returns:
        Contents by paths as the class of the entry names its file. Files that cannot be read are
        missing, as creating the simulation will report.
    """
    name = entry.class_name.rpartition(":")[0]
    if not name.endswith(".py"):
        return {}
    try:
        file = resolve(name, entry.folder)
    except ResourceError:
        return {}
    found: dict[str, bytes] = {}
    modules = [(Path(file.name), Path())]  # files and their packages, relative to the folder
    while modules:
        path, package = modules.pop()
        key = str(PurePosixPath(name).parent / path.as_posix())
        if key in found:
            continue
        try:
            found[key] = read_file(file.parent / path, MAX_SIZE)
            tree = ast.parse(found[key])
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for imported in _imported(tree, package.parts):
            modules += _modules(file.parent, imported)
    return found


def _imported(tree: ast.AST, package: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the names of all modules that a module of a package may import, as their parts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base = (*base, *(node.module or "").split(".")) if node.module else base
            yield from ((*base, alias.name) for alias in node.names)


def _modules(folder: Path, name: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Yield file and package of a module and of the packages that contain it, if they exist."""
    for count in range(1, len(name) + 1):
        path = Path(*name[:count])
        for file, package in ((path / "__init__.py", path), (path.with_suffix(".py"), path.parent)):
            if os.path.isfile(folder / file):
                yield file, package
                break
