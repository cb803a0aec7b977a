"""Pairs of links whose collisions MoveIt need not test, and collisions in single postures.

Self-collisions are tested by Coal, the successor of FCL, with the shapes that MoveIt gives to FCL:
solid primitives of URDF, and the surfaces of meshes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from itertools import combinations
from math import comb, pi
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...body import Body, JointType, Link, link_pair
from ...diagnostics import MissingLibraryError
from ...frames import initial_poses
from ...geometry import Y_TO_Z, Box, Cylinder, Geometry, Mesh, Shape, Sphere
from ...kinematics.loops import mimic_joints
from ...kinematics.state import BodyState
from ...late_dataclass import dataclass
from ...rigid import Array, Pose
from ...shapes.measure import BoundingBox, bounding_box, is_empty, overlap, union
from ...shapes.tessellate import shape_mesh, transformed

Pair: TypeAlias = tuple[str, str]
Progress: TypeAlias = Callable[[int, int], None]
# Numbers of postures, as in MoveIt's Setup Assistant: rounds of 200, in which a pair that collides
# in more than 95 % counts as always colliding, until a round finds none; then 10,000.
ROUND, SAMPLES = 200, 10_000
# 400 links; more would take minutes, and MoveIt reads all in one text.
MAX_PAIRS = 80_000
_ALWAYS = 0.95
OFTEN = 0.5
_BATCH = 250  # postures placed at once
_MAX_TESTS = 200_000  # of postures and pairs at once
_UNLIMITED = pi  # of joints without limits, in [rad] or [m]
_SEED = 1


def disabled_pairs(body: Body) -> Mapping[Pair, str]:
    """Return pairs of link names, in the order of ``Body.links``, with MoveIt's reason.

    * Adjacent: no link with collision shapes is between them, or both are fixed to the same link
      and cannot move relative to each other.
    * User: the model disables their collisions.
    * Default: they overlap in the model's initial posture.

    Links without collision shapes are left out. ``sampled_pairs`` also finds pairs that always or
    never collide, but needs Coal.
    """
    shapes = {link.name: _collision_meshes(link) for link in body.links}
    solid = [link.name for link in body.links if shapes[link.name]]
    known = _known_pairs(body, solid)
    rigid = body.rigid_tops
    poses = initial_poses(body)
    placed = {
        name: [transformed(mesh, poses[name].matrix()) for mesh in shapes[name]] for name in solid
    }
    reasons: dict[Pair, str] = {}
    for a, b in combinations(solid, 2):
        if (a, b) in known:
            reasons[a, b] = known[a, b]
        elif rigid[a] == rigid[b]:
            reasons[a, b] = "Adjacent"
        elif overlap(placed[a], placed[b]):
            reasons[a, b] = "Default"
    return MappingProxyType(reasons)


def _known_pairs(body: Body, solid: Sequence[str]) -> dict[Pair, str]:
    """Return the pairs that no posture changes: adjacent ones, and those that the model names."""
    adjacent = _adjacent(body, frozenset(solid))
    reasons: dict[Pair, str] = {}
    for a, b in combinations(solid, 2):
        pair = link_pair(a, b)
        if pair in adjacent:
            reasons[a, b] = "Adjacent"
        elif pair in body.self_collision_disabled:
            reasons[a, b] = "User"
    return reasons


def _collision_meshes(link: Link) -> list[Mesh]:
    return [shape_mesh(s, solid=True) for s in link.collision if not is_empty(s)]


def _adjacent(body: Body, solid: frozenset[str]) -> frozenset[frozenset[str]]:
    """Return the pairs of solid links connected by a joint, or by links without shapes.

    All links around a link without shapes are adjacent to each other, as in the Setup Assistant.
    """
    hubs: list[list[str]] = []  # of solid links around connected links without shapes
    hub: dict[str, list[str]] = {}  # by link without shapes
    for link in body.links:
        parent = None if link.joint.type is JointType.FREE else link.parent
        if link.name in solid:
            if parent is not None:
                hub[parent].append(link.name) if parent in hub else hubs.append([parent, link.name])
        elif parent in hub:
            hub[link.name] = hub[parent]
        else:
            hub[link.name] = [parent] if parent is not None else []
            hubs.append(hub[link.name])
    return frozenset(link_pair(a, b) for around in hubs for a, b in combinations(around, 2))


class Postures:
    """Joint positions of a body whose joints follow others, as MoveIt draws and completes them.

    Args:
        body: The robot.
    """

    def __init__(self, body: Body) -> None:
        self._links = body.moving_links
        limits = np.array([link.joint.position_limits for link in self._links]).reshape(-1, 2)
        self._limits = lower, upper = limits.T
        self._range = (
            np.where(np.isfinite(lower), lower, np.minimum(upper, -_UNLIMITED)),
            np.where(np.isfinite(upper), upper, np.maximum(lower, _UNLIMITED)),
        )
        index = {link.name: i for i, link in enumerate(self._links)}
        self._followers = [
            (index[name], index[mimic.link], mimic) for name, mimic in mimic_joints(body).items()
        ]

    def random(self, count: int, generator: np.random.Generator) -> Array:
        """Return postures evenly distributed within the limits, shape (count, n)."""
        return self.completed(generator.uniform(*self._range, (count, len(self._links))))

    def default(self) -> Array:
        """Return MoveIt's default posture: zero, or the middle of limits that exclude it."""
        lower, upper = self._range
        allows_zero = (lower <= 0.0) & (upper >= 0.0)
        return self.completed(np.where(allows_zero, 0.0, (lower + upper) / 2.0))

    def clamped(self, q: Array) -> Array:
        """Return a posture within the limits."""
        return self.completed(np.clip(q, *self._limits))

    def completed(self, q: Array) -> Array:
        """Return postures in which joints follow those that lead them."""
        q = np.array(q, dtype=float)
        for follower, leader, mimic in self._followers:
            q[..., follower] = mimic.multiplier * q[..., leader] + mimic.offset
        return q


class SelfCollisions:
    """Tests of a body for self-collisions.

    Args:
        body: The robot, with the collision shapes of its URDF.

    Attributes:
        solid: Names of the links with collision shapes, in the order of ``Body.links``.
        pairs: All pairs of these.

    Raises:
        MissingLibraryError: Coal is not installed.
    """

    def __init__(self, body: Body) -> None:
        self._coal = _coal()
        parts = {link.name: list(self._parts(link)) for link in body.links}
        boxes = {name: union(box for *_, box in found) for name, found in parts.items()}
        self._state = BodyState(body, fix_root=True)
        self.solid = [name for name, box in boxes.items() if box is not None]
        self.pairs = list(combinations(self.solid, 2))
        self._index = {pair: i for i, pair in enumerate(self.pairs)}
        self._links = [body.link_index(name) for name in self.solid]
        used = [box for box in boxes.values() if box is not None]
        self._center = np.array([box.center for box in used]).reshape(-1, 3)
        self._half = np.array([box.half for box in used]).reshape(-1, 3)
        self._ends = np.array(list(combinations(range(len(self.solid)), 2))).reshape(-1, 2)
        self._shapes = [[(shape, pose) for shape, pose, _ in parts[name]] for name in self.solid]
        self._tests: dict[int, list[tuple[int, int, Any]]] = {}
        self._request, self._result = self._coal.CollisionRequest(), self._coal.CollisionResult()

    def in_postures(self, q: Array, pairs: Iterable[Pair]) -> dict[Pair, int]:
        """Return in how many postures each pair collides; those in none are left out.

        Args:
            q: Joint positions, shape (m, n).
            pairs: The pairs to test.
        """
        tested = np.array(sorted(self._index[pair] for pair in pairs), dtype=np.intp)
        counts: Counter[Pair] = Counter()
        step = max(1, min(_BATCH, _MAX_TESTS // max(1, len(tested))))
        for start in range(0, len(q), step):
            for pair in self._colliding(q[start : start + step], tested):
                counts[self.pairs[pair]] += 1
        return dict(counts)

    def _colliding(self, q: Array, pairs: NDArray[np.intp]) -> Iterator[int]:
        """Yield the index of a pair for each posture in which it collides."""
        if len(pairs) == 0:
            return
        self._state.q = q
        self._state.calc_forward_kinematics()
        p, R = self._state.p[:, self._links], self._state.R[:, self._links]
        for posture, pair in self._near(p, R, pairs):
            ends = self._ends[pair]
            if self._touch(pair, R[posture, ends], p[posture, ends]):
                yield pair

    def _near(self, p: Array, R: Array, pairs: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Return the postures and pairs in which bounding spheres overlap, and bounding boxes may.

        Separating axes are sought among those of both boxes.
        """
        a, b = self._ends[pairs].T
        center = p + np.einsum("mkij,kj->mki", R, self._center)
        radius = np.linalg.norm(self._half, axis=1)
        distance = np.linalg.norm(center[:, b] - center[:, a], axis=2)
        posture, k = np.nonzero(distance <= radius[a] + radius[b])
        a, b = a[k], b[k]
        between = (center[posture, b] - center[posture, a])[..., None]
        R_A, R_B = (np.swapaxes(R[posture, end], 1, 2) for end in (a, b))  # rows are axes
        turn = np.abs(R_A @ np.swapaxes(R_B, 1, 2))
        half_a, half_b = self._half[a, :, None], self._half[b, :, None]
        in_a = np.abs(R_A @ between) <= half_a + turn @ half_b
        in_b = np.abs(R_B @ between) <= half_b + np.swapaxes(turn, 1, 2) @ half_a
        near = (in_a & in_b).all(axis=(1, 2))
        return list(zip(posture[near].tolist(), pairs[k[near]].tolist(), strict=True))

    def _touch(self, pair: int, R: Array, p: Array) -> bool:
        """Return whether any shapes of two links collide.

        Args:
            pair: The links.
            R: Their rotations in the world, shape (2, 3, 3).
            p: Their positions, shape (2, 3).
        """
        if pair not in self._tests:
            first, second = (self._shapes[end] for end in self._ends[pair])
            self._tests[pair] = [
                (x, y, self._coal.ComputeCollision(shape, other))
                for x, (shape, _) in enumerate(first)
                for y, (other, _) in enumerate(second)
            ]
        place = self._coal.Transform3s
        at_a, at_b = (
            [place(R_WL @ X.R, R_WL @ X.p + p_WL) for _, X in self._shapes[end]]
            for end, R_WL, p_WL in zip(self._ends[pair], R, p, strict=True)
        )
        for x, y, test in self._tests[pair]:
            self._result.clear()
            if test(at_a[x], at_b[y], self._request, self._result):
                return True
        return False

    def _parts(self, link: Link) -> Iterator[tuple[Any, Pose, BoundingBox]]:
        """Yield the shapes of a link for Coal, with their poses and bounding boxes in it."""
        meshes: list[Mesh] = []
        for shape in link.collision:
            if is_empty(shape):
                continue
            mesh = shape_mesh(shape, solid=True)
            box = bounding_box(mesh)
            made = self._primitive(shape)
            if made is None or box is None:
                meshes.append(mesh)
            else:
                yield *made, box
        if meshes and (box := union(filter(None, map(bounding_box, meshes)))) is not None:
            yield self._surface(meshes), Pose(), box

    def _primitive(self, shape: Shape) -> tuple[Any, Pose] | None:
        """Return a primitive that URDF has, and its pose; None for other shapes."""
        parts = shape.rigid_parts()
        if parts is None:
            return None
        pose, scale = parts
        geometry: Geometry = shape.geometry
        if isinstance(geometry, Box):
            return self._coal.Box(*(geometry.size * np.abs(scale)).tolist()), pose
        x, y, z = np.abs(scale).tolist()
        if isinstance(geometry, Sphere) and np.allclose((x, y), z):
            return self._coal.Sphere(geometry.radius * x), pose
        if isinstance(geometry, Cylinder) and np.isclose(x, z):
            solid = self._coal.Cylinder(geometry.radius * x, geometry.height * y)
            return solid, pose @ Pose(Y_TO_Z)
        return None

    def _surface(self, meshes: Sequence[Mesh]) -> Any:
        """Return the triangles of meshes as a tree of boxes."""
        model = self._coal.BVHModelOBBRSS()
        model.beginModel(0, 0)
        for mesh in meshes:
            vertices, triangles = self._coal.StdVec_Vec3s(), self._coal.StdVec_Triangle()
            vertices.extend(list(mesh.vertices))
            triangles.extend([self._coal.Triangle(*corners) for corners in mesh.triangles.tolist()])
            model.addSubModel(vertices, triangles)
        model.endModel()
        model.computeLocalAABB()
        return model


def _coal() -> Any:
    try:
        return import_module("coal")
    except ImportError:
        message = "collisions between links need Coal: pip install 'hrp_ros[moveit]'"
        raise MissingLibraryError(message) from None


@dataclass(frozen=True, eq=False)
class PairStudy:
    """What sampled postures tell about the pairs of a body.

    Attributes:
        reasons: Why MoveIt need not test a pair, in the order of ``Body.links``.
        often: In how many of the first ``ROUND`` random postures a pair collides, if in more than
            half, for pairs without a reason or with the reason Always.
        tested: The pairs that MoveIt tests.
        collisions: The tests.
        postures: The joint positions.
    """

    reasons: Mapping[Pair, str]
    often: Mapping[Pair, int]
    collisions: SelfCollisions
    postures: Postures
    tested: tuple[Pair, ...] = field(init=False)

    def __post_init__(self) -> None:
        tested = tuple(pair for pair in self.collisions.pairs if pair not in self.reasons)
        object.__setattr__(self, "tested", tested)

    def colliding(self, q: Array) -> list[Pair]:
        """Return the pairs that MoveIt tests and that collide in a posture, shape (n,)."""
        return list(self.collisions.in_postures(q[None], self.tested))


def sampled_pairs(
    body: Body, samples: int = SAMPLES, progress: Progress | None = None
) -> PairStudy:
    """Return the pairs that need no test, by the algorithm of MoveIt's Setup Assistant.

    * Adjacent, User: as for ``disabled_pairs``, but a rigid connection does not count.
    * Default: they collide in MoveIt's default posture.
    * Always: they collide in more than 95 % of 200 random postures. Such rounds are repeated until
      one finds none.
    * Never: they collide in none of these postures, nor of ``samples`` further ones.

    Args:
        body: The robot, with the collision shapes of its URDF.
        samples: Number of further postures.
        progress: Called with the number of postures tested and their total number.

    Raises:
        ValueError: The body has more than ``MAX_PAIRS`` pairs of links.
        MissingLibraryError: Coal is not installed.
    """
    solid = sum(not all(map(is_empty, link.collision)) for link in body.links)
    if comb(solid, 2) > MAX_PAIRS:
        raise ValueError(
            f"{solid} links with collision shapes make {comb(solid, 2)} pairs to test for "
            f"collisions, which are more than {MAX_PAIRS}: leave out shapes of some"
        )
    collisions, postures = SelfCollisions(body), Postures(body)
    generator = np.random.default_rng(_SEED)
    reasons = _known_pairs(body, collisions.solid)

    def open_pairs() -> list[Pair]:
        return [pair for pair in collisions.pairs if pair not in reasons]

    default = collisions.in_postures(postures.default()[None], open_pairs())
    reasons |= dict.fromkeys(default, "Default")
    first: dict[Pair, int] | None = None
    seen: set[Pair] = set()
    while True:
        counts = collisions.in_postures(postures.random(ROUND, generator), open_pairs())
        first = counts if first is None else first
        seen |= counts.keys()
        always = [pair for pair, count in counts.items() if count > _ALWAYS * ROUND]
        if not always:
            break
        reasons |= dict.fromkeys(always, "Always")
    for start in range(0, samples, _BATCH):
        unseen = [pair for pair in open_pairs() if pair not in seen]
        q = postures.random(min(_BATCH, samples - start), generator)
        seen |= collisions.in_postures(q, unseen).keys()
        if progress is not None:
            progress(min(start + _BATCH, samples), samples)
    reasons |= dict.fromkeys((pair for pair in open_pairs() if pair not in seen), "Never")
    ordered = {pair: reasons[pair] for pair in collisions.pairs if pair in reasons}
    often = {pair: count for pair, count in first.items() if count > OFTEN * ROUND}
    return PairStudy(MappingProxyType(ordered), MappingProxyType(often), collisions, postures)
