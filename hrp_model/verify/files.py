"""The mesh files that a URDF references."""

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
    """Mesh files of a URDF.

    Args:
        urdf: The file; it may be inside a package that its own URIs reference.
        packages: Further folders with packages.
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
        """Return a folder that has the URDF's own package under its name, if it is in one."""
        if (folder := enclosing_package(self._folder)) is None:
            return []
        try:
            name = package_name(folder / MANIFEST)
        except (OSError, ValueError):
            return []
        if name == folder.name:
            return [folder.parent]
        # In a source tree the folder of a package may have another name.
        self._aliases = tempfile.TemporaryDirectory(prefix="hrp-model-")
        (Path(self._aliases.name) / name).symlink_to(folder)
        return [Path(self._aliases.name)]

    def path(self, uri: str) -> Path:
        """Return the path of a URI, whether the file exists or not."""
        parts = urlparse(uri)
        if parts.scheme == "package":
            relative = Path(parts.netloc) / unquote(parts.path).lstrip("/")
            paths = [folder / relative for folder in self.packages] or [relative]
            return next((path for path in paths if path.is_file()), paths[0])
        if parts.scheme == "file":
            return Path(unquote(parts.path))
        return self._folder / uri

    @property
    def by_uri(self) -> dict[str, Path]:
        """The files that exist, by URI."""
        paths = {uri: self.path(uri) for uri in self.uris}
        return {uri: path for uri, path in paths.items() if path.is_file()}

    def rows(self) -> Iterator[Row]:
        """Yield a row about whether all files can be read."""
        differences = Differences(URDF, "mesh files", 0.0)
        for uri in self.uris:
            try:
                with self.path(uri).open("rb") as file:
                    missing = not file.read(1)
            except OSError:
                missing = True
            differences.add(inf if missing else 0.0, f"'{uri}' cannot be read" if missing else uri)
        yield differences.row(nothing="it references no mesh")
