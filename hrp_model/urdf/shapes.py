"""Shapes of a URDF: primitives and materials, and mesh files for the others.

Visual shapes are GLB files, collision shapes binary STL.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from math import isclose
from pathlib import Path
from typing import TypeAlias
from xml.etree.ElementTree import Element

import numpy as np
from urdf_parser_py import urdf

from ..body import Body, Link
from ..diagnostics import Diagnostics, Span
from ..files.writer import write_atomically
from ..frames import legal_name, unique_name
from ..geometry import Y_TO_Z, Box, Capsule, Cylinder, Material, Mesh, Shape, Sphere, Texture
from ..late_dataclass import dataclass
from ..readers.urdf.objects import Capsule as CapsuleElement
from ..rigid import Pose, matrix_rpy
from ..shapes.tessellate import placed_mesh, placed_mesh_key
from .glb import EncodedImage, UpAxis, encoded_image, glb, stl

Rgba = tuple[float, float, float, float]
UrdfGeometry: TypeAlias = "urdf.Box | urdf.Sphere | urdf.Cylinder | CapsuleElement | urdf.Mesh"
_MIRROR = np.diag([-1.0, 1.0, 1.0, 1.0])
_SAME_SCALE = 1e-6
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_NAME = 100  # characters of a link's name; file systems allow 255 bytes


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


@dataclass(frozen=True, eq=False)
class MeshUris:
    """URIs of the mesh files of a body's shapes, as returned by ``write_meshes``.

    Attributes:
        visual: URI of the mesh of a visual shape; a shape not listed is a primitive.
        collision: URI of the mesh of a collision shape, likewise.
    """

    visual: Mapping[Shape, str] = field(default_factory=dict)
    collision: Mapping[Shape, str] = field(default_factory=dict)


def write_meshes(
    body: Body,
    folder: Path,
    base_uri: str | None = None,
    diagnostics: Diagnostics | None = None,
    *,
    up: UpAxis = UpAxis.Z,
    final_folder: Path | None = None,
    capsules: bool = False,
    own_materials: bool = True,
) -> MeshUris:
    """Write a mesh file for each shape that is not a URDF primitive, and return their URIs.

    The visual primitives of a link with several colours are written, too, as RViz would draw
    them in one.

    Each shape has its own file and material; simulators that use the convex hull of a mesh,
    such as MuJoCo, use that of each shape. A file is named after its link and a hash of its
    content, so equal meshes share one file. Existing files are kept unless they are damaged:
    the folder may serve as a cache for many robots. Files are written atomically.

    Args:
        body: The robot.
        folder: Folder of the files; created if missing.
        base_uri: Prefix of the file names in the URDF, such as "package://my_robot/meshes";
            by default the ``file://`` URI of the folder.
        diagnostics: Receives warnings about unreadable textures; logged by default.
        up: Which axis of the GLB files is the URDF's z.
        final_folder: The folder that the files will be moved to, if it is another one; files
            that exist there are not written again.
        capsules: Whether the URDF has capsules, see ``UrdfVersion``.
        own_materials: Whether visual primitives are written where their link has several colours.

    Raises:
        OSError: The folder or a file cannot be written.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    base_uri = (base_uri or folder.as_uri()).rstrip("/")
    writer = _Writer((folder, final_folder or folder), base_uri, diagnostics, up)
    visual: dict[Shape, str] = {}
    collision: dict[Shape, str] = {}
    for link in body.links:
        as_meshes = own_materials and not have_one_color(link.visual)
        for shape in link.visual:
            is_mesh = as_meshes or needs_mesh(shape, solid=False, capsules=capsules)
            if is_mesh and (uri := writer.visual(shape, link)):
                visual[shape] = uri
        for shape in link.collision:
            if needs_mesh(shape, solid=True, capsules=capsules) and (
                uri := writer.collision(shape, link)
            ):
                collision[shape] = uri
    return MeshUris(visual, collision)


class _Writer:
    """Writes mesh files that neither of two folders has into the first one, each once."""

    def __init__(
        self, folders: tuple[Path, Path], base_uri: str, diagnostics: Diagnostics, up: UpAxis
    ) -> None:
        self._folders = folders
        self._base_uri = base_uri
        self._diagnostics = diagnostics
        self._up = up
        self._by_shape: dict[Hashable, str | None] = {}
        self._by_content: dict[tuple[bytes, str], str] = {}
        self._images: dict[Texture, EncodedImage | None] = {}

    def visual(self, shape: Shape, link: Link) -> str | None:
        """Write a visual shape and return its URI; None if it has no area."""

        def content() -> bytes | None:
            mesh, material = placed_mesh(shape, solid=False), shape.material
            image = self._image(material, link.at) if mesh.tex_coords is not None else None
            return glb(mesh, material, image, self._up)

        return self._cached((*placed_mesh_key(shape), shape.material), link, ".glb", content)

    def collision(self, shape: Shape, link: Link) -> str | None:
        """Write a collision shape and return its URI; None if it has no area."""
        return self._cached(
            placed_mesh_key(shape), link, ".stl", lambda: stl(placed_mesh(shape, solid=True))
        )

    def _cached(
        self,
        key: tuple[Hashable, ...],
        link: Link,
        suffix: str,
        content: Callable[[], bytes | None],
    ) -> str | None:
        key = (*key, suffix)
        if key not in self._by_shape:
            data = content()
            self._by_shape[key] = None if data is None else self._write(data, link.name, suffix)
        return self._by_shape[key]

    def _write(self, data: bytes, link: str, suffix: str) -> str:
        digest = hashlib.blake2b(data, digest_size=8).digest()
        key = digest, suffix
        if key not in self._by_content:
            base = _UNSAFE.sub("_", link)[:_MAX_NAME]
            name = f"{base}-{digest.hex()}{suffix}"
            if not any(_has_content(folder / name, data) for folder in self._folders):
                write_atomically(self._folders[0] / name, data)
            self._by_content[key] = f"{self._base_uri}/{name}"
        return self._by_content[key]

    def _image(self, material: Material, at: Span | None) -> EncodedImage | None:
        texture = material.texture
        if texture is None:
            return None
        if texture not in self._images:
            try:
                self._images[texture] = encoded_image(texture)
            except OSError as error:
                self._images[texture] = None
                message = f"texture '{texture.name}' is left out: {error}"
                self._diagnostics.warn("unreadable-texture", message, at)
        return self._images[texture]


def _has_content(path: Path, data: bytes) -> bool:
    """Return whether a file exists and has this content."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False
