"""Shapes as URDF primitives, and which of them need a mesh file."""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from typing import TypeAlias

import numpy as np
from urdf_parser_py import urdf

from ..geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from ..readers.urdf.objects import Y_TO_Z
from ..readers.urdf.objects import Capsule as CapsuleElement
from ..rigid import Pose
from ..shapes.measure import area

UrdfGeometry: TypeAlias = "urdf.Box | urdf.Sphere | urdf.Cylinder | CapsuleElement | urdf.Mesh"

_MIRROR = np.diag([-1.0, 1.0, 1.0, 1.0])
_SAME_SCALE = 1e-6
# urdf_parser_py, which lacks capsules, finds the tag of a geometry here when it writes one.
for _parent in (urdf.Visual, urdf.Collision):
    _kinds = _parent.XML_REFL.element_map["geometry"].value_type.factory
    _kinds.nameMap[CapsuleElement] = "capsule"


def primitive(shape: Shape, *, capsules: bool) -> tuple[Pose, UrdfGeometry] | None:
    """Return a shape as a URDF primitive with its origin in F, or None if it needs a mesh.

    URDF has boxes, spheres and cylinders, and capsules from version 1.1 on. Scales that keep
    the form are multiplied into the sizes; sheared and oval shapes need a mesh.
    """
    geometry = shape.geometry
    if not isinstance(geometry, Box | Sphere | Cylinder | Capsule):
        return None
    if np.linalg.det(shape.T_FG) < 0.0:  # all are symmetric
        shape = replace(shape, T_FG=shape.T_FG @ _MIRROR)
    parts = shape.rigid_parts()
    if parts is None:
        return None
    pose, scale = parts
    if isinstance(geometry, Box):
        return pose, urdf.Box(size=(geometry.size * scale).tolist())
    x, y, z = scale.tolist()
    round_about_y = isclose(x, z, rel_tol=_SAME_SCALE)
    is_uniform = round_about_y and isclose(x, y, rel_tol=_SAME_SCALE)
    if isinstance(geometry, Sphere) and is_uniform:
        return pose, urdf.Sphere(radius=float(geometry.radius * x))
    if isinstance(geometry, Cylinder) and round_about_y:
        radius, length = float(geometry.radius * x), float(geometry.height * y)
        return pose @ Pose(Y_TO_Z), urdf.Cylinder(radius=radius, length=length)
    if capsules and isinstance(geometry, Capsule) and is_uniform:
        capsule = CapsuleElement()
        capsule.radius, capsule.length = float(geometry.radius * x), float(geometry.height * y)
        return pose @ Pose(Y_TO_Z), capsule
    return None


def needs_mesh(shape: Shape, *, solid: bool, capsules: bool) -> bool:
    """Return whether a shape needs a mesh file; a ``solid`` one has all its faces."""
    is_primitive = primitive(shape, capsules=capsules) is not None
    geometry = shape.geometry
    if isinstance(geometry, Cylinder) and not solid:
        return not (geometry.top and geometry.bottom and geometry.side and is_primitive)
    return not is_primitive


def is_empty(shape: Shape) -> bool:
    """Return whether a shape is a mesh without area."""
    return isinstance(shape.geometry, Mesh) and area(shape.geometry) == 0.0
