"""The light of pictures for people, and the colours that surfaces have in it.

Films, pictures and pages in browsers use the same lights, ground, background and tone curve. Light
is added up in linear space. A surface with the normal n, of reflectance a, shows the colour

    encoded(toned(a * (sky and ground + key * visible + fill)))

where the sky and the ground are seen in the shares (1 + n_z) / 2 and (1 - n_z) / 2, and the key and
the fill are directional lights, of which only the key casts shadows. Irradiances are relative to
*full light*, in which a surface of the model's colour c shows ``EXPOSURE * linear(c)``; the darkest
ones a little more, since black ones of models reflect less than any real one, and would lose
their shape.

The tone curve is the one that three.js applies, which pages in browsers cannot change: Stephen
Hill's fit of the Academy Color Encoding System. It darkens dark colours and desaturates bright
ones, so ``albedo`` inverts it: what is shown in full light has the hue of the model.
"""

from __future__ import annotations

from math import cos, radians, sin
from typing import NamedTuple

import numpy as np

from ..rigid import Array

# Share of a colour that is shown in full light: at a larger one, pure blue would become violet.
EXPOSURE = 0.7
# Reflectance of black, relative to white.
LEAST = 0.008

# Negative radiance, relative to the largest one of a colour, that is left out without darkening it.
PALENESS = 0.05


class DirectionalLight(NamedTuple):
    """A light without a place.

    Attributes:
        azimuth: From the x axis of W counter-clockwise to the light, in [deg].
        elevation: Of the light above the horizon, in [deg].
        strength: Irradiance of a surface that faces it, relative to full light.
    """

    azimuth: float
    elevation: float
    strength: float

    @property
    def direction(self) -> Array:
        """Unit vector in W towards the light, shape (3,)."""
        azimuth, elevation = radians(self.azimuth), radians(self.elevation)
        around = cos(elevation)
        return np.array([around * cos(azimuth), around * sin(azimuth), sin(elevation)])


# Robots face +x, and are seen from their left front.
KEY = DirectionalLight(-20.0, 52.0, 0.66)
FILL = DirectionalLight(120.0, 20.0, 0.15)
# Irradiances by the sky and by the ground, RGB.
SKY = 0.56, 0.57, 0.59
GROUND = 0.41, 0.40, 0.39

# Colours, sRGB in 0..1: of the ground as a surface, and of the background at two heights.
GROUND_COLOR = 0.84, 0.85, 0.86
HORIZON_COLOR = 0.90, 0.92, 0.94
ZENITH_COLOR = 0.66, 0.73, 0.82

# From linear sRGB to the space of the fit with its white point, the fit, and back.
TO_FIT = (
    np.array(
        [[0.59719, 0.35458, 0.04823], [0.07600, 0.90834, 0.01566], [0.02840, 0.13383, 0.83777]]
    )
    / 0.6
)
FROM_FIT = np.array(
    [[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]]
)
# The fit is (x (x + a) - b) / (x (c x + d) + e).
FIT = 0.0245786, 0.000090537, 0.983729, 0.432951, 0.238081


def linear(srgb: Array) -> Array:
    """Return sRGB values as linear ones, both in 0..1 (IEC 61966-2-1)."""
    clipped = np.clip(np.nan_to_num(srgb), 0.0, 1.0)
    return np.where(clipped <= 0.04045, clipped / 12.92, ((clipped + 0.055) / 1.055) ** 2.4)


def encoded(values: Array) -> Array:
    """Return linear values as sRGB ones, both in 0..1; the inverse of ``linear``."""
    clipped = np.clip(values, 0.0, 1.0)
    return np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055)


def toned(radiance: Array) -> Array:
    """Return the linear colours in 0..1 in which radiances are shown, shape (..., 3)."""
    a, b, c, d, e = FIT
    x = radiance @ TO_FIT.T
    shown: Array = np.clip((x * (x + a) - b) / (x * (c * x + d) + e) @ FROM_FIT.T, 0.0, 1.0)
    return shown


def untoned(color: Array) -> Array:
    """Return the radiances that are shown in linear colours in 0..1, shape (..., 3).

    Those of bright saturated yellow, green and cyan are negative in a channel.
    """
    a, b, c, d, e = FIT
    y = color @ np.linalg.inv(FROM_FIT).T
    half, rest = 0.5 * (a - d * y), b + e * y
    x = (np.sqrt(half**2 + (1.0 - c * y) * rest) - half) / (1.0 - c * y)
    found: Array = x @ np.linalg.inv(TO_FIT).T
    return found


def albedo(srgb: Array) -> Array:
    """Return the linear reflectance of surfaces of a colour, in 0..1, shape (..., 3).

    Colours that light cannot show are a little darker and paler.

    Args:
        srgb: In 0..1, shape (..., 3).
    """
    wanted = EXPOSURE * (LEAST + (1.0 - LEAST) * linear(srgb))
    found = untoned(wanted)
    lack = -found.min(axis=-1, keepdims=True) / found.max(axis=-1, keepdims=True)
    darker = 1.0 - 2.0 * np.maximum(lack - PALENESS, 0.0)
    return np.asarray(np.maximum(untoned(wanted * darker), 0.0))


def emission(srgb: Array) -> Array:
    """Return the radiance of surfaces that glow in a colour, shape (..., 3); black is none."""
    return albedo(srgb) - albedo(np.zeros(3))


def irradiance(normal: Array, visible: float | Array = 1.0) -> Array:
    """Return the irradiance of surfaces, RGB relative to full light, shape (..., 3).

    Args:
        normal: Unit vectors in W, shape (..., 3).
        visible: Share of the key light that arrives.
    """
    up = 0.5 + 0.5 * normal[..., 2:]
    key = KEY.strength * visible * np.maximum(normal @ KEY.direction, 0.0)
    fill = FILL.strength * np.maximum(normal @ FILL.direction, 0.0)
    return np.asarray(up * SKY + (1.0 - up) * GROUND + (key + fill)[..., np.newaxis])


def shown(srgb: Array, received: float | Array = 1.0) -> Array:
    """Return the sRGB colour that matt surfaces of a colour show, both in 0..1, shape (..., 3).

    Args:
        srgb: Of the surfaces, shape (..., 3).
        received: Their irradiance relative to full light, of a shape that fits.
    """
    return encoded(toned(albedo(srgb) * received))
