"""Files that a mesh file refers to: materials, buffers and images."""

from __future__ import annotations

import io
import re
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ...diagnostics import Span
from ...files.resources import MAX_FILE_SIZE, read_file
from ...geometry import Texture
from ...reading import Reading

if TYPE_CHECKING:
    from PIL import Image

_IMAGE_SUFFIX = re.compile(r"\.(bmp|dds|gif|jpe?g|p[gnp]m|png|tga|tiff?|webp)$", re.IGNORECASE)
_TAG = "texture"


class MeshResources:
    """Reads the files that a mesh file refers to; also a resolver for trimesh's loaders.

    References are resolved as those of models: missing files are reported, a sandbox applies,
    and nothing is downloaded. Images are not read until they are needed: a loader receives a
    placeholder image, which ``texture`` maps to its file.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        self._folder = path.parent
        self._reading = reading
        self._contents: dict[str, bytes] = {}
        self._size = 0
        self._textures: dict[str, Texture] = {}

    def get(self, name: str) -> bytes:
        """Return the content of a file; raises OSError if it cannot be read."""
        if name not in self._contents:
            self._contents[name] = b""  # reported only once
            self._contents[name] = self._content(name)
        if not self._contents[name]:
            raise FileNotFoundError(name)
        return self._contents[name]

    __getitem__ = get

    def texture(self, image: Image.Image) -> Texture | None:
        """Return the texture of a placeholder image; None for any other image."""
        return self._textures.get(str(image.info.get(_TAG)))

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
        if _IMAGE_SUFFIX.search(name):
            return self._placeholder(Texture(path))
        content = read_file(path, MAX_FILE_SIZE - self._size)  # a limit for all files together
        self._size += len(content)
        return content

    def _placeholder(self, texture: Texture) -> bytes:
        """Return a PNG image of one pixel, tagged with the number of the texture."""
        from PIL import Image, PngImagePlugin  # slow to import, and not needed for OBJ files

        number = str(len(self._textures))
        self._textures[number] = texture
        tag = PngImagePlugin.PngInfo()
        tag.add_text(_TAG, number)
        stream = io.BytesIO()
        Image.new("RGB", (1, 1)).save(stream, "PNG", pnginfo=tag)
        return stream.getvalue()
