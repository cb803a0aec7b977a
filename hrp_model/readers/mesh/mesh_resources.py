"""Files that a mesh file refers to: materials, buffers and images."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from urllib.parse import unquote

from ...diagnostics import Span
from ...files.resources import MAX_FILE_SIZE, read_file
from ...reading import Reading


class MeshResources:
    """Reads the files that a mesh file refers to.

    References are resolved as those of models: missing files are reported, a sandbox applies,
    and nothing is downloaded.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        self._folder = path.parent
        self._reading = reading
        self._contents: dict[str, bytes] = {}
        self._size = 0

    def get(self, name: str) -> bytes:
        """Return the content of a file; raises OSError if it cannot be read."""
        if name not in self._contents:
            self._contents[name] = b""  # reported only once
            self._contents[name] = self._content(name)
        if not self._contents[name]:
            raise FileNotFoundError(name)
        return self._contents[name]

    def resolve(self, name: str, at: Span | None = None) -> Path | None:
        """Return the file of a name; None after reporting that it does not exist.

        If a path does not exist, such as one on the author's machine, its last part is used.

        Args:
            name: The name as written.
            at: Its place; by default the reference to the mesh file.
        """
        plain = unquote(name)
        for candidate in dict.fromkeys((name, plain, PureWindowsPath(plain).name)):
            if self.exists(candidate):
                name = candidate
                break
        return self._reading.resolve(name, at or self._reading.reference_span, folder=self._folder)

    def exists(self, name: str) -> bool:
        """Return whether a file of exactly this name exists and may be read."""
        return self._reading.exists(name, folder=self._folder)

    def _content(self, name: str) -> bytes:
        path = self.resolve(name)
        if path is None:
            return b""
        content = read_file(path, MAX_FILE_SIZE - self._size)  # a limit for all files together
        self._size += len(content)
        return content
