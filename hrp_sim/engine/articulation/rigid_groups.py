"""The rigid groups of a body: which links they have, their masses, and the tree that they form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from hrp_model import Body, JointType, Link
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Shape
from hrp_model.inertia import MassProperties, merge, point_inertia
from hrp_model.kinematics import BodyState
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, Pose
from hrp_model.shapes.measure import BoundingBox, geometry_box, union

from ..engine import Placement
from .articulation import STATIC, IntArray


def force_sensor_links(body: Body) -> set[str]:
    """Return the names of the links with a force sensor in the joint to the parent."""
    return {d.link for d in body.devices if isinstance(d, ForceSensor)}


def zero_state(body: Body, X_WL: Pose) -> BodyState:
    """Return the state of a body with its root at X_WL and every joint at zero."""
    zero = BodyState(body)
    zero.p[0], zero.R[0], zero.q[:] = X_WL.p, X_WL.R, 0.0
    zero.calc_forward_kinematics()
    return zero


def rigid_groups(body: Body, fixed: bool) -> tuple[IntArray, list[list[int]]]:
    """Return the group of each link, and the links of each group, parents before children.

    Links connected by fixed joints are one group, unless the joint has a force sensor. Static
    links are in the group ``STATIC``, which is not in the second list. A fixed root with a force
    sensor is a group, which a fixed joint connects to the world.
    """
    with_sensors = force_sensor_links(body)
    group_of = np.full(len(body.links), STATIC, dtype=np.int32)
    members: list[list[int]] = []
    for i, link in enumerate(body.links):
        parent = body.parent_indices[i]
        rigid = link.joint.is_fixed
        if parent < 0 and fixed and link.name not in with_sensors:
            continue
        if parent >= 0 and rigid and link.name not in with_sensors:
            group_of[i] = group_of[parent]
            if group_of[i] != STATIC:
                members[group_of[i]].append(i)
            continue
        group_of[i] = len(members)
        members.append([i])
    return group_of, members


def group_masses(
    placement: Placement, members: Sequence[Sequence[int]], zero: BodyState
) -> list[MassProperties]:
    """Return each group's mass properties from the model, in the frame of its first link."""
    return [_merged(placement, zero, links) for links in members]


def group_lifts(body: Body, members: Sequence[Sequence[int]], zero: BodyState) -> Array:
    """Return each group's mass that has no weight, and its first moment, shape (g, 4).

    The moment is about the origin of the group's first link and in its axes.
    """
    lifts = np.zeros((len(members), 4))
    for lift, links in zip(lifts, members, strict=True):
        base = Pose(zero.R[links[0]], zero.p[links[0]]).inverse()
        for i in links:
            link = body.links[i]
            mass = (1.0 - link.weight_share) * link.mass
            if mass:
                center = base @ Pose(zero.R[i], zero.p[i]) @ Pose(p=link.center_of_mass)
                lift += mass * np.array([1.0, *center.p])
    return lifts


def _merged(placement: Placement, zero: BodyState, members: Sequence[int]) -> MassProperties:
    base = Pose(zero.R[members[0]], zero.p[members[0]]).inverse()
    parts = []
    for i in members:
        link = placement.body.links[i]
        # Only the symmetric part of an inertia has an effect.
        inertia = (link.inertia + link.inertia.T) / 2.0
        part = MassProperties(link.mass, link.center_of_mass, inertia)
        parts.append(part.expressed_in(base @ Pose(zero.R[i], zero.p[i])))
    return merge(parts)


@dataclass(frozen=True, eq=False)
class GroupTree:
    """The groups of a body with its root at the origin and every joint at zero.

    Attributes:
        body: The model.
        fixed: Whether its root is fixed to the world.
        group_of: Group of each link.
        members: Links of each group, parents before children.
        masses: Of each group, in the frame of its first link.
    """

    body: Body
    fixed: bool
    group_of: IntArray
    members: Sequence[Sequence[int]]
    masses: Sequence[MassProperties]

    def link(self, group: int) -> Link:
        """Return the first link of a group, the child link of its joint."""
        return self.body.links[self.members[group][0]]

    def is_free(self, group: int) -> bool:
        """Whether a group has no joint to a parent."""
        link = self.link(group)
        return not self.fixed if link.parent is None else link.joint.type is JointType.FREE

    def parent(self, group: int) -> int:
        """Return the parent of a group, ``STATIC`` if that is the world or there is none."""
        above = self.body.parent_indices[self.members[group][0]]
        return STATIC if above < 0 or self.is_free(group) else int(self.group_of[above])

    def is_static(self, group: int) -> bool:
        """Whether only fixed joints, which carry force sensors, connect a group to the world."""
        while group != STATIC:
            link = self.link(group)
            if self.is_free(group) or (link.parent is not None and link.joint.moves):
                return False
            group = self.parent(group)
        return True

    def nearest_with_mass(self, group: int) -> int:
        """Return the group or its nearest ancestor that carries mass, else ``STATIC``."""
        while group != STATIC and not self._carried[group].mass > 0.0:
            group = self.parent(group)
        return group

    def carried_load(self, group: int) -> tuple[float, float]:
        """Return the mass that a joint carries, in [kg], and its greatest moment of inertia.

        The moment is about the joint's origin, in [kg m^2].
        """
        whole = self._carried[group]
        arm = whole.center_of_mass - self._poses[self.members[group][0]].p
        about = whole.inertia + whole.mass * point_inertia(arm)
        return whole.mass, float(np.linalg.eigvalsh(about)[2])

    def box_moments(self, group: int, axes: Array) -> Array:
        """Return moments of inertia of a solid box of 1 kg around a group's shapes.

        The collision shapes are used or, if there are none, the visual ones.

        Args:
            group: Index of the group.
            axes: Unit vectors as columns, in the frame of its first link, shape (3, 3).

        Returns:
            About each axis, in [m^2], shape (3,); zeros without shapes of finite size.
        """
        size = self._box(group)
        moments = (size @ size - size * size) / 12.0
        of_axes: Array = moments @ (axes * axes)
        return of_axes

    @cached_property
    def mass(self) -> float:
        """Total mass of all groups, in [kg]."""
        return sum(part.mass for part in self.masses)

    @cached_property
    def _poses(self) -> list[Pose]:
        """Pose of each link."""
        zero = zero_state(self.body, Pose())
        return [Pose(R, p) for R, p in zip(zero.R, zero.p, strict=True)]

    @cached_property
    def _carried(self) -> list[MassProperties]:
        """Mass properties that the joint of each group carries, including the group."""
        groups = range(len(self.masses))
        parts = [[self.masses[g].expressed_in(self._poses[self.members[g][0]])] for g in groups]
        found: dict[int, MassProperties] = {}
        for g in reversed(groups):
            found[g] = merge(parts[g])
            if self.parent(g) != STATIC:
                parts[self.parent(g)].append(found[g])
        return [found[g] for g in groups]

    def _box(self, group: int) -> Array:
        """Return the size of the bounding box along the axes of the first link, shape (3,)."""
        for kind in ("collision", "visual"):
            box = union(self._boxes(group, kind))
            if box is not None and np.all(np.isfinite(size := box.high - box.low)) and size.any():
                return size
        return np.zeros(3)

    def _boxes(self, group: int, kind: str) -> Iterator[BoundingBox]:
        """Yield the bounding box of each shape in the frame of the group's first link."""
        base = self._poses[self.members[group][0]].inverse()
        for i in self.members[group]:
            shapes: tuple[Shape, ...] = getattr(self.body.links[i], kind)
            T_GL = (base @ self._poses[i]).matrix()
            for shape in shapes:
                if (own := geometry_box(shape.geometry)) is not None:
                    yield own.transformed(T_GL @ shape.T_FG)
