"""What an earlier run left in the folder of a description package, and what becomes of it."""

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

# What was written, by path: the digest of its content.
_MANIFEST = ".hrp_model.json"
# Below these folders nothing that was changed by hand would go with the rest.
_NEVER_CHANGED = ("urdf/", "meshes/")
_NEEDS = ("depend", "exec_depend")


@dataclass(frozen=True)
class FormerPackage:
    """What an earlier run wrote.

    Attributes:
        folder: Of the package.
        name: Of the package; empty if there was none.
        files: Digests of the files by their paths in it.
    """

    folder: Path
    name: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def found(folder: Path) -> FormerPackage:
        """Return what the folder's manifest lists.

        Raises:
            NotADirectoryError: It is no folder.
            FileExistsError: It holds something, but no manifest.
        """
        if folder.is_file():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return FormerPackage(folder)
        try:
            manifest = json.loads((folder / _MANIFEST).read_bytes())
            # Nothing but what lies below the folder is ever removed.
            files = {str(k): str(v) for k, v in manifest["files"].items() if _is_inside(k)}
            return FormerPackage(folder, str(manifest["package"]), files)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            reason = "it is neither empty nor a description package that hrp-model wrote"
            raise FileExistsError(errno.EEXIST, reason, str(folder)) from None

    def lend_meshes(self, staged: Path) -> None:
        """Lend meshes to the new package, whose names tell their content: they need no work."""
        for path, digest in self.files.items():
            mesh = self.folder / path
            if path.startswith("meshes/") and mesh.is_file() and _digest(mesh) == digest:
                (staged / "meshes").mkdir(exist_ok=True)
                shutil.copy2(mesh, staged / path)

    def keep_what_is_there(self, staged: Path, name: str, diagnostics: Diagnostics) -> None:
        """Take from a new package what is there already, and what was changed there by hand.

        Args:
            staged: Where the new package is.
            name: What it is called.
            diagnostics: Where warnings about changed files go.

        Raises:
            FileExistsError: A file is in the way that was not written here, or a changed one
                that the others do not go with.
        """
        for path, digest in digests(staged).items():
            there = self.folder / path
            if not os.path.lexists(there):
                continue
            found = _digest(there) if there.is_file() else None
            if found == digest:
                (staged / path).unlink()
            elif path not in self.files or found is None:
                reason = "it is not of the package that hrp-model wrote here"
                raise FileExistsError(errno.EEXIST, reason, str(there))
            elif found != self.files[path]:
                if path.startswith(_NEVER_CHANGED) or name != self.name:
                    reason = "it was changed by hand; move it away, or name another folder"
                    raise FileExistsError(errno.EEXIST, reason, str(there))
                _tell_of_kept(there, staged / path, diagnostics)
                (staged / path).unlink()

    def remove_what_is_left(self, new: Mapping[str, str]) -> tuple[str, ...]:
        """Remove what nobody needs and nobody has changed; return the paths.

        Args:
            new: The files of the new package.
        """
        removed = []
        for path in sorted(self.files.keys() - new.keys()):
            old = self.folder / path
            if old.is_file() and _digest(old) == self.files[path]:
                old.unlink()
                removed.append(path)
                with suppress(OSError):  # the folder holds more
                    old.parent.rmdir()
        return tuple(removed)


def write_manifest(
    folder: Path, name: str, options: Sequence[str], files: Mapping[str, str]
) -> None:
    """Write down what a package is made of, for the next run and for people.

    Args:
        folder: Of the package.
        name: What it is called.
        options: Those of the command that makes it.
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


def _tell_of_kept(there: Path, new: Path, diagnostics: Diagnostics) -> None:
    """Warn that a changed file stays, unless it has all that is needed all the same."""
    kept = f"{there} was changed by hand and is kept"
    lacks = _lacks(there, new)
    if lacks is None:
        diagnostics.warn("kept-file", kept)
    elif lacks:
        diagnostics.warn("incomplete-file", f"{kept}, but lacks {', '.join(lacks)}")


def _lacks(there: Path, new: Path) -> list[str] | None:
    """Return what a file lacks that people are asked to change; None if that is not known."""
    try:
        if new.name == "package.xml":
            return [
                f"<exec_depend>{x}</exec_depend>" for x in _needs(new) if x not in _needs(there)
            ]
        if new.name == "CMakeLists.txt":
            words = re.split(r"[\s()/]+", there.read_text(encoding="utf-8"))
            return [f"DIRECTORY {folder}" for folder in _folders(new) if folder not in words]
    except (ValueError, ElementTree.ParseError):
        pass
    return None


def _needs(manifest: Path) -> list[str]:
    root = ElementTree.parse(manifest).getroot()
    return [(need.text or "").strip() for tag in _NEEDS for need in root.iter(tag)]


def _folders(cmake_lists: Path) -> list[str]:
    """Return the folders that a CMakeLists.txt of ours installs."""
    found = re.search(r"DIRECTORY (.*)", cmake_lists.read_text(encoding="utf-8"))
    return found[1].split() if found else []
