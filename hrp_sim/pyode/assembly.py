"""A body of PyODE: the same objects in the same order as ``ode/_core_build.c`` makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import ode

from hrp_model.rigid import Array

from ..articulation import STATIC, Articulation, GeomKind, IntArray, JointKind, LoopKind
from ..state import BodyMotion, JointDrive
from .binding import HI_STOP, LO_STOP, Indices, state_addresses
from .vectors import Vector, from_group, into_group, rotate

TURN = 6.283185307179586476925


@dataclass(slots=True, eq=False)
class Joint:
    """A joint of the tree and the motor that drives it.

    Attributes:
        axis, anchor: In the child's frame.
        parent_anchor: In the parent's frame, or in W.
    """

    kind: JointKind
    link: int
    coordinate: int
    child: int
    joint: Any
    motor: Any
    bodies: tuple[Any, Any]
    axis: Vector
    anchor: Vector
    parent_anchor: Vector
    position: tuple[float, float]
    effort: tuple[float, float]
    rotor_inertia: float
    watched: bool
    row_is_on: list[bool] = field(default_factory=lambda: [False, False])

    def set_stops(self, turns: int) -> None:
        """Set the stops for the present turn: ODE compares them with an angle within +-pi."""
        lower, upper = self.position
        if self.kind == JointKind.HINGE:
            lower, upper = lower - TURN * turns, upper - TURN * turns
        self.joint.setParam(LO_STOP, lower)
        self.joint.setParam(HI_STOP, upper)


@dataclass(slots=True, eq=False)
class Geom:
    """A shape: PyODE's, the link that carries it, its friction, and how far it reaches."""

    geom: Any
    link: int
    group: int
    friction: float
    reach: float


@dataclass(slots=True, eq=False)
class Assembly:
    """A body in the world.

    Attributes:
        addresses: Where the state of each group lies, shape (groups, 5).
        contacts: A ``Contact`` for every pair of links, shape (links, links).
        start: State of the groups at the start, rows as in ``motion.GROUP_ROWS``.
        now: q and dq of the driven joints, shape (2, driven).
        turns: Whole turns of the driven joints beyond ODE's angle.
        limited: Whether their efforts are bounded by rows of their own.
        coordinates: Where they are in the joint vectors.
        good_gains: Those that were found good last.
    """

    number: int
    articulation: Articulation
    motion: BodyMotion
    drive: JointDrive
    groups: list[Any]
    addresses: Indices
    contacts: IntArray
    joints: list[Joint] = field(default_factory=list)
    loops: list[Any] = field(default_factory=list)
    moving: list[Geom] = field(default_factory=list)
    standing: list[Geom] = field(default_factory=list)
    start: Array = field(default_factory=lambda: np.zeros((0, 0)))
    now: Array = field(default_factory=lambda: np.zeros((2, 0)))
    turns: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    limited: Array = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    coordinates: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    good_gains: bytes = b""

    @property
    def driven(self) -> list[Joint]:
        """The joints that move."""
        return [j for j in self.joints if j.kind != JointKind.FIXED]

    def group_of(self, link: int) -> Any:
        """Return the group that carries a link, or the environment."""
        group = int(self.articulation.links.group[link])
        return ode.environment if group == STATIC else self.groups[group]

    def destroy(self) -> None:
        """Take everything out of the world: PyODE destroys what nobody refers to."""
        for geom in (*self.moving, *self.standing):
            geom.geom.setBody(None)
        for owned in (self.moving, self.standing, self.loops, self.joints, self.groups):
            owned.clear()


def assemble(
    world: Any,
    number: int,
    articulation: Articulation,
    motion: BodyMotion,
    drive: JointDrive,
    *,
    joint_limits: bool,
) -> Assembly:
    """Make a body, in its starting posture."""
    flat = articulation
    groups = [_make_group(world, flat, g) for g in range(len(flat.groups.mass))]
    addresses = np.array([state_addresses(g) for g in groups], dtype=np.int64).reshape(-1, 5)
    made = Assembly(
        number, flat, motion, drive, groups, addresses, np.array(flat.contacts, dtype=np.int32)
    )
    for j in range(len(flat.joints.kind)):
        made.joints.append(_make_joint(world, made, j, joint_limits=joint_limits))
    for g, group in enumerate(groups):
        _place(group, flat.groups.p[g], flat.groups.R[g])
        group.setLinearVel(flat.groups.v[g].tolist())
        group.setAngularVel(flat.groups.w[g].tolist())
    made.loops.extend(_make_loop(world, made, i) for i in range(len(flat.loops.kind)))
    for k in range(len(flat.geoms.kind)):
        geom = _make_geom(made, k)
        (made.standing if geom.group == STATIC else made.moving).append(geom)
    n = len(made.driven)
    made.now = np.zeros((2, n))
    made.coordinates = np.array([j.coordinate for j in made.driven], dtype=np.int64)
    made.turns, made.limited = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    return made


def _place(thing: Any, p: Array, R: Array) -> None:
    thing.setPosition(p.tolist())
    thing.setRotation(R.ravel().tolist())


def _make_group(world: Any, flat: Articulation, g: int) -> Any:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = flat.groups.inertia[g].tolist()
    mass = ode.Mass()
    mass.setParameters(float(flat.groups.mass[g]), 0.0, 0.0, 0.0, xx, yy, zz, xy, xz, yz)
    group = ode.Body(world)
    group.setMass(mass)
    _place(group, flat.groups.zero_p[g], flat.groups.zero_R[g])
    return group


def _make_joint(world: Any, body: Assembly, j: int, *, joint_limits: bool) -> Joint:
    """Make a joint and its motor; the groups stand where every joint is at zero."""
    flat = body.articulation.joints
    kind = JointKind(int(flat.kind[j]))
    link, child = int(flat.link[j]), int(flat.child[j])
    anchor, axis = flat.anchor[j].tolist(), flat.axis[j].tolist()
    bodies = body.groups[child], _group(body, int(flat.parent[j]))
    joint = _MAKERS[kind](world, bodies, anchor, axis)
    motor = None if kind == JointKind.FIXED else _make_motor(world, kind, bodies, axis)
    watched = bool(body.articulation.links.watched[link])
    for made in (joint, motor) if watched else ():
        if made is not None:
            made.setFeedback(True)
    limits = float(flat.lower[j]), float(flat.upper[j])
    return Joint(
        kind=kind,
        link=link,
        coordinate=int(flat.coordinate[j]),
        child=child,
        joint=joint,
        motor=motor,
        bodies=bodies,
        axis=into_group(bodies[0], axis, is_point=False),
        anchor=into_group(bodies[0], anchor, is_point=True),
        parent_anchor=into_group(bodies[1], anchor, is_point=True),
        position=limits if joint_limits else (-ode.Infinity, ode.Infinity),
        effort=(float(flat.effort_lower[j]), float(flat.effort_upper[j])),
        rotor_inertia=float(flat.rotor_inertia[j]),
        watched=watched,
    )


def _group(body: Assembly, group: int) -> Any:
    return ode.environment if group == STATIC else body.groups[group]


def _make_hinge(world: Any, bodies: tuple[Any, Any], anchor: Vector, axis: Vector) -> Any:
    joint = ode.HingeJoint(world)
    joint.attach(*bodies)
    joint.setAnchor(anchor)
    joint.setAxis(axis)
    return joint


def _make_slider(world: Any, bodies: tuple[Any, Any], _anchor: Vector, axis: Vector) -> Any:
    joint = ode.SliderJoint(world)
    joint.attach(*bodies)
    joint.setAxis(axis)
    return joint


def _make_fixed(world: Any, bodies: tuple[Any, Any], _anchor: Vector, _axis: Vector) -> Any:
    joint = ode.FixedJoint(world)
    joint.attach(*bodies)
    joint.setFixed()
    return joint


def _make_ball(world: Any, bodies: tuple[Any, Any], anchor: Vector, _axis: Vector) -> Any:
    joint = ode.BallJoint(world)
    joint.attach(*bodies)
    joint.setAnchor(anchor)
    return joint


_MAKERS = {
    JointKind.FIXED: _make_fixed,
    JointKind.HINGE: _make_hinge,
    JointKind.SLIDER: _make_slider,
}
LOOP_MAKERS = {
    LoopKind.BALL: _make_ball,
    LoopKind.HINGE: _make_hinge,
    LoopKind.FIXED: _make_fixed,
}


def _make_motor(world: Any, kind: JointKind, bodies: tuple[Any, Any], axis: Sequence[float]) -> Any:
    """Make the rows of a drive: both along the axis, idle until an effort is asked for."""
    motor = ode.AMotor(world) if kind == JointKind.HINGE else ode.LMotor(world)
    motor.attach(*bodies)
    motor.setNumAxes(2)
    for row in range(2):
        motor.setAxis(row, 1, axis)
    return motor


def _make_loop(world: Any, body: Assembly, i: int) -> Any:
    """Make an extra joint in the starting posture; see ``loops_create`` in C."""
    flat = body.articulation.loops
    a, b = _group(body, int(flat.a[i])), _group(body, int(flat.b[i]))
    axis = tuple(flat.axis[i].tolist())
    if a is not ode.environment:
        axis = rotate(a.getRotation(), axis)
    p_a, p_b = from_group(a, flat.p_a[i].tolist()), from_group(b, flat.p_b[i].tolist())
    moved, meet, leave = (a, p_b, p_a) if b is ode.environment else (b, p_a, p_b)
    back = moved.getPosition()
    moved.setPosition([back[k] + meet[k] - leave[k] for k in range(3)])
    joint = LOOP_MAKERS[LoopKind(int(flat.kind[i]))](world, (a, b), meet, axis)
    moved.setPosition(back)
    return joint


def _make_geom(body: Assembly, k: int) -> Geom:
    flat = body.articulation.geoms
    kind, link = GeomKind(int(flat.kind[k])), int(flat.link[k])
    group = int(body.articulation.links.group[link])
    a, b, c = size = flat.size[k].tolist()
    p, R = flat.p[k].tolist(), flat.R[k].ravel().tolist()
    if kind == GeomKind.BOX:
        geom, radius = ode.GeomBox(None, size), float(np.linalg.norm([a, b, c])) / 2.0
    elif kind == GeomKind.SPHERE:
        geom, radius = ode.GeomSphere(None, a), a
    elif kind == GeomKind.CYLINDER:
        geom, radius = ode.GeomCylinder(None, a, b), a + b / 2.0
    else:
        geom, radius = ode.GeomCapsule(None, a, b), a + b / 2.0
    if group == STATIC:
        geom.setPosition(p)
        geom.setRotation(R)
    else:
        geom.setBody(body.groups[group])
        geom.setOffsetPosition(p)
        geom.setOffsetRotation(R)
    reach = float(np.linalg.norm(flat.p[k])) + radius
    return Geom(geom, link, group, float(flat.friction[k]), reach)
