"""Products of vectors, for any number of them at once."""

from __future__ import annotations

import numpy as np

from ..rigid import Array


def cross(a: Array, b: Array) -> Array:
    """Return a x b for vectors along the last axis; several times faster than numpy's."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = y * w - z * v
    out[..., 1] = z * u - x * w
    out[..., 2] = x * v - y * u
    return out
