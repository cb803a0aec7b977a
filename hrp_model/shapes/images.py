"""Read texture images from files, bytes and pixels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from ..files.resources import read_file
from ..geometry import ByteArray, Texture

# 8192 x 8192, more than any texture; a file of a few kilobytes may decode to any size.
MAX_PIXELS = 2**26
# Pillow's other formats are not for textures, and some run other programs (Ghostscript for EPS).
_FORMATS = ("BMP", "DDS", "GIF", "JPEG", "PNG", "PPM", "TGA", "TIFF", "WEBP")
_MODES = ("L", "LA", "RGB", "RGBA")  # of 1 to 4 channels


def texture_image(texture: Texture) -> Image.Image:
    """Return the image of a texture, in mode L, LA, RGB or RGBA, with 8 bits per channel.

    Raises:
        OSError: The file does not exist or cannot be decoded.
    """
    if texture.image is not None:
        return from_pixels(texture.image)
    assert texture.path is not None
    return decoded(texture.path)


def from_pixels(pixels: ByteArray) -> Image.Image:
    """Return an image from pixels of shape (height, width, 1..4), top row first."""
    channels = pixels.shape[2]
    squeezed = pixels[:, :, 0] if channels == 1 else pixels
    size = pixels.shape[1], pixels.shape[0]
    return Image.frombytes(_MODES[channels - 1], size, np.ascontiguousarray(squeezed).tobytes())


def pixels_of(image: Image.Image) -> ByteArray:
    """Return the pixels of an image from ``decoded``, top row first, shape (h, w, 1..4)."""
    return np.asarray(image).reshape(image.height, image.width, -1)


def opened_image(data: bytes) -> Image.Image:
    """Return an image of one of the supported formats, not yet decoded.

    Raises:
        OSError: The format is unknown. Pillow's plugins raise other errors for broken data.
    """
    try:
        return Image.open(io.BytesIO(data), formats=_FORMATS)
    except UnidentifiedImageError:  # whose message shows the stream object
        raise OSError("it is not an image of a supported format") from None


def decoded(source: Path | Image.Image) -> Image.Image:
    """Return a file's or an opened image, decoded to one of the modes of ``texture_image``.

    Raises:
        OSError: It cannot be read or decoded, or is too large.
    """
    try:
        opened = opened_image(read_file(source)) if isinstance(source, Path) else source
        if opened.format not in (*_FORMATS, "MPO"):  # MPO: JPEG with more than one image
            raise OSError("it is not an image of a supported format")
        if opened.width * opened.height > MAX_PIXELS:
            raise OSError(f"{opened.width} x {opened.height} pixels are too many")
        return _converted(opened)
    except OSError:
        raise
    except Exception as error:  # Pillow's plugins raise any kind of error for broken data
        raise OSError(f"{type(error).__name__}: {error}") from error


def _converted(image: Image.Image) -> Image.Image:
    opacity = "A" in image.getbands() or "transparency" in image.info
    deep = image.mode.startswith(("I", "F"))
    if deep:  # Pillow would clip values above 255
        values = np.asarray(image, dtype=np.float64)
        top = 65535.0 if values.max(initial=0.0) > 255.0 else 255.0
        return from_pixels(np.clip(values * (255.0 / top), 0, 255).astype(np.uint8)[:, :, None])
    grey = image.mode in ("1", "L", "LA", "La")
    mode = {(True, False): "L", (True, True): "LA", (False, False): "RGB", (False, True): "RGBA"}
    converted = image.convert(mode[grey, opacity])
    if opacity and np.asarray(converted)[:, :, -1].min() == 255:  # fully opaque
        return converted.convert(mode[grey, False])
    return converted
