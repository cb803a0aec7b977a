"""Wheels of a body, found from its geometry: round links that turn without limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from ..body import Body, JointType, Link
from ..geometry import Cylinder, Shape, Sphere
from ..rigid import Array, Pose
from ..shapes.tessellate import shape_mesh
from .postures import initial_poses

# Largest deviation of a wheel from round, relative to its radius: a prism of 12 faces passes.
_ROUNDNESS = 0.04
# Largest differences of wheels in radius and position, relative to their size.
TOLERANCE = 0.02
# Largest sine of the angle between an axis and its expected direction: 1.57 stands for pi/2.
PARALLEL = 1e-2
_DIRECTIONS = 72  # in which the radius is measured


@dataclass(frozen=True, eq=False)
class Wheel:
    """A round link that turns without limits about a level axle.

    Attributes:
        link: The link.
        center: Its centre in the root frame, in [m], shape (3,).
        radius: In [m].
        axle: Axis of rotation in the root frame, to the left, shape (3,).
        direction: 1 if the joint turns about the axle, -1 if it turns the other way.
    """

    link: Link
    center: Array
    radius: float
    axle: Array
    direction: float

    @property
    def bottom(self) -> float:
        """Its lowest coordinate along the root's z axis, in [m]."""
        return float(self.center[2]) - self.radius


def root_poses(body: Body) -> dict[str, Pose]:
    """Return X_RL of each link in the model's initial posture, by name."""
    X_RW = body.root.X_PL.inverse()
    return {name: X_RW @ X_WL for name, X_WL in initial_poses(body).items()}


def find_wheels(body: Body, poses: Mapping[str, Pose]) -> list[Wheel]:
    """Return the wheels of a body whose root is free.

    Args:
        body: The body.
        poses: From ``root_poses``.
    """
    if body.is_root_fixed:
        return []
    carrying: set[str | None] = set()  # what moves relative to them
    for link in reversed(body.links):
        if not link.joint.is_fixed or link.name in carrying:
            carrying.add(link.parent)
    wheels = (_wheel(x, poses[x.name]) for x in body.links if x.name not in carrying)
    return [wheel for wheel in wheels if wheel is not None]


def swivels(wheel: Link, body: Body, poses: Mapping[str, Pose]) -> list[Link] | None:
    """Return the links between a wheel and the root that turn about a vertical axis.

    None if the wheel can move relative to the root in another way. Suspensions, which slide
    vertically, do not count.
    """
    found = []
    link = wheel
    while link.parent is not None and link.parent != body.root.name:
        link = body.link(link.parent)
        if link.joint.is_fixed:
            continue
        axis = poses[link.name].R @ link.joint.axis
        if not link.joint.moves or np.hypot(axis[0], axis[1]) > PARALLEL:
            return None
        if link.joint.type is JointType.REVOLUTE:
            found.append(link)
    return found


def lowest(links: Iterable[Link], poses: Mapping[str, Pose]) -> float:
    """Return the lowest coordinate of links along the root's z axis, in [m]."""
    floor = inf
    for link in links:
        vertices = link_vertices(link)
        if vertices is not None:
            pose = poses[link.name]
            floor = min(floor, float((vertices @ pose.R[2] + pose.p[2]).min()))
    return floor


def link_vertices(link: Link) -> Array | None:
    """Return the vertices of all collision shapes, in L, shape (v, 3); None without any."""
    used = [vertices for shape in link.collision if len(vertices := _vertices(shape))]
    return np.concatenate(used) if used else None


def _wheel(link: Link, pose: Pose) -> Wheel | None:
    joint = link.joint
    if not joint.is_continuous:
        return None
    axle = pose.R @ joint.axis
    if link.parent is None or abs(axle[2]) > PARALLEL:
        return None
    vertices = link_vertices(link)
    if vertices is None:
        return None
    along = vertices @ joint.axis
    u, v = np.linalg.svd(joint.axis[np.newaxis])[2][1:]
    angles = 2.0 * np.pi / _DIRECTIONS * np.arange(_DIRECTIONS)
    directions = np.outer(np.cos(angles), u) + np.outer(np.sin(angles), v)
    reach = (vertices @ directions.T).max(axis=0)
    radius = max(_radius(shape, joint.axis) for shape in link.collision)
    if radius <= 0.0 or reach.min() < (1.0 - _ROUNDNESS) * radius:
        return None
    center = 0.5 * float(along.min() + along.max()) * joint.axis
    direction = -1.0 if axle[1] < 0.0 else 1.0
    return Wheel(link, pose.p + pose.R @ center, radius, direction * axle, direction)


def _vertices(shape: Shape) -> Array:
    """Return the vertices of a shape that its faces use, in L, shape (v, 3)."""
    mesh = shape_mesh(shape, solid=True)
    return mesh.vertices[np.unique(mesh.triangles)]


def _radius(shape: Shape, axis: Array) -> float:
    """Return the extent of a shape from the axis, in [m]; exact for cylinders and spheres."""
    geometry, parts = shape.geometry, shape.rigid_parts()
    if isinstance(geometry, Cylinder | Sphere) and parts is not None:
        pose, scale = parts
        offset = float(np.linalg.norm(np.cross(pose.p, axis)))
        if isinstance(geometry, Sphere) and offset == 0.0:
            return float(geometry.radius * scale.max())
        tilt = float(np.linalg.norm(np.cross(pose.R[:, 1], axis)))
        size = float(geometry.radius * max(scale[0], scale[2]))
        if isinstance(geometry, Cylinder) and tilt <= PARALLEL and offset <= PARALLEL * size:
            return size
    vertices = _vertices(shape)
    radial = vertices - np.outer(vertices @ axis, axis)
    return float(np.linalg.norm(radial, axis=1).max(initial=0.0))
