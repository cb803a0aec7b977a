"""Shapes of a link: its visuals and collisions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...geometry import (
    GREY,
    Y_TO_Z,
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Material,
    Shape,
    Sphere,
    Surface,
)
from ...read_context import ReadContext
from ...rigid import Array, Pose, axis_angle_matrix, unit_vector
from ..sdf_values import SdfReader, UnusedElements, read_surface, turned
from ..xml_tree import Element
from .joints import Frames

_ONES = np.ones(3)
_AXIS_Z = np.array([0.0, 0.0, 1.0])
# Sizes of boxes that stand for planes, in [m].
_ENDLESS, _THICK, _THIN = 1000.0, 1.0, 0.01


class ShapeReader:
    """Reads the shapes of links."""

    def __init__(self, frames: Frames, context: ReadContext) -> None:
        self._frames = frames
        self._context = context
        self._diagnostics = context.diagnostics
        self._unused = UnusedElements(context.diagnostics)

    def shapes(self, link: Element, tag: str, X_LS: Pose) -> tuple[Shape, ...]:
        """Return the shapes of one kind.

        Args:
            link: The ``<link>``.
            tag: "visual" or "collision".
            X_LS: Pose of the frame of the ``<link>`` in the link of the body.
        """
        name = link.attributes.get("name", "")
        found: list[Shape] = []
        for element in link.all(tag):
            reader = SdfReader(element, self._diagnostics)
            pose, frame = reader.framed_pose("pose")
            X_LG = X_LS @ self._frames.in_frame(pose, frame, name, element)
            material = _material(reader) if tag == "visual" else None
            shapes = self._shape(element, X_LG, material)
            if tag == "collision":
                surface = self._surface(reader, X_LG)
                shapes = [replace(shape, surface=surface) for shape in shapes]
            found += shapes
        return tuple(found)

    def _surface(self, collision: SdfReader, X_LG: Pose) -> Surface | None:
        """Return the contact properties of a collision, in the link."""
        self._unused.add_all(collision.element, "max_contacts")
        written = collision.inside("surface")
        return None if written is None else turned(read_surface(written, self._unused), X_LG.R)

    def _shape(self, element: Element, X_LG: Pose, material: Material | None) -> list[Shape]:
        name = element.attributes.get("name", "")
        geometry = element.first("geometry")
        kind = None if geometry is None or not geometry.children else geometry.children[0]
        if kind is None:
            message = f"a <{element.tag}> needs a <geometry> with one shape"
            self._diagnostics.error("bad-geometry", message, element.span)
            return []
        if kind.tag == "mesh":
            return self._mesh(kind, X_LG, material, name)
        reader = SdfReader(kind, self._diagnostics)
        made: Geometry
        scale = np.eye(4)
        upright = X_LG @ Pose(Y_TO_Z)
        if kind.tag == "box":
            made = Box(reader.vector("size", default=_ONES))
        elif kind.tag == "sphere":
            made = Sphere(reader.number("radius", default=1.0))
        elif kind.tag == "ellipsoid":
            made = Sphere(1.0)
            scale = np.diag([*reader.vector("radii", default=_ONES), 1.0])
        elif kind.tag in ("cylinder", "capsule"):
            shape = Cylinder if kind.tag == "cylinder" else Capsule
            made = shape(reader.number("radius", default=1.0), reader.number("length", default=1.0))
            X_LG = upright
        elif kind.tag == "plane":
            made, X_LG = self._plane(reader, X_LG, is_endless=element.tag == "collision")
        elif kind.tag == "empty":
            return []
        else:
            message = f"a shape of type <{kind.tag}> is left out: links have finite, rigid shapes"
            self._diagnostics.warn("no-counterpart", message, kind.span)
            return []
        return [Shape(made, X_LG.matrix() @ scale, material or GREY, name)]

    def _plane(self, reader: SdfReader, X_LG: Pose, *, is_endless: bool) -> tuple[Geometry, Pose]:
        """Return a box whose upper face is a plane; that of a collision has no edges."""
        normal = unit_vector(reader.vector("normal", default=_AXIS_Z))
        if normal is None:
            reader.warn("zero-axis", "the normal has length zero; Z is used")
            normal = _AXIS_Z
        x, y = reader.vector("size", default=np.ones(2), count=2).tolist()
        size = np.array([x, y, _THIN])
        if is_endless:
            size = np.array([_ENDLESS, _ENDLESS, _THICK])
        X_GP = Pose(_rotation_to(normal)) @ Pose(p=-0.5 * size[2] * _AXIS_Z)
        return Box(size), X_LG @ X_GP

    def _mesh(self, mesh: Element, X_LG: Pose, material: Material | None, name: str) -> list[Shape]:
        uri = mesh.first("uri")
        if mesh.first("submesh") is not None:
            message = "the whole mesh is used: a part of it cannot be chosen"
            self._diagnostics.warn("no-counterpart", message, mesh.span)
        at = mesh.span if uri is None else uri.span
        path = None if uri is None else self._context.resolve(uri.text, at)
        scene = None if path is None else self._context.read_scene(path, at)
        if path is None:
            self._context.lost_shapes += 1
        if scene is None:
            return []
        scale: Array = SdfReader(mesh, self._diagnostics).vector("scale", default=_ONES)
        T_LG = X_LG.matrix() @ np.diag([*scale, 1.0])
        return [
            Shape(x.geometry, T_LG @ x.T_FG, material or x.material, name or x.name)
            for x in scene.flattened()
        ]


def _material(visual: SdfReader) -> Material | None:
    """Return the material of a visual, if it has colours."""
    material = visual.inside("material")
    if material is None or material.element.first("diffuse") is None:
        return None
    count = 4 if len(material.text("diffuse").split()) == 4 else 3
    rgba = material.vector("diffuse", default=_ONES, count=count)
    r, g, b, *rest = np.clip(rgba, 0.0, 1.0).tolist()
    opaque = (rest[0] if rest else 1.0) * (1.0 - visual.number("transparency", default=0.0))
    return Material("", (r, g, b), transparency=1.0 - opaque)


def _rotation_to(normal: Array) -> Array:
    """Return a rotation that turns Z into a unit vector, the shortest one."""
    axis = unit_vector(np.cross(_AXIS_Z, normal))
    if axis is None:
        return np.eye(3) if normal[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    return axis_angle_matrix(axis, float(np.arccos(np.clip(normal[2], -1.0, 1.0))))
