"""Read links: mass properties, shapes, and materials by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from urdf_parser_py import urdf

from ...diagnostics import Diagnostics, did_you_mean
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
    Texture,
)
from ...inertia import MassProperties
from ...late_dataclass import dataclass
from ...read_context import ReadContext
from ...rigid import IDENTITY_3, Array, Pose, quaternion_matrix, rpy_matrix
from ..xml_tree import Element
from .objects import Capsule as CapsuleElement
from .objects import ObjectReader, UrdfObject

# Of shapes without a material.
PLAIN = Material()
_COLOR_TOLERANCE = 1e-3


class MaterialReader:
    """Reads the materials of a robot."""

    def __init__(self, context: ReadContext, objects: ObjectReader) -> None:
        self._context = context
        self._objects = objects
        self._by_name: dict[str, Material] = {}
        self._by_element: dict[int, Material] = {}

    def collect(self, robot: Element) -> None:
        """Collect the materials at the top level of a robot, then those defined in links.

        A link may refer to a material that any other link defines.
        """
        for element in robot.all("material"):
            name = element.attributes.get("name", "")
            made = self._objects.read(urdf.Material, element)
            if name in self._by_name:
                message = f"material '{name}' is already defined; this one is ignored"
                self._context.diagnostics.warn("duplicate-material", message, element.span)
            elif name:
                self._by_name[name] = self._defined(made, element)
        # Problems are reported when the links are read.
        quiet = ObjectReader(Diagnostics.silent())
        for link in robot.all("link"):
            for visual in link.all("visual"):
                for element in visual.all("material"):
                    name = element.attributes.get("name", "")
                    if name and element.children and name not in self._by_name:
                        made = quiet.read(urdf.LinkMaterial, element)
                        self._by_name[name] = self._defined(made, element)

    def material(self, visual: Element, made: UrdfObject | None) -> Material | None:
        """Return the material of a shape; None if it has none, or an unknown one.

        Args:
            visual: Its <visual>.
            made: The object of the <material> in it, if there is one.
        """
        if made is None:
            return None
        element = visual.first("material")
        assert element is not None
        if element.first("color", "texture") is not None:
            return self._defined(made, element)
        known = self._by_name.get(made.name)
        if known is None:
            message = f"there is no material '{made.name}'.{did_you_mean(made.name, self._by_name)}"
            self._context.diagnostics.warn("unknown-material", message, element.at("name"))
        return known

    def _defined(self, made: UrdfObject | None, element: Element) -> Material:
        """Return the material that an element defines; its texture is resolved once."""
        if id(element) not in self._by_element:
            name = element.attributes.get("name", "")
            material = Material(name) if made is None else self._material(made, element)
            self._by_element[id(element)] = material
        return self._by_element[id(element)]

    def _material(self, made: UrdfObject, element: Element) -> Material:
        texture = self._texture(made, element)
        if made.color is None or made.color.rgba is None:
            diffuse = (1.0, 1.0, 1.0) if texture else PLAIN.diffuse  # an image shows as it is
            return Material(made.name, diffuse, texture=texture)
        if not all(-_COLOR_TOLERANCE <= x <= 1.0 + _COLOR_TOLERANCE for x in made.color.rgba):
            written = element.first("color")
            at = element.span if written is None else written.at("rgba")
            message = f"the numbers of colour '{made.name}' must be in 0..1; they are clipped"
            self._context.diagnostics.warn("color-range", message, at)
        r, g, b, a = (min(1.0, max(0.0, x)) for x in made.color.rgba)
        return Material(made.name, (r, g, b), transparency=1.0 - a, texture=texture)

    def _texture(self, made: UrdfObject, element: Element) -> Texture | None:
        if made.texture is None:
            return None
        written = element.first("texture")
        at = element.span if written is None else written.at("filename")
        path = self._context.resolve(made.texture.filename, at, folder=self._context.folder)
        return None if path is None else Texture(path)


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

    def __init__(
        self, context: ReadContext, objects: ObjectReader, materials: MaterialReader
    ) -> None:
        self._context = context
        self._objects = objects
        self._materials = materials

    def link(self, element: Element) -> LinkParts | None:
        """Return the contents of a link, or None after reporting an error."""
        made = self._objects.read(urdf.Link, element)
        if made is None:
            return None
        if (origin := element.first("origin")) is not None:
            message = "the <origin> of a link is ignored: its pose is that of the joint above it"
            self._context.diagnostics.warn("not-used", message, origin.span)
        visuals = zip(element.all("visual"), made.visuals, strict=True)
        collisions = zip(element.all("collision"), made.collisions, strict=True)
        lost = self._context.lost_shapes
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
            lacks_shapes=self._context.lost_shapes > lost,
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
        folder = self._context.folder  # not of an included file, as the URDF is one file
        path = self._context.resolve(made.geometry.filename, written.at("filename"), folder=folder)
        if path is None:
            self._context.lost_shapes += 1
            return ()
        scene = self._context.read_scene(path, written.span)
        if scene is None:
            return ()
        T_LS = X_LS.matrix()
        if made.geometry.scale is not None:
            T_LS = T_LS @ np.diag([*made.geometry.scale, 1.0])
            if 0.0 in made.geometry.scale:
                message = "a scale of zero makes the mesh empty"
                self._context.diagnostics.warn("empty-shape", message, written.at("scale"))
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
