"""Search for ROS packages in and beside the folders above a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

from .file_watch import record_file
from .text_encoding import decoded

_MAX_LEVELS = 8  # depth of a model in a workspace
_MAX_ENTRIES = 500  # folders with more entries are not searched
_MAX_MANIFEST_SIZE = 1 << 16  # bytes of a package.xml
MANIFEST = "package.xml"


class PackageSearch:
    """Finds packages by folder name and by the name in package.xml, in workspaces not sourced.

    The contents of folders are cached: use one search for reading one model.

    Args:
        may_read: Returns whether a folder or file may be accessed.
    """

    def __init__(self, may_read: Callable[[Path], bool]) -> None:
        self._may_read = may_read
        self._declared: dict[Path, dict[str, list[Path]]] = {}

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


def enclosing_package(folder: Path) -> Path | None:
    """Return the nearest folder with a package.xml, at or above the given one."""
    candidates = (folder, *folder.parents)
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
