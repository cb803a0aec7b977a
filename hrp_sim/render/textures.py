"""Converts images to texture data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from hrp_model.geometry import Texture
from hrp_model.shapes.images import texture_image

# Larger images are scaled down: more than cameras of robots can resolve.
MAX_SIDE = 4096

# Bound on the numbers of a texture transform.
_MAX_VALUE = 1e6

# An image with at most this share of partly transparent pixels has holes with smooth edges.
_MAX_EDGE_SHARE = 0.1
_OPACITY_TOLERANCE = 8  # of 255


@dataclass(frozen=True, slots=True, eq=False)
class TextureImage:
    """The pixels of a texture.

    Attributes:
        size: Width and height.
        components: 1 grey, 2 grey and opacity, 3 RGB, 4 RGB and opacity.
        data: Rows from the bottom to the top, like texture coordinates. Colours are premultiplied
            with their opacity, so that colours of transparent pixels do not show at edges.
        repeat: Along s and t.
        cut_out: Whether pixels are either opaque or transparent, except at edges.
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
        """Whether it has transparent parts."""
        return self.components in (2, 4)


def read_texture(texture: Texture) -> TextureImage:
    """Read the image of a texture.

    Raises:
        OSError: The file does not exist, or cannot be read as an image.
    """
    transform = *texture.center, texture.rotation, *texture.scale, *texture.translation
    if not all(abs(x) <= _MAX_VALUE for x in transform):
        raise OSError(f"the numbers of its texture transform must be within +-{_MAX_VALUE:g}")
    image = texture_image(texture)
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    cut_out = False
    if image.mode in ("LA", "RGBA"):
        opacity = np.asarray(image.getchannel("A"))
        is_partial = (opacity >= _OPACITY_TOLERANCE) & (opacity <= 255 - _OPACITY_TOLERANCE)
        cut_out = bool(is_partial.mean() <= _MAX_EDGE_SHARE)
        is_opaque = bool(opacity.min() > 255 - _OPACITY_TOLERANCE)
        image = image.convert(image.mode[:-1] if is_opaque else image.mode[:-1] + "a")
    data = image.tobytes()
    return TextureImage(image.size, len(image.getbands()), data, texture.repeat, cut_out)


def describe(texture: Texture, error: OSError) -> str:
    """Return the message about a texture that could not be read."""
    return f"texture '{texture.path or texture.name}' cannot be read and is left out: {error}"
