"""Encoded images of textures, to be embedded into mesh files."""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image

from ...files.resources import read_file
from ...geometry import Texture
from ...shapes.images import opened_image, texture_image

_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg"}
# Twice as fast as Pillow's default of 6, and hardly larger.
_COMPRESSION = 3


@dataclass(frozen=True)
class EncodedImage:
    """An encoded image.

    Attributes:
        data: The bytes of a PNG or JPEG file.
        media_type: "image/png" or "image/jpeg".
        colored: Whether its colours replace those of the material; grey ones are
            multiplied with them (ISO/IEC 14772-1, 4.14.2).
        transparent: Whether it has an alpha channel.
    """

    data: bytes
    media_type: str
    colored: bool
    transparent: bool


def encoded_image(texture: Texture) -> EncodedImage:
    """Return the image of a texture; a PNG or JPEG file with 8 bits a channel is not re-encoded.

    Raises:
        OSError: The file does not exist or is not a readable image.
    """
    image = texture_image(texture)
    colored, transparent = image.mode.startswith("RGB"), image.mode.endswith("A")
    original = _original_file(texture, image.mode)
    if original is not None:
        return EncodedImage(*original, colored, transparent)
    stream = io.BytesIO()
    # Every glTF viewer reads RGB and RGBA.
    image.convert("RGBA" if transparent else "RGB").save(
        stream, format="PNG", compress_level=_COMPRESSION
    )
    return EncodedImage(stream.getvalue(), "image/png", colored, transparent)


def _original_file(texture: Texture, mode: str) -> tuple[bytes, str] | None:
    """Return data and media type of a file that every viewer decodes to the same pixels."""
    if texture.path is None or mode not in ("RGB", "RGBA"):
        return None
    data = read_file(texture.path)
    opened: Image.Image = opened_image(data)
    if opened.format not in _MEDIA_TYPES or opened.mode != mode:
        return None
    return data, _MEDIA_TYPES[opened.format]
