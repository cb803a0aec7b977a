"""Images to texture data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from hrp_model.geometry import Texture
from hrp_model.shapes.images import texture_image

# Larger images are scaled down: no camera of a robot resolves more.
MAX_SIDE = 4096

# Beyond this a number that places a texture means nothing.
_LARGEST = 1e6

# An image of which no more pixels than this share are neither opaque nor invisible is meant to
# have holes with smoothed edges.
_OF_EDGES = 0.1
_NEARLY = 8  # of 255


@dataclass(frozen=True, slots=True, eq=False)
class TextureImage:
    """The pixels of a texture.

    Attributes:
        size: Width and height.
        components: 1 grey, 2 grey and opacity, 3 RGB, 4 RGB and opacity.
        data: Rows from the bottom to the top, as texture coordinates count. Colours are
            multiplied with their opacity, so that those of invisible pixels do not show at edges.
        repeat: Along s and t.
        cut_out: Whether pixels are either opaque or invisible, but for those at edges.
    """

    size: tuple[int, int]
    components: int
    data: bytes
    repeat: tuple[bool, bool]
    cut_out: bool

    @property
    def grey(self) -> bool:
        """Whether it scales the diffuse colour instead of replacing it."""
        return self.components < 3

    @property
    def see_through(self) -> bool:
        """Whether some of it can be looked through."""
        return self.components in (2, 4)


def read_texture(texture: Texture) -> TextureImage:
    """Read the image of a texture.

    Raises:
        OSError: There is no such file, or it is no image that can be read.
    """
    placing = *texture.center, texture.rotation, *texture.scale, *texture.translation
    if not all(abs(x) <= _LARGEST for x in placing):
        raise OSError("where it lies is not finite, or absurd")
    image = texture_image(texture)
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    cut_out = False
    if image.mode in ("LA", "RGBA"):
        opacity = np.asarray(image.getchannel("A"))
        between = (opacity >= _NEARLY) & (opacity <= 255 - _NEARLY)
        cut_out = bool(between.mean() <= _OF_EDGES)
        is_opaque = bool(opacity.min() > 255 - _NEARLY)
        image = image.convert(image.mode[:-1] if is_opaque else image.mode[:-1] + "a")
    data = image.tobytes()
    return TextureImage(image.size, len(image.getbands()), data, texture.repeat, cut_out)


def describe(texture: Texture, error: OSError) -> str:
    """Return a sentence about a texture that could not be read."""
    return f"texture '{texture.path or texture.name}' cannot be read and is left out: {error}"
