"""Elements of shapes: URDF primitives, those that need a mesh file, and <material> elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isclose
from typing import TypeAlias
from xml.etree.ElementTree import Element

import numpy as np
from urdf_parser_py import urdf

from ..frames import legal_name, unique_name
from ..geometry import Box, Capsule, Cylinder, Material, Mesh, Shape, Sphere
from ..readers.urdf.objects import Y_TO_Z
from ..readers.urdf.objects import Capsule as CapsuleElement
from ..rigid import Pose, matrix_rpy
from ..shapes.measure import area

Rgba = tuple[float, float, float, float]
UrdfGeometry: TypeAlias = "urdf.Box | urdf.Sphere | urdf.Cylinder | CapsuleElement | urdf.Mesh"
_MIRROR = np.diag([-1.0, 1.0, 1.0, 1.0])
_SAME_SCALE = 1e-6


def element(
    tag: str, *children: Element, text: str | float | bool = "", **attributes: str
) -> Element:
    """Return an element with attributes and children.

    Args:
        tag: Its name.
        children: Elements below it.
        text: Its text: a number is written with all its digits.
        attributes: Its attributes.
    """
    result = Element(tag, attributes)
    result.extend(children)
    if text != "":
        result.text = xml_text(text)
    return result


def xml_text(value: str | float | bool) -> str:
    """Return a value as text for XML; 0 for -0."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int)) else repr(float(value) + 0.0)


def param(name: str, value: str | float | bool) -> Element:
    """Return a <param> of ros2_control."""
    return element("param", text=value, name=name)


def pose_text(pose: Pose) -> str:
    """Return a pose as text for SDF: x, y, z in [m], then roll, pitch, yaw in [rad]."""
    return " ".join(repr(float(x) + 0.0) for x in (*pose.p, *matrix_rpy(pose.R)))


class Materials:
    """Collects the colours of a robot's shapes."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, Rgba], str] = {}
        self._colors: dict[str, Rgba] = {}

    def reference(self, material: Material) -> urdf.LinkMaterial:
        """Return the reference of a visual to its material."""
        return urdf.LinkMaterial(name=self._name(material))

    def elements(self) -> list[urdf.Material]:
        """Return the definitions of all materials referred to, in order of first use."""
        return [
            urdf.Material(name=name, color=urdf.Color(list(rgba)))
            for name, rgba in self._colors.items()
        ]

    def _name(self, material: Material) -> str:
        rgba = rgba_of(material)
        key = (material.name, rgba)
        if key not in self._names:
            name = unique_name(legal_name(material.name, default="material"), self._colors)
            self._names[key] = name
            self._colors[name] = rgba
        return self._names[key]


def have_one_color(visual: Sequence[Shape]) -> bool:
    """Return whether one colour describes all visual shapes of a link.

    If not, each needs a mesh file with its own materials, and no <material>: RViz draws all
    primitives of a link in the <material> of its first visual, from June 2026 on its meshes
    too (ros2/rviz 1293, 1782).
    """
    return len({rgba_of(x.material) for x in visual}) <= 1 and not any(map(has_own_colors, visual))


def has_own_colors(shape: Shape) -> bool:
    """Return whether a shape has a texture, or colours of its vertices or faces."""
    geometry = shape.geometry
    has_colors = isinstance(geometry, Mesh) and geometry.colors is not None
    return has_colors or shape.material.texture is not None


def rgba_of(material: Material) -> Rgba:
    """Return the colour of a material for URDF, 0..1: the sum of diffuse and emissive."""
    r, g, b = (
        min(1.0, max(0.0, float(d) + float(e)))
        for d, e in zip(material.diffuse, material.emissive, strict=True)
    )
    return r, g, b, 1.0 - min(1.0, max(0.0, float(material.transparency)))


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
