"""Input of an engine: a placed Body as rigid groups, joints and shapes in flat arrays.

Links connected by fixed joints form one rigid group, unless the joint has a force sensor.
Static links belong to no group. The frame G of a group has its origin at the group's centre
of mass and, at q = 0, the axes of its first link. ``flatten`` creates these arrays and checks
every number in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model import Link
from hrp_model.diagnostics import listed
from hrp_model.geometry import Surface
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, Pose

from ..engine import PhysicsError, Placement

IntArray = NDArray[np.int32]
STATIC = -1
NO_CONTACT = -1
_MAX_LISTED = 12  # pairs of a remark
_NO_VERTICES = np.zeros((0, 3))
_NO_TRIANGLES = np.zeros((0, 3), dtype=np.int32)


class JointKind(IntEnum):
    """Types of joints in an engine; FIXED ones carry a force sensor."""

    FIXED = 0
    HINGE = 1
    SLIDER = 2


class LoopKind(IntEnum):
    """Types of extra joints in an engine."""

    BALL = 0
    HINGE = 1
    FIXED = 2
    PISTON = 3
    XY = 4
    Z = 5


class Contact(IntEnum):
    """Whether two links of one body can collide."""

    NEVER = 0
    ALWAYS = 1
    UNLESS_OVERLAPPING = 2  # connected by joints: initially overlapping ones would burst apart
    UNLESS_TOUCHING = 3  # one carries the other: designed to touch, like adjacent links


@dataclass(frozen=True, eq=False)
class Links:
    """Links, in the order of ``body.links``.

    Attributes:
        group: Rigid group of each link, or STATIC, shape (n,).
        R, p: Pose of the link in its group's frame G; of a static link in W.
        track_axis: Axis of a track, in the same frame, zero for other links, shape (n, 3).
        watched: 1 for links with a force sensor in the joint to the parent, shape (n,).
    """

    group: IntArray
    R: Array
    p: Array
    track_axis: Array
    watched: IntArray


@dataclass(frozen=True, eq=False)
class Groups:
    """Rigid groups, parents before children.

    Attributes:
        mass: In [kg], shape (g,).
        inertia: About G's origin, axes of G, in [kg m^2], shape (g, 3, 3).
        lift: Part of the mass that has no weight, in [kg], and its first moment about G's origin,
            axes of G, in [kg m], shape (g, 4).
        zero_R, zero_p: Pose X_WG when every joint is at zero.
        R, p, v, w: Initial pose X_WG and velocity of G's origin.
    """

    mass: Array
    inertia: Array
    lift: Array
    zero_R: Array
    zero_p: Array
    R: Array
    p: Array
    v: Array
    w: Array


@dataclass(frozen=True, eq=False)
class Joints:
    """Joints between groups.

    Attributes:
        kind: A ``JointKind``, shape (m,).
        link: Index of the link that the joint moves, shape (m,).
        coordinate: Index in the joint vectors, or -1, shape (m,).
        child, parent: Groups; the parent may be STATIC, the world.
        anchor, axis: In W when every joint is at zero, shape (m, 3).
        lower, upper: Range of q.
        effort_lower, effort_upper: Range of the drive's effort.
        rotor_inertia: Equivalent rotor inertia, in [kg m^2] or [kg].
        damping: Viscous friction, in [N m s/rad] or [N s/m].
        friction: Coulomb friction, in [N m] or [N].
        stiffness: Of springs, in [N m/rad] or [N/m].
        rest: Values of q at which they exert nothing.
    """

    kind: IntArray
    link: IntArray
    coordinate: IntArray
    child: IntArray
    parent: IntArray
    anchor: Array
    axis: Array
    lower: Array
    upper: Array
    effort_lower: Array
    effort_upper: Array
    rotor_inertia: Array
    damping: Array
    friction: Array
    stiffness: Array
    rest: Array


@dataclass(frozen=True, eq=False)
class Loops:
    """Extra joints, as the poses of their frame J on both sides, which coincide when closed.

    Attributes:
        kind: A ``LoopKind``, shape (e,).
        a, b: Groups, never the same; one may be STATIC.
        R_a, p_a: Pose of J in the frame of group a, or in W.
        R_b, p_b: Pose of J in the frame of group b, or in W.
        axis: Unit vector in J, shape (e, 3).
    """

    kind: IntArray
    a: IntArray
    b: IntArray
    R_a: Array
    p_a: Array
    R_b: Array
    p_b: Array
    axis: Array


@dataclass(frozen=True, eq=False)
class Gears:
    """Mimic joints: q[follower] = ratio * q[leader] + offset.

    Attributes:
        follower, leader: Rows of ``Joints``, shape (g,); each joint follows at most one.
        ratio: In [rad] or [m] of the follower per [rad] or [m] of the leader, shape (g,).
        offset: In [rad] or [m], shape (g,).
    """

    follower: IntArray
    leader: IntArray
    ratio: Array
    offset: Array


class GeomKind(IntEnum):
    """Types of shapes in an engine; those with an axis are along Z."""

    BOX = 0
    SPHERE = 1
    CYLINDER = 2
    CAPSULE = 3
    MESH = 4


class Geom(NamedTuple):
    """One collision shape on a link L; ``X_LE`` is the pose of the engine's shape.

    ``surface`` is what the model declares, in L.
    """

    kind: GeomKind
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    X_LE: Pose = Pose()
    vertices: Array = _NO_VERTICES
    triangles: IntArray = _NO_TRIANGLES
    surface: Surface | None = None


@dataclass(frozen=True, eq=False)
class Geoms:
    """Collision shapes.

    Attributes:
        kind: A ``GeomKind``, shape (k,).
        link: Index of its link, shape (k,).
        size: Of a box along x, y, z; else radius and height (without the half spheres of a
            capsule), in [m], shape (k, 3).
        R, p: Pose in the link's group frame G; on a static link in W.
        material: Row of the world's ``MaterialTable.matrices``; NO_CONTACT for shapes that
            only stop rays, shape (k,).
        surface: What models declare, a ``surface_row`` each, shape (k, SURFACE_NUMBERS).
        first_vertex, first_triangle: First row of each mesh, shape (k + 1,).
        vertices: Of all meshes, in their geoms' frames, in [m], shape (v, 3).
        triangles: Vertex indices within each mesh, shape (t, 3).
    """

    kind: IntArray
    link: IntArray
    size: Array
    R: Array
    p: Array
    material: IntArray
    surface: Array
    first_vertex: IntArray
    first_triangle: IntArray
    vertices: Array
    triangles: IntArray


@dataclass(frozen=True, eq=False)
class Articulation:
    """A placed body, flattened.

    Attributes:
        placement: The body and its initial state.
        q, dq: Initial joint positions and velocities, shape (joints,).
        contacts: A ``Contact`` for every pair of links, shape (links, links).
    """

    placement: Placement
    q: Array
    dq: Array
    links: Links
    groups: Groups
    joints: Joints
    loops: Loops
    gears: Gears
    contacts: IntArray
    geoms: Geoms


def link_error(placement: Placement, link: Link, problem: str) -> PhysicsError:
    """Return an error about a link, with its place in the model file."""
    at = f" ({link.at})" if link.at else ""
    return PhysicsError(f"body '{placement.name}', link '{link.name}': {problem}{at}")


def overlap_remarks(
    articulation: Articulation, pairs: Sequence[tuple[int, int]]
) -> tuple[str, ...]:
    """Return sentences about links that do not collide.

    Args:
        articulation: The body.
        pairs: The links that overlap or touch at the start, by index.
    """
    links = articulation.placement.body.links
    remarks = []
    for kind, why in (
        (Contact.UNLESS_OVERLAPPING, "overlap by more than 1 mm at the start"),
        (Contact.UNLESS_TOUCHING, "touch at the start, and one carries the other"),
    ):
        names = [
            f"{links[a].name}-{links[b].name}"
            for a, b in pairs
            if articulation.contacts[a, b] == kind
        ]
        if names:
            remarks.append(f"links do not collide that {why}: {listed(names, _MAX_LISTED)}")
    return tuple(remarks)
