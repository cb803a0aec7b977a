"""Image files to texture data."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, sin
from pathlib import Path

import numpy as np
from PIL import Image

from hrp_model.geometry import Texture
from hrp_model.rigid import Array

# Larger images are scaled down: no camera of a robot resolves more.
MAX_SIDE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class TextureImage:
    """The pixels of a texture.

    Attributes:
        size: Width and height.
        components: 1 grey, 2 grey and opacity, 3 RGB, 4 RGB and opacity.
        data: Rows from the bottom to the top, as texture coordinates count.
        repeat: Along s and t.
    """

    size: tuple[int, int]
    components: int
    data: bytes
    repeat: tuple[bool, bool]

    @property
    def grey(self) -> bool:
        """Whether it scales the diffuse colour instead of replacing it."""
        return self.components < 3

    @property
    def transparent(self) -> bool:
        """Whether some of it can be looked through."""
        return self.components in (2, 4)


def read_texture(texture: Texture) -> TextureImage:
    """Read the image of a texture.

    Raises:
        OSError: There is no such file, or it is no image that can be read.
    """
    try:
        with Image.open(texture.path) as file:
            image = file.convert(_mode(file))
    except (ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise OSError(str(error)) from error
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    return TextureImage(image.size, len(image.getbands()), image.tobytes(), texture.repeat)


def transformed_coords(texture: Texture, st: Array) -> Array:
    """Return texture coordinates after VRML97's texture transform, shapes (n, 2).

    ISO/IEC 14772-1, 6.49: Tc' = -C x S x R x C x T x Tc; the translation comes first.
    """
    center = np.asarray(texture.center)
    c, s = cos(texture.rotation), sin(texture.rotation)
    rotated: Array = (st + texture.translation + center) @ np.array([[c, s], [-s, c]])
    coords: Array = rotated * np.asarray(texture.scale) - center
    return coords


def _mode(image: Image.Image) -> str:
    opacity = "A" in image.getbands() or "transparency" in image.info
    grey = image.mode in ("1", "L", "LA", "I", "I;16")
    return {(True, False): "L", (True, True): "LA", (False, False): "RGB", (False, True): "RGBA"}[
        (grey, opacity)
    ]


def describe(path: Path, error: OSError) -> str:
    """Return a sentence about a texture that could not be read."""
    return f"texture '{path}' cannot be read and is left out: {error}"
