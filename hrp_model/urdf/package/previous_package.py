"""The description package that a previous run wrote, and how a new one replaces it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from ...diagnostics import Diagnostics
from ...files.writer import write_atomically

# A file in the package with the digest of each written file, by path.
_MANIFEST = ".hrp_model.json"
# Files in these folders must match the others, so edited ones are not kept.
_NOT_EDITABLE = ("urdf/", "meshes/")
_DEPENDENCY_TAGS = ("depend", "exec_depend")


@dataclass(frozen=True)
class PreviousPackage:
    """The package that a previous run wrote.

    Attributes:
        folder: Folder of the package.
        name: Name of the package; empty if there was none.
        files: Digests of the files by their paths in it.
    """

    folder: Path
    name: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def read(folder: Path) -> PreviousPackage:
        """Return the package that the manifest of a folder lists.

        Raises:
            NotADirectoryError: It is a file.
            FileExistsError: It is not empty and has no manifest.
        """
        if folder.is_file():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return PreviousPackage(folder)
        try:
            manifest = json.loads((folder / _MANIFEST).read_bytes())
            # Only files inside the folder may ever be removed.
            files = {str(k): str(v) for k, v in manifest["files"].items() if _is_inside(k)}
            return PreviousPackage(folder, str(manifest["package"]), files)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            reason = "it is neither empty nor a description package that hrp-model wrote"
            raise FileExistsError(errno.EEXIST, reason, str(folder)) from None

    def copy_meshes(self, staged: Path) -> None:
        """Copy unchanged meshes to the new package; their names identify their contents."""
        for path, digest in self.files.items():
            mesh = self.folder / path
            if path.startswith("meshes/") and mesh.is_file() and _digest(mesh) == digest:
                (staged / "meshes").mkdir(exist_ok=True)
                shutil.copy2(mesh, staged / path)

    def drop_unchanged(self, staged: Path, name: str, diagnostics: Diagnostics) -> None:
        """Remove from a new package files that exist already or that were edited by hand.

        Args:
            staged: Temporary folder of the new package.
            name: Its name.
            diagnostics: Receives warnings about edited files.

        Raises:
            FileExistsError: A file exists that was not written here, or an edited one that
                must match the others.
        """
        for path, digest in digests(staged).items():
            existing = self.folder / path
            if not os.path.lexists(existing):
                continue
            current = _digest(existing) if existing.is_file() else None
            if current == digest:
                (staged / path).unlink()
            elif path not in self.files or current is None:
                reason = "it is not part of the package that hrp-model wrote here"
                raise FileExistsError(errno.EEXIST, reason, str(existing))
            elif current != self.files[path]:
                if path.startswith(_NOT_EDITABLE) or name != self.name:
                    reason = "it was edited by hand; move it away, or choose another folder"
                    raise FileExistsError(errno.EEXIST, reason, str(existing))
                _warn_of_edited(existing, staged / path, diagnostics)
                (staged / path).unlink()

    def remove_obsolete(self, new: Mapping[str, str]) -> tuple[str, ...]:
        """Remove unedited files that the new package does not have; return their paths.

        Args:
            new: The files of the new package.
        """
        removed = []
        for path in sorted(self.files.keys() - new.keys()):
            old = self.folder / path
            if old.is_file() and _digest(old) == self.files[path]:
                old.unlink()
                removed.append(path)
                with suppress(OSError):  # the folder is not empty
                    old.parent.rmdir()
        return tuple(removed)


def write_manifest(
    folder: Path, name: str, options: Sequence[str], files: Mapping[str, str]
) -> None:
    """Write the list of a package's files, for the next run.

    Args:
        folder: Folder of the package.
        name: Its name.
        options: Options of the command that writes it.
        files: Digests by path.
    """
    manifest = {"package": name, "options": list(options), "files": dict(files)}
    write_atomically(folder / _MANIFEST, f"{json.dumps(manifest, indent=1)}\n".encode())


def digests(folder: Path) -> dict[str, str]:
    """Return a digest of each file below a folder, by path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _digest(path) for path in files}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts


def _warn_of_edited(existing: Path, new: Path, diagnostics: Diagnostics) -> None:
    """Warn that an edited file is kept, unless it has everything that is needed."""
    message = f"{existing} was edited by hand and is kept"
    missing = _missing_entries(existing, new)
    if missing is None:
        diagnostics.warn("kept-file", message)
    elif missing:
        diagnostics.warn("incomplete-file", f"{message}, but lacks {', '.join(missing)}")


def _missing_entries(existing: Path, new: Path) -> list[str] | None:
    """Return the entries that a file to be edited by users lacks; None for other files."""
    try:
        if new.name == "package.xml":
            return [
                f"<exec_depend>{name}</exec_depend>"
                for name in _dependencies(new)
                if name not in _dependencies(existing)
            ]
        if new.name == "CMakeLists.txt":
            words = re.split(r"[\s()/]+", existing.read_text(encoding="utf-8"))
            return [f"DIRECTORY {name}" for name in _installed_folders(new) if name not in words]
    except (ValueError, ElementTree.ParseError):
        pass
    return None


def _dependencies(manifest: Path) -> list[str]:
    root = ElementTree.parse(manifest).getroot()
    return [(element.text or "").strip() for tag in _DEPENDENCY_TAGS for element in root.iter(tag)]


def _installed_folders(cmake_lists: Path) -> list[str]:
    """Return the folders that a CMakeLists.txt from our template installs."""
    match = re.search(r"DIRECTORY (.*)", cmake_lists.read_text(encoding="utf-8"))
    return match[1].split() if match else []
