"""Pictures: from files, from the memory of a reader, and from pixels in a model."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from ..files.resources import read_file
from ..geometry import ByteArray, Texture

# A file of a few kilobytes may promise any size; 8192 x 8192 is more than textures have.
MAX_PIXELS = 2**26
# What else Pillow opens is no texture, and some of it runs other programs: Ghostscript for EPS.
_FORMATS = ("BMP", "DDS", "GIF", "JPEG", "PNG", "PPM", "TGA", "TIFF", "WEBP")
_MODES = ("L", "LA", "RGB", "RGBA")  # of 1 to 4 channels


def texture_image(texture: Texture) -> Image.Image:
    """Return the picture of a texture: grey, grey and opacity, RGB, or RGB and opacity.

    That is of mode L, LA, RGB or RGBA, 8 bits a channel.

    Raises:
        OSError: There is no such file, or it is no picture that can be read.
    """
    if texture.image is not None:
        return from_pixels(texture.image)
    assert texture.path is not None
    return decoded(texture.path)


def from_pixels(pixels: ByteArray) -> Image.Image:
    """Return a picture of pixels of shape (height, width, 1..4), top row first."""
    channels = pixels.shape[2]
    squeezed = pixels[:, :, 0] if channels == 1 else pixels
    size = pixels.shape[1], pixels.shape[0]
    return Image.frombytes(_MODES[channels - 1], size, np.ascontiguousarray(squeezed).tobytes())


def pixels_of(image: Image.Image) -> ByteArray:
    """Return the pixels of a picture from ``decoded``, top row first, shape (h, w, 1..4)."""
    return np.asarray(image).reshape(image.height, image.width, -1)


def opened_picture(data: bytes) -> Image.Image:
    """Return a picture of one of the usual formats, not decoded yet.

    Raises:
        OSError, ...: It is none; Pillow's plugins raise whatever broken data makes them.
    """
    try:
        return Image.open(io.BytesIO(data), formats=_FORMATS)
    except UnidentifiedImageError:  # its message is about our stream
        raise OSError("it is no picture of a known format") from None


def decoded(source: Path | Image.Image) -> Image.Image:
    """Return a picture in one of the modes of ``texture_image``, from a file or as opened.

    Raises:
        OSError: It cannot be read or decoded, or is too large.
    """
    try:
        opened = opened_picture(read_file(source)) if isinstance(source, Path) else source
        if opened.format not in (*_FORMATS, "MPO"):  # JPEG with more than one picture
            raise OSError("it is no picture of a known format")
        if opened.width * opened.height > MAX_PIXELS:
            raise OSError(f"{opened.width} x {opened.height} pixels are too many")
        return _converted(opened)
    except OSError:
        raise
    except Exception as error:  # Pillow's plugins raise whatever broken data makes them
        raise OSError(f"{type(error).__name__}: {error}") from error


def _converted(image: Image.Image) -> Image.Image:
    opacity = "A" in image.getbands() or "transparency" in image.info
    deep = image.mode.startswith(("I", "F"))
    if deep:  # Pillow would cut off what is brighter than 255
        values = np.asarray(image, dtype=np.float64)
        top = 65535.0 if values.max(initial=0.0) > 255.0 else 255.0
        return from_pixels(np.clip(values * (255.0 / top), 0, 255).astype(np.uint8)[:, :, None])
    grey = image.mode in ("1", "L", "LA", "La")
    mode = {(True, False): "L", (True, True): "LA", (False, False): "RGB", (False, True): "RGBA"}
    converted = image.convert(mode[grey, opacity])
    if opacity and np.asarray(converted)[:, :, -1].min() == 255:  # nothing shines through
        return converted.convert(mode[grey, False])
    return converted
