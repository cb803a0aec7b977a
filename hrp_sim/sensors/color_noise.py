"""Noise of the colours and grey values of cameras."""

from __future__ import annotations

import numpy as np

from ..render import Pixels
from .noise import Noise

_COLORS = 3  # stream, beside those of distances
_WHITE = 255.0


class ColorNoise:
    """Adds a normal error to each pixel, the same for its three colours.

    Args:
        mean, stdev: Of the errors; colours are from 0 to 1.
        source: Of random numbers.

    Raises:
        ValueError: A number is out of range.
    """

    def __init__(self, mean: float, stdev: float, source: Noise) -> None:
        if not (abs(mean) <= 1.0 and 0.0 <= stdev <= 1.0):
            raise ValueError(
                f"the noise of its colours must be from 0 to 1, not {stdev}, with a mean within 1, "
                f"not {mean}"
            )
        self._mean, self._stdev, self._source = mean, stdev, source

    def applied(self, time_ns: int, color: Pixels) -> Pixels:
        """Return a noisy image, shape (height, width, 3)."""
        height, width, _ = color.shape
        error = self._mean + self._stdev * self._source.normals(time_ns, height * width, _COLORS)
        noisy = color + _WHITE * error.reshape(height, width, 1)
        return np.clip(np.rint(noisy), 0.0, _WHITE).astype(np.uint8)
