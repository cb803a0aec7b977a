"""The lights of a scene as data for the shaders. Does not call OpenGL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot, inf
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model.devices import DirectionalLight, Light, PointLight, SpotLight
from hrp_model.rigid import Array

from ..engine.articulation.numeric_limits import MAX_COORDINATE, MAX_RANGE, is_valid_mounting
from .shaders import MAX_LIGHTS

# (name of a body, name of one of its lights) -> whether it is on; others are as in the model.
Switches = Mapping[tuple[str, str], bool]
NOTHING_SWITCHED: Switches = MappingProxyType({})

# Minimum difference between the angles of both cones of a spot, in [rad]: narrower than a pixel.
_MIN_CONE_DIFFERENCE = 1e-5

# Bound on intensities, and on angles in [rad], so that single precision does not overflow.
_MAX_VALUE = 1e6

LIGHT = np.dtype(
    [
        ("place", "f4", 4),
        ("color", "f4", 3),
        ("radius", "f4"),
        ("ambient", "f4", 4),
        ("attenuation", "f4", 3),
        ("exponent", "f4"),
        ("axis", "f4", 3),
        ("outer", "f4"),
        ("steepness", "f4", 4),  # the rest is padding
    ]
)
# The block ``View`` of the shaders, in the layout std140; matrices are column-major.
VIEW = np.dtype(
    [
        ("projection", "f4", (4, 4)),
        ("headlight", "f4", 4),
        ("lights", LIGHT, MAX_LIGHTS),
    ]
)


class SceneLight(NamedTuple):
    """A light of a scene.

    Attributes:
        body: Name of the body that carries it.
        link: Row of its link among all links of the scene.
        light: From the model.
    """

    body: str
    link: int
    light: Light


def light_error(light: Light) -> str:
    """Return why a light cannot be rendered, or ""."""
    strengths = [*light.color, light.intensity, light.ambient_intensity]
    if isinstance(light, PointLight):
        strengths += light.attenuation
    if not all(abs(x) <= _MAX_VALUE for x in strengths):
        return f"its colour, intensity and attenuation must be within +-{_MAX_VALUE:g}"
    if isinstance(light, SpotLight) and not all(
        abs(x) <= _MAX_VALUE
        for x in (light.beam_width, light.cut_off_angle, light.cut_off_exponent)
    ):
        return f"its beam width, cut-off angle and exponent must be within +-{_MAX_VALUE:g}"
    if isinstance(light, PointLight) and not light.radius >= 0.0:
        return f"its radius must not be negative, not {light.radius} m"
    if isinstance(light, DirectionalLight | SpotLight) and not _is_unit(light.direction):
        return "its direction is not a unit vector"
    if not is_valid_mounting(light.X_LS):
        return f"its pose on the link must be a rigid transform within {MAX_COORDINATE:g} m"
    return ""


def lights_on(
    lights: Sequence[SceneLight], switches: Switches, poses_C: NDArray[np.float32]
) -> tuple[NDArray[np.void], int]:
    """Return the lights that are on, of dtype LIGHT, spots last, and the number of spots.

    If there are too many, they are those that are brightest at the camera.

    Args:
        lights: Of the scene.
        switches: States of lights that were switched.
        poses_C: Rows of [R_CL | p_CL] of all links, shape (links, 3, 4); zeros for links that
            do not exist.
    """
    rows = [
        _row(light, poses_C[link].astype(float))
        for body, link, light in lights
        if switches.get((body, light.name), light.on) and poses_C[link].any()
    ]
    if len(rows) > MAX_LIGHTS:
        rows.sort(key=_brightness, reverse=True)
    rows = sorted(rows[:MAX_LIGHTS], key=_is_spot)
    return np.array(rows, dtype=LIGHT), sum(map(_is_spot, rows))


@np.errstate(over="ignore", invalid="ignore")
def _row(light: Light, X_CL: Array) -> NDArray[np.void]:
    """Return a light for the shaders, from the rows of [R_CL | p_CL], shape (3, 4)."""
    R_CS = X_CL[:, :3] @ light.X_LS.R
    row = np.zeros((), LIGHT)
    row["color"] = np.multiply(light.color, light.intensity)
    row["ambient"][:3] = np.multiply(light.color, light.ambient_intensity)
    row["radius"] = inf
    if isinstance(light, DirectionalLight):
        row["place"][:3] = -R_CS @ light.direction
    if isinstance(light, PointLight):
        row["place"] = *(X_CL[:, :3] @ light.X_LS.p + X_CL[:, 3]), 1.0
        row["attenuation"] = light.attenuation
        row["radius"] = light.radius if light.radius < MAX_RANGE else inf
    if isinstance(light, SpotLight):
        row["axis"] = R_CS @ light.direction
        row["outer"], row["exponent"] = light.cut_off_angle, light.cut_off_exponent
        difference = max(light.cut_off_angle - light.beam_width, _MIN_CONE_DIFFERENCE)
        row["steepness"] = 1.0 / difference
    return row


def _is_unit(direction: Array) -> bool:
    return abs(hypot(*direction) - 1.0) < 1e-6


def _is_spot(row: NDArray[np.void]) -> bool:
    return bool(row["steepness"][0])


def _brightness(row: NDArray[np.void]) -> tuple[float, float]:
    """Return the brightness of a light at the camera, and its negative distance, as sort key.

    Spots count as point lights.
    """
    brightest = float(max(row["color"].max(), row["ambient"].max()))
    if row["place"][3] == 0.0:
        return brightest, 0.0
    distance = float(np.linalg.norm(row["place"][:3]))
    if distance > row["radius"]:
        return 0.0, -distance
    attenuation = float(row["attenuation"] @ [1.0, distance, distance**2])
    return brightest / max(attenuation, 1.0), -distance
