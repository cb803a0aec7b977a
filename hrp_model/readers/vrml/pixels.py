"""Convert SFImage values to pixels."""

from __future__ import annotations

import numpy as np

from ...geometry import ByteArray
from ...rigid import Array

_MAX_COMPONENTS = 4


def image_pixels(values: Array) -> ByteArray | None:
    """Return the pixels of an SFImage, top row first, shape (height, width, components).

    An SFImage (ISO/IEC 14772-1, 5.5) consists of width, height and number of components,
    followed by one number per pixel, starting at the lower left corner, with one byte per
    component, the first one in the most significant byte. None for an empty image.

    Raises:
        ValueError: The numbers are not a valid image.
    """
    if len(values) < 3 or not np.isfinite(values).all():
        raise ValueError("its size is missing, or a number is not finite")
    width, height, components = (int(value) for value in values[:3])
    if not (width and height and components):
        return None
    if width < 0 or height < 0 or not 0 < components <= _MAX_COMPONENTS:
        raise ValueError(f"its size is {width} x {height} with {components} components")
    if len(values) - 3 != width * height:
        raise ValueError(f"it has {len(values) - 3} pixels instead of {width} x {height}")
    numbers = values[3:]
    if numbers.min() < 0.0 or numbers.max() >= 256.0**components:
        raise ValueError(f"a pixel does not fit into {components} bytes")
    words = numbers.astype(">u4").reshape(height, width)[::-1]
    pixels = np.ascontiguousarray(words).view(np.uint8).reshape(height, width, 4)
    return pixels[:, :, 4 - components :]
