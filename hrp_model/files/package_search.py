"""Search for ROS packages in and beside the folders above a model.

Files of a package are also found in its source tree, by the rules of CMake that install them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from .file_watch import record_file
from .model_file import decoded

_LISTS = "CMakeLists.txt"
_MAX_SIZE = 1 << 18  # [B]
_MAX_RULES = 500
_COMMENT = r"#[^\n]*"
_COMMAND = r"(?ai)\b(install|add_subdirectory|project)\s*\(([^()]{0,4000})\)"
_WORD = r'"[^"]*"|[^\s"]+'
_SHARE = "${CATKIN_PACKAGE_SHARE_DESTINATION}"
_SOURCES = ("${CMAKE_CURRENT_SOURCE_DIR}", "${CMAKE_SOURCE_DIR}", "${PROJECT_SOURCE_DIR}")
_MAX_LEVELS = 8  # depth of a model in a workspace
_MAX_ENTRIES = 500  # folders with more entries are not searched
_MAX_MANIFEST_SIZE = 1 << 16  # bytes of a package.xml
MANIFEST = "package.xml"


class InstallRule(NamedTuple):
    """A file or folder of the source, and its path in the share folder of the package."""

    source: Path
    installed: PurePosixPath

    def source_of(self, path: PurePosixPath) -> Path | None:
        """Return the source of a path in the share folder, or None."""
        if not path.is_relative_to(self.installed):
            return None
        return self.source / path.relative_to(self.installed)


def install_rules(package: Path, name: str) -> list[InstallRule]:
    """Return what the lists of CMake in a package install into its share folder.

    Commands with unknown variables and generator expressions are skipped.

    Args:
        package: Source folder of the package.
        name: Name of the package.
    """
    rules: list[InstallRule] = []
    pending = [package]
    for folder in pending:  # grows
        for command, words in _commands(folder / _LISTS):
            if len(rules) >= _MAX_RULES or len(pending) >= _MAX_RULES:
                return rules
            if command == "project" and words and folder == package:
                name = words[0]
            elif command == "add_subdirectory" and words and "$" not in words[0]:
                pending += {folder / words[0]}.difference(pending)
            elif command == "install":
                rules += _installed(
                    folder, [x.replace("${PROJECT_NAME}", name) for x in words], name
                )
    return rules


def _commands(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield names and words of commands in a list of CMake; none if it cannot be read."""
    try:
        if not path.is_file():
            return
        record_file(path)
        with path.open("rb") as file:
            text = file.read(_MAX_SIZE).decode("utf-8", errors="replace")
    except OSError:
        return
    for match in re.finditer(_COMMAND, re.sub(_COMMENT, "", text)):
        yield match[1].lower(), [word.strip('"') for word in re.findall(_WORD, match[2])]


def _installed(folder: Path, words: list[str], name: str) -> Iterator[InstallRule]:
    """Yield the rules of a command ``install(DIRECTORY|FILES|PROGRAMS ... DESTINATION ...)``."""
    if "DESTINATION" not in words[:-1] or words[0] not in ("DIRECTORY", "FILES", "PROGRAMS"):
        return
    at = words.index("DESTINATION")
    target = words[at + 1].replace(_SHARE, f"share/{name}")
    share = PurePosixPath("share") / name
    if "$" in target or not PurePosixPath(target).is_relative_to(share):
        return
    inside = PurePosixPath(target).relative_to(share)
    for word in words[1:at]:
        for variable in _SOURCES:
            word = word.removeprefix(f"{variable}/")
        if "$" in word:
            continue
        contents_only = words[0] == "DIRECTORY" and (word.endswith("/") or word == ".")
        source = folder / word
        yield InstallRule(source, inside if contents_only else inside / source.name)


class PackageSearch:
    """Finds packages by folder name and by the name in package.xml, in workspaces not sourced.

    The contents of folders are cached: use one search for reading one model.

    Args:
        may_read: Returns whether a folder or file may be accessed.
    """

    def __init__(self, may_read: Callable[[Path], bool]) -> None:
        self._may_read = may_read
        self._declared: dict[Path, dict[str, list[Path]]] = {}
        self._rules: dict[Path, list[InstallRule]] = {}

    def folders(self, name: str, folder: Path) -> Iterator[Path]:
        """Yield candidate folders of a package, the nearest first.

        At each level above ``folder`` these are: the folder itself if it has that name; a folder
        of that name in it; the folder itself and folders in it whose package.xml has that name.

        Args:
            name: Name of the package.
            folder: Folder of the file that refers to the package; the first level.
        """
        start = Path(os.path.abspath(folder))
        for parent in islice((start, *start.parents), _MAX_LEVELS):
            if not self._may_read(parent):
                return  # nor may any folder above it be read
            if parent.name == name:
                yield parent
            if self._may_read(child := parent / name) and child.is_dir():
                yield child
            yield from self._declared_in(parent).get(name, ())

    def models(self, name: str, folder: Path) -> Iterator[Path]:
        """Yield candidate folders of a model of Gazebo, the nearest first.

        Beside those of a package of that name these are, at each level above ``folder``, folders
        of that name in folders of models, such as ``models`` and ``environment_models``.
        """
        yield from self.folders(name, folder)
        start = Path(os.path.abspath(folder))
        for parent in islice((start, *start.parents), _MAX_LEVELS):
            if not self._may_read(parent):
                return
            for models in _folders_in(parent):
                if "model" in models.name.lower() and (models / name).is_dir():
                    yield models / name

    def sources(self, path: Path) -> Iterator[Path]:
        """Yield the files of a source folder that CMake would install at a path in its package."""
        package = enclosing_package(path.parent, _MAX_LEVELS)
        if package is None or not self._may_read(package):
            return
        if package not in self._rules:
            name = self._declared_name(package / MANIFEST)
            self._rules[package] = [] if name is None else install_rules(package, name)
        inside = PurePosixPath(path.relative_to(package).as_posix())
        found = (rule.source_of(inside) for rule in self._rules[package])
        yield from (source for source in found if source is not None and source != path)

    def is_source(self, path: Path) -> bool:
        """Return whether a path is in a package that is not installed."""
        package = enclosing_package(path.parent, _MAX_LEVELS)
        return package is not None and package.parent.name != "share" and self._may_read(package)

    def _declared_in(self, folder: Path) -> dict[str, list[Path]]:
        """Return those of a folder and its subfolders that have a package.xml, by package name."""
        if folder not in self._declared:
            found = self._declared[folder] = dict[str, list[Path]]()
            for candidate in (folder, *_folders_in(folder)):
                manifest = candidate / MANIFEST
                if (name := self._declared_name(manifest)) is not None:
                    record_file(manifest)
                    found.setdefault(name, []).append(candidate)
        return self._declared[folder]

    def _declared_name(self, manifest: Path) -> str | None:
        try:
            # Reading anything but a regular file may never end.
            if not self._may_read(manifest) or not manifest.is_file():
                return None
            return package_name(manifest)
        except (OSError, ValueError):
            return None


def enclosing_package(folder: Path, levels: int | None = None) -> Path | None:
    """Return the nearest folder with a package.xml, at or above the given one.

    Args:
        folder: Where to begin.
        levels: How many folders to search; by default all.
    """
    candidates = islice((folder, *folder.parents), levels)
    return next((path for path in candidates if (path / MANIFEST).is_file()), None)


def package_name(manifest: Path) -> str:
    """Return the package name in a package.xml.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a package.xml, or has no name.
    """
    with manifest.open("rb") as file:
        data = file.read(_MAX_MANIFEST_SIZE + 1)
    if len(data) > _MAX_MANIFEST_SIZE:
        raise ValueError(f"it is larger than {_MAX_MANIFEST_SIZE} bytes")
    text, _ = decoded(data)
    if "<!DOCTYPE" in text:  # its entities could expand to any amount of text
        raise ValueError("it has a DTD, which is not allowed")
    from xml.etree import ElementTree  # most models need no package

    try:
        top = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ValueError(str(error)) from None
    name = (top.findtext("name") or "").strip() if top.tag == "package" else ""
    if not name:
        raise ValueError("it has no package name")
    return name


def _folders_in(folder: Path) -> list[Path]:
    """Return the folders in a folder, sorted; none if it has too many entries."""
    try:
        with os.scandir(folder) as entries:
            found = list(islice(entries, _MAX_ENTRIES + 1))
        if len(found) > _MAX_ENTRIES:
            return []
        return sorted(folder / entry.name for entry in found if entry.is_dir())
    except OSError:
        return []
