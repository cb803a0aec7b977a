"""Rules of CMake that install files of a package into its share folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from .file_watch import record_file

_LISTS = "CMakeLists.txt"
_MAX_SIZE = 1 << 18  # [B]
_MAX_RULES = 500
_COMMENT = re.compile(r"#[^\n]*")
_COMMAND = re.compile(
    r"\b(install|add_subdirectory|project)\s*\(([^()]{0,4000})\)", re.IGNORECASE | re.ASCII
)
_WORD = re.compile(r'"[^"]*"|[^\s"]+')
_SHARE = "${CATKIN_PACKAGE_SHARE_DESTINATION}"
_SOURCES = ("${CMAKE_CURRENT_SOURCE_DIR}", "${CMAKE_SOURCE_DIR}", "${PROJECT_SOURCE_DIR}")


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
    for match in _COMMAND.finditer(_COMMENT.sub("", text)):
        yield match[1].lower(), [word.strip('"') for word in _WORD.findall(match[2])]


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
