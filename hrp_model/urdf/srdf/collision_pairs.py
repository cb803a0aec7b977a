"""Pairs of links that need no collision test, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType

from ...body import Body, JointType, Link, link_pair
from ...collision.overlap import overlap
from ...geometry import Mesh
from ...kinematics.postures import initial_poses
from ...shapes.tessellate import shape_mesh, transformed
from ..shapes import is_empty


def disabled_pairs(body: Body) -> Mapping[tuple[str, str], str]:
    """Return pairs of link names, in the order of ``Body.links``, with MoveIt's reason.

    * Adjacent: one is above the other with no collision shape between them, or both are fixed
      to the same link and cannot move relative to each other.
    * User: the model disables their collisions.
    * Default: they overlap in the model's initial posture.

    Links without collision shapes are left out. Unlike MoveIt's setup assistant, this does not
    sample random postures to find pairs that never collide.
    """
    shapes = {link.name: _collision_meshes(link) for link in body.links}
    solid = [link.name for link in body.links if shapes[link.name]]
    adjacent = _adjacent(body, frozenset(solid))
    rigid = _rigid_groups(body)
    placed = _placed(body, {name: shapes[name] for name in solid})
    reasons: dict[tuple[str, str], str] = {}
    for a, b in combinations(solid, 2):
        pair = link_pair(a, b)
        if pair in adjacent or rigid[a] == rigid[b]:
            reasons[a, b] = "Adjacent"
        elif pair in body.self_collision_disabled:
            reasons[a, b] = "User"
        elif overlap(placed[a], placed[b]):
            reasons[a, b] = "Default"
    return MappingProxyType(reasons)


def _collision_meshes(link: Link) -> list[Mesh]:
    return [shape_mesh(s, solid=True) for s in link.collision if not is_empty(s)]


def _placed(body: Body, shapes: Mapping[str, list[Mesh]]) -> dict[str, list[Mesh]]:
    """Return the meshes in world coordinates, in the initial posture."""
    poses = initial_poses(body)
    return {
        name: [transformed(mesh, poses[name].matrix()) for mesh in meshes]
        for name, meshes in shapes.items()
    }


def _adjacent(body: Body, solid: frozenset[str]) -> frozenset[frozenset[str]]:
    """Return the pairs of a solid link and the next solid one above it."""
    solid_above: dict[str, str | None] = {}
    pairs = set()
    for link in body.links:
        parent = None if link.joint.type is JointType.FREE else link.parent
        nearest = parent if parent is None or parent in solid else solid_above[parent]
        solid_above[link.name] = nearest
        if nearest is not None and link.name in solid:
            pairs.add(link_pair(link.name, nearest))
    return frozenset(pairs)


def _rigid_groups(body: Body) -> dict[str, str]:
    """Return, by link name, the topmost of the links that a link is rigidly fixed to."""
    top: dict[str, str] = {}
    for link in body.links:
        if link.parent is not None and link.joint.is_fixed:
            top[link.name] = top[link.parent]
        else:
            top[link.name] = link.name
    return top
