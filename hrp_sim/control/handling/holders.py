"""Holders take hold of bodies in their reach, by fixed joints, and let go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf, pi
from typing import NamedTuple

import numpy as np

from hrp_model import Link, Pose
from hrp_model.body import ExtraJointType
from hrp_model.devices import Attachment, HoldCondition, Holder
from hrp_model.diagnostics import number_text
from hrp_model.rigid import Array
from hrp_model.shapes.tessellate import shape_mesh

from ...engine.engine import Engine, PhysicsError
from ...engine.state import BodyJoint, ByName, SimulatedBody

_BLOCK = 10_000  # triangles at a time, so that large meshes need little memory
_PREFIX = "hold "


def grip_name(body: str, device: str) -> str:
    """Return the name of the joint by which a holder of a body holds something."""
    return f"{_PREFIX}{body}/{device}"


class GripError(PhysicsError):
    """A holder cannot take hold of anything; the message names the holder and why."""


class _Candidate(NamedTuple):
    distance: float
    body: str
    link: int


class Holders:
    """Joins bodies to the holders of other bodies.

    Which holder holds what is in the joints of the engine, and so in its snapshots.

    Args:
        engine: The physics.
        is_fixed: Returns whether the root of a body is fixed to the world.
    """

    def __init__(self, engine: Engine, is_fixed: Callable[[str], bool]) -> None:
        self._engine = engine
        self._is_fixed = is_fixed

    def held(self, body: str, device: str) -> BodyJoint | None:
        """Return the joint by which a holder holds a body, or None."""
        return self._engine.joints.get(grip_name(body, device))

    def hold(self, body: str, device: Holder, target: str | None = None) -> BodyJoint:
        """Take hold of the nearest link in reach that can move, as it is now.

        Args:
            body: Name of the body with the holder.
            device: The holder.
            target: Name of the only body to hold; None means that of the device, or any.

        Raises:
            GripError: It holds something already, or nothing is in reach, or another holder has
                what is.
            KeyError: There is no body named ``target``.
        """
        name, bodies = grip_name(body, device.name), self._engine.state.bodies
        where = f"'{body}/{device.name}'"
        if (joint := self.held(body, device.name)) is not None:
            raise GripError(f"{where} holds {_link_name(joint, bodies)} already; let go first")
        if target is not None:
            ByName("body", bodies)[target]
        elif device.condition is HoldCondition.NAME:
            target = device.target
        holder = bodies[body]
        link = holder.body.link_index(device.link)
        found = self._nearest(holder, link, device, target)
        for other in self._engine.joints.values():
            if _is_grip(other) and (other.bodies[1], other.links[1]) == found[1:]:
                holding = other.name.removeprefix(_PREFIX)
                raise GripError(
                    f"{where} cannot hold {_link_name(other, bodies)}: '{holding}' holds it"
                )
        X_WA, X_WB = _pose(holder, link), _pose(bodies[found.body], found.link)
        made = BodyJoint(
            name=name,
            type=ExtraJointType.FIXED,
            bodies=(body, found.body),
            links=(link, found.link),
            X_AJ=X_WA.inverse() @ X_WB,
        )
        self._engine.add_joint(made)
        return made

    def let_go(self, body: str, device: str) -> None:
        """Let go of what a holder holds, if anything."""
        if self.held(body, device) is not None:
            self._engine.remove_joint(grip_name(body, device))

    def _nearest(
        self, holder: SimulatedBody, link: int, device: Holder, target: str | None
    ) -> _Candidate:
        """Return what a holder on a link would hold."""
        where = f"'{holder.name}/{device.name}'"
        if device.condition is HoldCondition.COLLISION:
            touching = self._touching(holder.name, link)
            found = [c for c in self._candidates(holder, link, device, target) if c[1:] in touching]
            if not found:
                raise GripError(f"{where} holds nothing: no body that it fits touches its link")
            return min(found, key=lambda c: c.distance)
        nearest = min(
            self._candidates(holder, link, device, target),
            key=lambda c: c.distance,
            default=_Candidate(inf, "", -1),
        )
        if not nearest.distance <= device.max_distance:
            others = "no other body that it fits can move"
            if nearest.body:
                others = (
                    f"the nearest body '{nearest.body}' is {number_text(nearest.distance)} m away"
                )
            raise GripError(
                f"{where} holds nothing: {others}, its reach is {device.max_distance:g} m"
            )
        return nearest

    def _candidates(
        self, holder: SimulatedBody, link: int, device: Holder, target: str | None
    ) -> Iterator[_Candidate]:
        """Yield every link that a holder may hold, in reach or not."""
        X_WS = _pose(holder, link) @ device.X_LS
        for name, simulated in self._engine.state.bodies.items():
            if name == holder.name or target not in (None, name):
                continue
            for i in _movable(simulated, self._is_fixed(name)):
                if (distance := _distance(simulated, i, device, X_WS.p)) < inf:
                    yield _Candidate(distance, name, i)

    def _touching(self, body: str, link: int) -> set[tuple[str, int]]:
        """Return the bodies and links that touched a link in the last step."""
        points = self._engine.contact_points()
        found = set()
        for bodies, links in zip(points.bodies, points.links.tolist(), strict=True):
            for own in (0, 1):
                if (bodies[own], links[own]) == (body, link):
                    found.add((bodies[1 - own], links[1 - own]))
        return found


def _link_name(joint: BodyJoint, bodies: Mapping[str, SimulatedBody]) -> str:
    """Return the link that a holder holds, for messages."""
    return f"'{joint.bodies[1]}/{bodies[joint.bodies[1]].body.links[joint.links[1]].name}'"


def _is_grip(joint: BodyJoint) -> bool:
    return joint.name.startswith(_PREFIX)


def _pose(simulated: SimulatedBody, link: int) -> Pose:
    return Pose(simulated.motion.R[link], simulated.motion.p[link])


def _movable(simulated: SimulatedBody, is_fixed: bool) -> list[int]:
    """Return the links of a body that can move."""
    moves: list[bool] = []
    body = simulated.body
    for link, parent in zip(body.links, body.parent_indices, strict=True):
        moves.append(not is_fixed if parent < 0 else moves[parent] or not link.joint.is_fixed)
    return [i for i, can_move in enumerate(moves) if can_move]


def _distance(simulated: SimulatedBody, link: int, device: Holder, p_W: Array) -> float:
    """Return how far a holder at a point is from a link; inf if it does not fit it.

    It is the distance to the nearest of its shapes, its fitting attachments, and, of the root
    link, its origin. A link all of whose attachments are for other holders does not fit.
    """
    body = simulated.body
    X_WL = _pose(simulated, link)
    p_L = X_WL.R.T @ (p_W - X_WL.p)
    own = [d for d in body.devices if isinstance(d, Attachment) and d.link == body.links[link].name]
    fitting = [d for d in own if not device.categories or d.category in device.categories]
    if own and not fitting:
        return inf
    points = [d.X_LS.p for d in fitting] + ([np.zeros(3)] if link == 0 else [])
    to_points = [float(np.linalg.norm(p_L - point)) for point in points]
    return min([distance_to_link(body.links[link], p_L), *to_points])


def distance_to_link(link: Link, point: Array) -> float:
    """Return the distance to the nearest collision shape of a link, in [m]; 0 inside, inf without.

    Args:
        link: The link.
        point: In the link's frame, in [m], shape (3,).
    """
    nearest = inf
    for shape in link.collision:
        mesh = shape_mesh(shape, solid=True)
        if len(mesh.triangles) == 0:
            continue
        angle = 0.0
        for start in range(0, len(mesh.triangles), _BLOCK):
            corners = mesh.vertices[mesh.triangles[start : start + _BLOCK]] - point
            angle += _solid_angle(corners)
            nearest = min(nearest, _distance_to_triangles(corners))
        if abs(angle) > 2.0 * pi:  # 4 pi inside a closed surface, 0 outside
            return 0.0
    return nearest


def _distance_to_triangles(corners: Array) -> float:
    """Return the distance from the origin to the nearest of n triangles, shape (n, 3, 3).

    The nearest point of a triangle is the projection of the origin into its plane, if that is
    inside, else a point on an edge.
    """
    start, along = corners, np.roll(corners, -1, axis=1) - corners
    squared = np.einsum("nij,nij->ni", along, along)
    share = -np.einsum("nij,nij->ni", start, along) / np.where(squared > 0.0, squared, 1.0)
    on_edges = start + np.clip(share, 0.0, 1.0)[..., None] * along
    nearest = float(np.linalg.norm(on_edges, axis=2).min())
    normal = np.cross(along[:, 0], along[:, 1])
    length = np.linalg.norm(normal, axis=1)
    sides = np.einsum("nij,nj->ni", np.cross(along, -start), normal)
    inside = (sides >= 0.0).all(axis=1) & (length > 0.0)
    if inside.any():
        heights = np.einsum("ni,ni->n", corners[inside, 0], normal[inside]) / length[inside]
        nearest = min(nearest, float(np.abs(heights).min()))
    return nearest


def _solid_angle(corners: Array) -> float:
    """Return the solid angle of triangles seen from the origin, in [sr]."""
    a, b, c = corners.swapaxes(0, 1)
    lengths = np.linalg.norm(corners, axis=2)
    numerator = np.einsum("ni,ni->n", a, np.cross(b, c))
    denominator = (
        lengths.prod(axis=1)
        + np.einsum("ni,ni->n", a, b) * lengths[:, 2]
        + np.einsum("ni,ni->n", b, c) * lengths[:, 0]
        + np.einsum("ni,ni->n", c, a) * lengths[:, 1]
    )
    return float(2.0 * np.arctan2(numerator, denominator).sum())
