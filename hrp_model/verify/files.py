"""The mesh files that a URDF names."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

from ..files.package_search import MANIFEST, enclosing_package, package_name
from .report import URDF, Differences, Row


class MeshFiles:
    """Where the meshes of a URDF are.

    Args:
        urdf: The file; it may lie inside a package that its own URIs name.
        packages: Further folders that hold packages.
    """

    def __init__(self, urdf: Path, packages: Sequence[Path] = ()) -> None:
        self._folder = urdf.resolve().parent
        root = ElementTree.parse(urdf).getroot()
        self.uris = sorted({mesh.get("filename", "") for mesh in root.iter("mesh")})
        self._aliases: tempfile.TemporaryDirectory[str] | None = None
        prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        installed = [Path(prefix) / "share" for prefix in prefixes if prefix]
        self.packages = (*packages, *self._own_package(), *installed)

    def _own_package(self) -> list[Path]:
        """Return a folder that holds the URDF's own package under its name, if it is in one."""
        if (folder := enclosing_package(self._folder)) is None:
            return []
        try:
            name = package_name(folder / MANIFEST)
        except (OSError, ValueError):
            return []
        if name == folder.name:
            return [folder.parent]
        # In a source tree a package may lie in a folder of another name.
        self._aliases = tempfile.TemporaryDirectory(prefix="hrp-model-")
        (Path(self._aliases.name) / name).symlink_to(folder)
        return [Path(self._aliases.name)]

    def path(self, uri: str) -> Path:
        """Return the file that a URI names, whether it is there or not."""
        parts = urlparse(uri)
        if parts.scheme == "package":
            inside = Path(parts.netloc) / unquote(parts.path).lstrip("/")
            places = [folder / inside for folder in self.packages] or [inside]
            return next((place for place in places if place.is_file()), places[0])
        if parts.scheme == "file":
            return Path(unquote(parts.path))
        return self._folder / uri

    @property
    def by_uri(self) -> dict[str, Path]:
        """The files that are there, by URI."""
        paths = {uri: self.path(uri) for uri in self.uris}
        return {uri: path for uri, path in paths.items() if path.is_file()}

    def rows(self) -> Iterator[Row]:
        """Yield whether all files can be read."""
        found = Differences(URDF, "mesh files", 0.0)
        for uri in self.uris:
            try:
                with self.path(uri).open("rb") as file:
                    missing = not file.read(1)
            except OSError:
                missing = True
            found.add(inf if missing else 0.0, f"'{uri}' cannot be read" if missing else uri)
        yield found.row(nothing="it names no mesh")
