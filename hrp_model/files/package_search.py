"""Search for ROS packages in and beside the folders above a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

from .file_watch import record_file

# Models lie at most so many folders deep in a workspace.
_LEVELS = 8
# A folder with more entries is no workspace: what lies in it is not looked through.
_MOST_ENTRIES = 500
_MAX_MANIFEST_SIZE = 1 << 16  # bytes of a package.xml
MANIFEST = "package.xml"


class PackageSearch:
    """Finds packages by the names of folders and by the names in their package.xml.

    That is for models whose workspace is not sourced.

    What was read of a folder is kept: one search serves one run of reading a model.

    Args:
        may_read: Whether a folder or file may be looked at.
    """

    def __init__(self, may_read: Callable[[Path], bool]) -> None:
        self._may_read = may_read
        self._declared: dict[Path, dict[str, list[Path]]] = {}

    def folders(self, name: str, folder: Path) -> Iterator[Path]:
        """Yield the folders that may be a package, the nearest first.

        At each level above they are: the folder itself if it is called so; an entry of that name in
        it; the folder itself, and folders in it, whose package.xml has the name.

        Args:
            name: Of the package.
            folder: Of the file that refers to the package; the first level.
        """
        here = Path(os.path.abspath(folder))
        for above in islice((here, *here.parents), _LEVELS):
            if not self._may_read(above):
                return  # then neither may anything above it
            if above.name == name:
                yield above
            if self._may_read(beside := above / name) and beside.is_dir():
                yield beside
            yield from self._declared_in(above).get(name, ())

    def _declared_in(self, folder: Path) -> dict[str, list[Path]]:
        """Return a folder and those in it that have a package.xml, by the name in it."""
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
            # Anything but an ordinary file may take for ever to read.
            if not self._may_read(manifest) or not manifest.is_file():
                return None
            return package_name(manifest)
        except (OSError, ValueError):
            return None


def enclosing_package(folder: Path) -> Path | None:
    """Return the nearest folder that has a package.xml: the given one, or one above it."""
    candidates = (folder, *folder.parents)
    return next((path for path in candidates if (path / MANIFEST).is_file()), None)


def package_name(manifest: Path) -> str:
    """Return the name of the package that a package.xml declares.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a package.xml, or names no package.
    """
    with manifest.open("rb") as file:
        text = file.read(_MAX_MANIFEST_SIZE + 1)
    if len(text) > _MAX_MANIFEST_SIZE:
        raise ValueError(f"it has more than {_MAX_MANIFEST_SIZE} bytes")
    if b"<!DOCTYPE" in text:  # its entities could expand to any amount of text
        raise ValueError("a package.xml has no DTD")
    try:
        top = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ValueError(str(error)) from None
    name = (top.findtext("name") or "").strip() if top.tag == "package" else ""
    if not name:
        raise ValueError("it names no package")
    return name


def _folders_in(folder: Path) -> list[Path]:
    """Return the folders in a folder by name; none if it has too many entries."""
    try:
        with os.scandir(folder) as entries:
            found = list(islice(entries, _MOST_ENTRIES + 1))
        if len(found) > _MOST_ENTRIES:
            return []
        return sorted(folder / entry.name for entry in found if entry.is_dir())
    except OSError:
        return []
