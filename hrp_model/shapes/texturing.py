"""Texture transforms, and default texture coordinates."""

from __future__ import annotations

from dataclasses import replace
from math import cos, sin

import numpy as np

from ..geometry import Mesh, Texture
from ..rigid import Array
from .meshing import planar_tex_coords


def transformed_coords(texture: Texture, st: Array) -> Array:
    """Apply VRML97's texture transform to texture coordinates, shapes (..., 2).

    ISO/IEC 14772-1, 6.49: Tc' = -C x S x R x C x T x Tc; the translation is applied first.
    """
    center = np.asarray(texture.center)
    c, s = cos(texture.rotation), sin(texture.rotation)
    rotated: Array = (st + texture.translation + center) @ np.array([[c, s], [-s, c]])
    coords: Array = rotated * np.asarray(texture.scale) - center
    return coords


def with_tex_coords(mesh: Mesh) -> Mesh:
    """Return a mesh with texture coordinates: its own, else those of its default mapping."""
    if mesh.tex_coords is not None or not len(mesh.triangles):
        return mesh
    return replace(mesh, tex_coords=(mesh.tex_mapping or planar_tex_coords)(mesh))
