"""Light, background and floor of the scene of a page, as in films: ``hrp_model.shapes.light``."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

import numpy as np

from ..rigid import Array
from ..shapes import light
from ..shapes.extents import Ground

if TYPE_CHECKING:
    from viser import SceneApi

_DARK = 0.2  # brightness of the background of dark pages, relative to others
_BACKGROUND_ROWS = 64  # of the image behind the scene
_UP = np.array([0.0, 0.0, 1.0])
_LIT = light.irradiance(_UP)
_FLOOR = light.shown(np.array(light.GROUND_COLOR), _LIT)
_SHADED = light.shown(np.array(light.GROUND_COLOR), light.irradiance(_UP, 0.0))
# Share of the light on the floor that does not arrive in a shadow.
_SHADOW = float(1.0 - np.mean(light.linear(_SHADED) / light.linear(_FLOOR)))
_ABOVE = 2e-3  # height of the grid on a floor of the world, relative to the robots
# Brightness of the lines of the floor, relative to the floor.
_CELL, _SECTION = 0.93, 0.8


def add_light(scene: SceneApi) -> None:
    """Replace the default lights and the environment of a scene."""
    scene.configure_default_lights(False)
    scene.configure_environment_map(None)
    # A lambertian surface reflects 1 / pi of the irradiance in each direction.
    strength = max(light.SKY)
    scene.add_light_hemisphere(
        "/light/sky",
        sky_color=_bytes(light.encoded(np.array(light.SKY) / strength)),
        ground_color=_bytes(light.encoded(np.array(light.GROUND) / strength)),
        intensity=pi * strength,
        position=(0.0, 0.0, 1.0),
    )
    for name, lamp in (("key", light.KEY), ("fill", light.FILL)):
        x, y, z = lamp.direction.tolist()
        scene.add_light_directional(
            f"/light/{name}",
            intensity=pi * lamp.strength,
            cast_shadow=lamp is light.KEY,
            position=(x, y, z),
        )


def add_background(scene: SceneApi, *, dark: bool) -> None:
    """Show the background behind a scene; a second call replaces it."""
    share = np.clip(2.0 * np.linspace(0.0, 1.0, _BACKGROUND_ROWS), 0.0, 1.0)[:, np.newaxis]
    top = 0.6 * np.array(light.HORIZON_COLOR) + 0.4 * np.array(light.ZENITH_COLOR)
    colors = share * light.HORIZON_COLOR + (1.0 - share) * top
    colors *= _DARK if dark else 1.0
    image = np.round(255.0 * colors).astype(np.uint8)[:, np.newaxis]
    scene.set_background_image(np.repeat(image, 4, axis=1), format="png")


def add_floor(scene: SceneApi, radius: float, ground: Ground) -> None:
    """Add a floor with a grid; a second call replaces it.

    A floor of the world gets the grid only, as far as it goes.

    Args:
        scene: The scene.
        radius: Of what stands on it, in [m].
        ground: Where it is.
    """
    section = 10.0 ** np.floor(np.log10(2.0 * radius))
    is_own = ground.color is None
    color = _FLOOR if ground.color is None else light.shown(np.array(ground.color), _LIT)
    scene.add_grid(
        "/floor",
        width=ground.size[0],
        height=ground.size[1],
        infinite_grid=is_own,
        cell_size=section / 10.0,
        section_size=section,
        cell_color=_of_lines(_CELL * color),
        section_color=_of_lines(_SECTION * color),
        fade_distance=30.0 * radius,
        plane_color=_bytes(color),
        plane_opacity=float(is_own),
        shadow_opacity=_SHADOW if is_own else 0.0,
        position=(*ground.middle, ground.height + (0.0 if is_own else _ABOVE * radius)),
    )


def _of_lines(color: Array) -> tuple[int, int, int]:
    """Return the colour of lines that are shown in a colour: pages tone them, but not the floor."""
    return _bytes(light.encoded(light.untoned(light.linear(color))))


def _bytes(color: Array) -> tuple[int, int, int]:
    r, g, b = np.round(255.0 * np.clip(color, 0.0, 1.0)).astype(int).tolist()
    return r, g, b
