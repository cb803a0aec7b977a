"""Where a shape goes in a URDF: as a primitive, or as a mesh with an origin."""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from typing import TypeAlias

import numpy as np
from urdf_parser_py import urdf

from ..geometry import Box, Cylinder, Mesh, Shape, Sphere
from ..readers.urdf.conventions import Y_TO_Z
from ..rigid import Pose
from ..shapes.measure import area
from ..shapes.tessellate import mesh_origin

__all__ = ["UrdfGeometry", "is_empty", "mesh_origin", "needs_mesh", "primitive"]

UrdfGeometry: TypeAlias = "urdf.Box | urdf.Sphere | urdf.Cylinder | urdf.Mesh"

_MIRROR = np.diag([-1.0, 1.0, 1.0, 1.0])
_SAME_SCALE = 1e-6


def primitive(shape: Shape) -> tuple[Pose, UrdfGeometry] | None:
    """Return a shape as a URDF primitive with its origin in F, or None if it is none of them.

    URDF knows box, sphere and cylinder. Scales that keep the form are taken up by the
    sizes; sheared and oval ones need a mesh.
    """
    geometry = shape.geometry
    if not isinstance(geometry, Box | Sphere | Cylinder):
        return None
    if np.linalg.det(shape.T_FG) < 0.0:  # all three are their own mirror images
        shape = replace(shape, T_FG=shape.T_FG @ _MIRROR)
    parts = shape.rigid_parts()
    if parts is None:
        return None
    pose, scale = parts
    if isinstance(geometry, Box):
        return pose, urdf.Box(size=(geometry.size * scale).tolist())
    x, y, z = scale.tolist()
    round_about_y = isclose(x, z, rel_tol=_SAME_SCALE)
    if isinstance(geometry, Sphere) and round_about_y and isclose(x, y, rel_tol=_SAME_SCALE):
        return pose, urdf.Sphere(radius=float(geometry.radius * x))
    if isinstance(geometry, Cylinder) and round_about_y:
        radius, length = float(geometry.radius * x), float(geometry.height * y)
        return pose @ Pose(Y_TO_Z), urdf.Cylinder(radius=radius, length=length)
    return None


def needs_mesh(shape: Shape, *, solid: bool) -> bool:
    """Tell whether only a mesh shows the shape as it is; a ``solid`` one has all its faces."""
    geometry = shape.geometry
    if shape.material.texture is not None and not solid:
        return True  # how an image lies on a primitive is each viewer's own choice
    if isinstance(geometry, Cylinder) and not solid:
        return not (geometry.top and geometry.bottom and geometry.side) or primitive(shape) is None
    return primitive(shape) is None


def is_empty(shape: Shape) -> bool:
    """Tell whether there is nothing to see or touch: a mesh without an area."""
    return isinstance(shape.geometry, Mesh) and area(shape.geometry) == 0.0
