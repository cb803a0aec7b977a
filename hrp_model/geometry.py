"""Shapes: primitives, meshes and their materials. SI units; no file format here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import Enum
from functools import cached_property
from math import hypot, inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .diagnostics import out_of_range
from .late_dataclass import dataclass
from .rigid import IDENTITY_4, Array, Pose, frozen_array, rotation_error

IntArray = NDArray[np.int32]
ByteArray = NDArray[np.uint8]
# Cylinders are along Y here and along Z in most formats: +90 degrees about X.
Y_TO_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
Y_TO_Z.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Box:
    """A box centred on its frame's origin; ``size`` along x, y, z in [m], shape (3,)."""

    size: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", frozen_array(self.size, (3,), "size"))


@dataclass(frozen=True, slots=True)
class Sphere:
    """A sphere centred on its frame's origin; ``radius`` in [m].

    ``divisions``, here and below, is the number of segments with which the model wants circles
    drawn; None leaves it to the renderer.
    """

    radius: float
    divisions: int | None = None


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A cylinder along Y, centred on its frame's origin; lengths in [m].

    ``top`` is the cap at +Y. Omitted faces are only invisible: as a collision shape a
    cylinder is always solid.
    """

    radius: float
    height: float
    top: bool = True
    bottom: bool = True
    side: bool = True
    divisions: int | None = None


@dataclass(frozen=True, slots=True)
class Capsule:
    """A capsule along Y; ``height`` [m] is that of the cylinder between the two half spheres."""

    radius: float
    height: float
    divisions: int | None = None


@dataclass(frozen=True, slots=True)
class Cone:
    """A cone along Y, base at -height/2, apex at +height/2; lengths in [m]."""

    radius: float
    height: float
    bottom: bool = True
    side: bool = True
    divisions: int | None = None


@dataclass(frozen=True, eq=False)
class Attribute:
    """Values at the corners of a mesh's triangles.

    Attributes:
        values: Shape (k, 3) for normals and RGB colours, (k, 2) for texture coordinates.
        indices: Row of ``values`` for each corner of each triangle, shape (m, 3).
    """

    values: Array
    indices: IntArray


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh; triangles are counter-clockwise seen from outside.

    Attributes:
        vertices: In [m], shape (n, 3).
        triangles: Rows of ``vertices``, shape (m, 3).
        normals: Unit vectors; None to derive them from the faces and ``crease_angle``.
        colors: RGB in 0..1; they replace the material's diffuse colour.
        tex_coords: (s, t), t upwards.
        tex_mapping: Makes texture coordinates where ``tex_coords`` is None; None maps an image
            onto the two largest sides of the bounding box.
        crease_angle: Edges between faces that meet at more than this [rad] look sharp.
        solid: Whether back faces may be culled.
    """

    vertices: Array
    triangles: IntArray
    normals: Attribute | None = None
    colors: Attribute | None = None
    tex_coords: Attribute | None = None
    crease_angle: float = 0.0
    solid: bool = True
    tex_mapping: Callable[[Mesh], Attribute] | None = None

    def __post_init__(self) -> None:
        vertices = np.ascontiguousarray(self.vertices, dtype=np.float64).reshape(-1, 3)
        triangles = np.ascontiguousarray(self.triangles, dtype=np.int32).reshape(-1, 3)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", triangles)


Geometry = Box | Sphere | Cylinder | Capsule | Cone | Mesh


@dataclass(frozen=True, slots=True, eq=False)
class Texture:
    """A texture image, from a file or given as pixels.

    Attributes:
        path: The image file, or None.
        repeat: Whether it repeats along s and t.
        center, rotation, scale, translation: VRML97's texture transform, rotation in [rad].
        image: Pixels instead of a file: 8 bits per channel, top row first, channels as in
            PNG (grey, grey and alpha, RGB, RGBA), shape (height, width, 1..4).
    """

    path: Path | None = None
    repeat: tuple[bool, bool] = (True, True)
    center: tuple[float, float] = (0.0, 0.0)
    rotation: float = 0.0
    scale: tuple[float, float] = (1.0, 1.0)
    translation: tuple[float, float] = (0.0, 0.0)
    image: ByteArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if (self.path is None) == (self.image is None):
            raise ValueError("a texture needs either a file or pixels")
        if self.image is None:
            return
        pixels = np.array(self.image, dtype=np.uint8)
        if pixels.ndim != 3 or not pixels.size or pixels.shape[2] > 4:
            raise ValueError(f"an image has shape (height, width, 1..4), not {pixels.shape}")
        pixels.setflags(write=False)
        object.__setattr__(self, "image", pixels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texture) or self._placement() != other._placement():
            return False
        if self.image is None or other.image is None or self.image is other.image:
            return self.image is other.image
        return np.array_equal(self.image, other.image)

    def __hash__(self) -> int:
        return hash((*self._placement(), None if self.image is None else self.image.shape))

    def _placement(self) -> tuple[object, ...]:
        transform = self.center, self.rotation, self.scale, self.translation
        return self.path, self.repeat, *transform

    @property
    def name(self) -> str:
        """Name for messages."""
        if self.path is not None:
            return self.path.name
        assert self.image is not None
        return f"{self.image.shape[1]} x {self.image.shape[0]} pixels"


Color = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Material:
    """Appearance of a surface; colours are RGB in 0..1.

    Attributes:
        name: As written in the model, may be empty.
        diffuse, specular, emissive: Colours.
        ambient: Factor of the diffuse colour under ambient light, 0..1.
        shininess: Specular exponent divided by 128, 0..1.
        transparency: 0 is opaque, 1 invisible.
        texture: Image on the surface, or None.
    """

    name: str = ""
    diffuse: Color = (0.8, 0.8, 0.8)
    specular: Color = (0.0, 0.0, 0.0)
    emissive: Color = (0.0, 0.0, 0.0)
    ambient: float = 0.2
    shininess: float = 0.2
    transparency: float = 0.0
    texture: Texture | None = None


# For mesh files without materials.
GREY = Material(ambient=1.0)


MAX_SURFACE_NUMBER = 1e20


class SurfaceRule(Enum):
    """How two declared surfaces combine.

    GAZEBO: the smaller friction and restitution, stiffnesses in series, dampings added. MUJOCO: the
    larger friction, or that of the higher priority. Of both kinds, the smaller.
    """

    GAZEBO = "gazebo"
    MUJOCO = "mujoco"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """Contact properties of a shape in a frame F. None is not declared.

    Attributes:
        rule: How it combines with another declared surface.
        friction: Coulomb coefficient along ``direction``.
        friction_across: Coulomb coefficient across it.
        direction: In F, need not be of unit length; None if friction has no direction.
        stiffness: Of a spring between the surfaces, in [N/m].
        damping: Of this spring, in [N s/m].
        restitution: Ratio of the speeds after and before an impact, from 0 to 1.
        bounce_speed: Slower impacts do not bounce, in [m/s].
        is_frictionless: Whether contacts have no friction, unless a surface with the rule MUJOCO
            and of this priority adds it.
        priority: Of two surfaces with the rule MUJOCO, the one of higher priority applies alone.

    Raises:
        ValueError: A number is negative or not finite, a restitution is above 1, or the direction
            is not finite or zero.
    """

    rule: SurfaceRule
    friction: float | None = None
    friction_across: float | None = None
    direction: tuple[float, float, float] | None = None
    stiffness: float | None = None
    damping: float = 0.0
    restitution: float | None = None
    bounce_speed: float = 0.0
    is_frictionless: bool = False
    priority: int = 0

    def __post_init__(self) -> None:
        for name in ("friction", "friction_across", "stiffness", "damping", "bounce_speed"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= MAX_SURFACE_NUMBER:
                raise ValueError(f"{name} {out_of_range(value, 0.0, MAX_SURFACE_NUMBER)}")
        if self.restitution is not None and not 0.0 <= self.restitution <= 1.0:
            raise ValueError(f"restitution {out_of_range(self.restitution, 0.0, 1.0)}")
        if self.direction is not None and not 0.0 < hypot(*self.direction) < inf:
            raise ValueError(f"direction must be finite and not zero, not {self.direction}")


@dataclass(frozen=True, eq=False)
class Shape:
    """A geometry placed in a frame F, with its material.

    Attributes:
        geometry: In its own frame G.
        T_FG: Affine map from G to F (scale and shear are possible), shape (4, 4).
        material: Appearance of its surface.
        name: As written in the model, may be empty.
        surface: Contact properties that the model declares, in F.
    """

    geometry: Geometry
    T_FG: Array = field(default_factory=lambda: IDENTITY_4)
    material: Material = field(default_factory=Material)
    name: str = ""
    surface: Surface | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_FG", frozen_array(self.T_FG, (4, 4), "T_FG"))

    def moved(self, T_EF: Array) -> Shape:
        """Return the shape placed in an outer frame E, with ``T_EF`` of shape (4, 4).

        Without its surface, which only shapes of links have.
        """
        if T_EF is IDENTITY_4:
            return self
        return Shape(self.geometry, T_EF @ self.T_FG, self.material, self.name)

    def rigid_parts(self, tolerance: float = 1e-6) -> tuple[Pose, Array] | None:
        """Split T_FG into a pose and a scale along G's own axes.

        Returns:
            (X_FG, scale of shape (3,)), all scales positive; None if T_FG mirrors or shears,
            which a scaled primitive cannot represent. ``tolerance`` bounds the cosines
            between the columns.
        """
        pose, scale, error = self._pose_and_scale
        return (pose, scale) if error <= tolerance else None

    @cached_property
    def _pose_and_scale(self) -> tuple[Pose, Array, float]:
        """T_FG as a pose and a scale, and the error of its rotation; kept, as many ask for it."""
        columns = self.T_FG[:3, :3]
        scale = np.sqrt((columns * columns).sum(axis=0))
        if not np.all(scale > 0.0):
            return Pose(), scale, inf
        R = columns / scale
        scale.setflags(write=False)
        return Pose(R, self.T_FG[:3, 3]), scale, rotation_error(R)


@dataclass(frozen=True, eq=False)
class SceneNode:
    """A node of the scene tree that a reader of mesh or scene files returns.

    Attributes:
        name: Name in the file, by which a model may select this node; may be empty.
        T_PN: Affine map from this node to its parent, shape (4, 4).
        shapes: Placed in this node's frame.
        children: Nodes below.
    """

    name: str = ""
    T_PN: Array = field(default_factory=lambda: IDENTITY_4)
    shapes: tuple[Shape, ...] = ()
    children: tuple[SceneNode, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_PN", frozen_array(self.T_PN, (4, 4), "T_PN"))

    @cached_property
    def size(self) -> int:
        """Number of nodes and shapes at and below this node."""
        return 1 + len(self.shapes) + sum(child.size for child in self.children)

    def flattened(self) -> tuple[Shape, ...]:
        """Return every shape at or below this node, placed in the parent's frame."""
        inside = [*self.shapes, *(s for child in self.children for s in child.flattened())]
        return tuple(shape.moved(self.T_PN) for shape in inside)
