"""Read links: mass properties and shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from urdf_parser_py import urdf

from ...geometry import GREY, Box, Capsule, Cylinder, Geometry, Shape, Sphere
from ...inertia import MassProperties
from ...reading import Reading
from ...rigid import IDENTITY_3, Array, Pose, quaternion_matrix, rpy_matrix
from ..xml_tree import Element
from .conventions import Y_TO_Z
from .materials import PLAIN, MaterialReader
from .objects import ObjectReader, UrdfObject
from .schema import Capsule as CapsuleElement


@dataclass(frozen=True, eq=False)
class LinkParts:
    """Contents of a <link>; its pose is that of the joint above it.

    Attributes:
        element: The element.
        mass: Mass properties in the frame of the link.
        visual: Visual shapes.
        collision: Collision shapes.
        collision_R: Rotation from the frame of each one's <collision> to that of the link.
        lacks_shapes: Whether some mesh files could not be read.
    """

    element: Element
    mass: MassProperties
    visual: tuple[Shape, ...]
    collision: tuple[Shape, ...]
    collision_R: tuple[Array, ...]
    lacks_shapes: bool

    @property
    def is_empty(self) -> bool:
        """Whether it is only a frame, without mass, inertia and shapes."""
        return not (self.mass.mass or self.mass.inertia.any() or self.visual or self.collision)


class LinkReader:
    """Reads <link> elements."""

    def __init__(self, reading: Reading, objects: ObjectReader, materials: MaterialReader) -> None:
        self._reading = reading
        self._objects = objects
        self._materials = materials

    def link(self, element: Element) -> LinkParts | None:
        """Return the contents of a link, or None after reporting an error."""
        made = self._objects.read(urdf.Link, element)
        if made is None:
            return None
        if (origin := element.first("origin")) is not None:
            message = "the <origin> of a link is ignored: its pose is that of the joint above it"
            self._reading.diagnostics.warn("not-used", message, origin.span)
        visuals = zip(element.all("visual"), made.visuals, strict=True)
        collisions = zip(element.all("collision"), made.collisions, strict=True)
        lost = self._reading.lost_shapes
        visual = tuple(shape for pair in visuals for shape in self._visual(*pair))
        collision = [
            (shape, pose(part.origin).R)
            for written, part in collisions
            for shape in self._shapes(written, part)
        ]
        return LinkParts(
            element=element,
            mass=_mass(made.inertial),
            visual=visual,
            collision=tuple(shape for shape, _ in collision),
            collision_R=tuple(R for _, R in collision),
            lacks_shapes=self._reading.lost_shapes > lost,
        )

    def _visual(self, element: Element, made: UrdfObject) -> tuple[Shape, ...]:
        shapes = self._shapes(element, made)
        material = self._materials.material(element, made.material)
        if material is None:
            # A mesh file has its own materials, which a link may override.
            if isinstance(made.geometry, urdf.Mesh):
                return shapes
            material = PLAIN
        return tuple(Shape(x.geometry, x.T_FG, material, x.name) for x in shapes)

    def _shapes(self, element: Element, made: UrdfObject) -> tuple[Shape, ...]:
        """Return the shapes of a <visual> or <collision>; a mesh file may contain several."""
        X_LS = pose(made.origin)
        name = made.name or ""
        if not isinstance(made.geometry, urdf.Mesh):
            geometry, R = _primitive(made.geometry)
            return (Shape(geometry, Pose(X_LS.R @ R, X_LS.p).matrix(), GREY, name),)
        written = next(child for x in element.all("geometry") for child in x.all("mesh"))
        folder = self._reading.folder  # not of an included file, as the URDF is one file
        path = self._reading.resolve(made.geometry.filename, written.at("filename"), folder=folder)
        if path is None:
            self._reading.lost_shapes += 1
            return ()
        scene = self._reading.read_scene(path, written.span)
        if scene is None:
            return ()
        T_LS = X_LS.matrix()
        if made.geometry.scale is not None:
            T_LS = T_LS @ np.diag([*made.geometry.scale, 1.0])
            if 0.0 in made.geometry.scale:
                message = "a scale of zero makes the mesh empty"
                self._reading.diagnostics.warn("empty-shape", message, written.at("scale"))
        return tuple(
            Shape(x.geometry, T_LS @ x.T_FG, x.material, name or x.name) for x in scene.flattened()
        )


def pose(origin: UrdfObject | None) -> Pose:
    """Return the pose of an <origin>; the identity if there is none."""
    if origin is None:
        return Pose()
    R = IDENTITY_3
    if origin.quat_xyzw is not None:
        R = quaternion_matrix(origin.quat_xyzw)
    elif origin.rpy is not None:
        R = rpy_matrix(*origin.rpy)
    return Pose(R, np.array(origin.xyz))


def _mass(inertial: UrdfObject | None) -> MassProperties:
    """Return mass properties in the frame of the link, from those in the inertial frame."""
    if inertial is None:
        return MassProperties()
    inertia = np.zeros((3, 3))
    if inertial.inertia is not None:
        inertia = np.array(inertial.inertia.to_matrix())
    about_center = MassProperties(inertial.mass, np.zeros(3), inertia)
    X_LC = pose(inertial.origin)
    if X_LC.R is IDENTITY_3:  # exact, without rounding errors
        return MassProperties(inertial.mass, X_LC.p, inertia)
    return about_center.expressed_in(X_LC)


def _primitive(made: Any) -> tuple[Geometry, Array]:
    """Return a geometry, and its rotation in its URDF frame."""
    if isinstance(made, urdf.Box):
        return Box(made.size), IDENTITY_3
    if isinstance(made, urdf.Sphere):
        return Sphere(made.radius), IDENTITY_3
    kind = Capsule if isinstance(made, CapsuleElement) else Cylinder
    return kind(made.radius, made.length), Y_TO_Z.T
