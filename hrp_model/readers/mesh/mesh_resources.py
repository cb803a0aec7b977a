"""The files beside a mesh file: materials, buffers and pictures that it names."""

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

_PICTURES = re.compile(r"\.(bmp|dds|gif|jpe?g|p[gnp]m|png|tga|tiff?|webp)$", re.IGNORECASE)
_TAG = "texture"


class MeshResources:
    """The files that a mesh file names, for a reader of our own or trimesh's loaders.

    The names are references like any other: reported when missing, never fetched from
    a net, and inside the sandbox if there is one. A picture is not read here but when it
    is drawn: instead of it a loader gets one that says which texture it stands for.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        self._folder = path.parent
        self._reading = reading
        self._contents: dict[str, bytes] = {}
        self._size = 0
        self._textures: dict[str, Texture] = {}

    def get(self, name: str) -> bytes:
        """Return the content of a file; raises OSError when it cannot be had."""
        if name not in self._contents:
            self._contents[name] = b""  # so that it is reported once
            self._contents[name] = self._content(name)
        if not self._contents[name]:
            raise FileNotFoundError(name)
        return self._contents[name]

    __getitem__ = get

    def texture(self, image: Image.Image) -> Texture | None:
        """Return the texture that a picture from here stands for, or None for any other."""
        return self._textures.get(str(image.info.get(_TAG)))

    def resolved(self, name: str, at: Span | None = None) -> Path | None:
        """Return the file of this name, None after reporting that there is none.

        A path on the author's own machine counts by its last part.

        Args:
            name: As written.
            at: Where; by default, where the mesh file itself was named.
        """
        plain = unquote(name)
        for candidate in dict.fromkeys((name, plain, PureWindowsPath(plain).name)):
            if self.exists(candidate):
                name = candidate
                break
        return self._reading.resolve(name, at or self._reading.reference_span, folder=self._folder)

    def exists(self, name: str) -> bool:
        """Tell whether there is a file of just this name that may be read."""
        return self._reading.exists(name, folder=self._folder)

    def _content(self, name: str) -> bytes:
        path = self.resolved(name)
        if path is None:
            return b""
        if _PICTURES.search(name):
            return self._stand_in(Texture(path))
        content = read_file(path, MAX_FILE_SIZE - self._size)  # all together are one mesh file
        self._size += len(content)
        return content

    def _stand_in(self, texture: Texture) -> bytes:
        """Return a picture of one pixel that says which texture it stands for."""
        from PIL import Image, PngImagePlugin  # slow to import, and OBJ files need none of it

        number = str(len(self._textures))
        self._textures[number] = texture
        tag = PngImagePlugin.PngInfo()
        tag.add_text(_TAG, number)
        stream = io.BytesIO()
        Image.new("RGB", (1, 1)).save(stream, "PNG", pnginfo=tag)
        return stream.getvalue()
