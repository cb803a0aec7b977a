"""A body of PyODE: the same objects in the same order as ``ode/_core_build.c`` makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import ode
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..articulation.articulation import STATIC, Articulation, GeomKind, IntArray, JointKind, Links
from ..physics.state import BodyMotion, ExternalWrench, JointDrive
from .binding import HI_STOP, LO_STOP, Indices, identify, state_addresses, tell_feedback
from .joint_makers import MAKERS, make_motor
from .loops import make_loop
from .vectors import Vector, into_group

TURN = 6.283185307179586476925


@dataclass(slots=True, eq=False)
class Joint:
    """A joint of the tree and the motor that drives it.

    Attributes:
        axis, anchor: In the child's frame.
        parent_anchor: In the parent's frame, or in W.
        weighed: Whether the motor's force tells the effort.
        feedback: What ODE says that joint and motor exert, shape (2, 4, 4): force and torque on
            the child, then on the parent, three numbers each and one that is idle.
    """

    kind: JointKind
    link: int
    coordinate: int
    child: int
    parent: int
    joint: Any
    motor: Any
    bodies: tuple[Any, Any]
    axis: Vector
    anchor: Vector
    parent_anchor: Vector
    position: tuple[float, float]
    effort: tuple[float, float]
    rotor_inertia: float
    damping: float
    friction: float
    watched: bool
    weighed: bool
    feedback: Array
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
    """A shape.

    Attributes:
        geom: PyODE's.
        is_box: Whether it is a box.
        row: Its place in the Articulation.
        link, group: Those that carry it.
        material: As in ``Geoms``.
        reach: How far it extends from the group's origin, in [m].
    """

    geom: Any
    is_box: bool
    row: int
    link: int
    group: int
    material: int
    reach: float


@dataclass(frozen=True, slots=True)
class Rules:
    """What the world's settings say of joints.

    Attributes:
        joint_limits: Whether joints have their limits.
        weigh: Whether efforts follow from the forces of motors, where these tell them.
    """

    joint_limits: bool
    weigh: bool


@dataclass(slots=True, eq=False)
class Assembly:
    """A body in the world.

    Attributes:
        articulation: What it was made of.
        links: The links; those that cannot move are where they are now.
        addresses: Where the state of each group lies, shape (groups, 5).
        contacts: A ``Contact`` for every pair of links, shape (links, links).
        rules: What the world's settings say of joints.
        first: State of the groups at the start, rows as in ``motion.GROUP_ROWS``.
        now: q and dq of the driven joints, shape (2, driven).
        turns: Whole turns of the driven joints beyond ODE's angle.
        limited: Whether their efforts are bounded by rows of their own.
        coordinates: Where they are in the joint vectors.
    """

    number: int
    articulation: Articulation
    motion: BodyMotion
    drive: JointDrive
    wrench: ExternalWrench
    links: Links
    groups: list[Any]
    addresses: Indices
    contacts: IntArray
    rules: Rules
    joints: list[Joint] = field(default_factory=list)
    loops: list[Any] = field(default_factory=list)
    moving: list[Geom] = field(default_factory=list)
    standing: list[Geom] = field(default_factory=list)
    first: Array = field(default_factory=lambda: np.zeros((0, 0)))
    now: Array = field(default_factory=lambda: np.zeros((2, 0)))
    turns: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    limited: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    coordinates: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def driven(self) -> list[Joint]:
        """The joints that move."""
        return [j for j in self.joints if j.kind != JointKind.FIXED]

    def group_of(self, link: int) -> Any:
        """Return the group that carries a link, or the environment."""
        group = int(self.links.group[link])
        return ode.environment if group == STATIC else self.groups[group]

    def stands(self, group: int) -> bool:
        """Tell whether a group stands still: fixed joints, which are watched, tie it to W."""
        for joint in reversed(self.joints):  # parents come before their children
            if joint.child == group and joint.kind == JointKind.FIXED:
                group = joint.parent
        return group == STATIC

    def start(self, articulation: Articulation) -> None:
        """Put the groups to where an articulation starts, as near as PyODE's setters do."""
        flat = articulation.groups
        for g, group in enumerate(self.groups):
            _place(group, flat.p[g], flat.R[g])
            group.setLinearVel(flat.v[g].tolist())
            group.setAngularVel(flat.w[g].tolist())

    def join(self, world: Any, articulation: Articulation) -> None:
        """Make the joints, instead of those there are, and put the groups to their starts."""
        self.loops.clear()
        self.joints.clear()
        for g, group in enumerate(self.groups):
            _place(group, articulation.groups.zero_p[g], articulation.groups.zero_R[g])
        for j in range(len(articulation.joints.kind)):
            self.joints.append(_make_joint(world, self, articulation, j))
        n = len(self.driven)
        self.now = np.zeros((2, n))
        self.turns, self.limited = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
        self.coordinates = np.array([j.coordinate for j in self.driven], dtype=np.int64)
        self.start(articulation)
        loops = articulation.loops
        for i, (a, b) in enumerate(zip(loops.a.tolist(), loops.b.tolist(), strict=True)):
            ends = _group(self, a), _group(self, b)
            self.loops.append(make_loop(world, loops, i, *ends))

    def rebase(self, world: Any, articulation: Articulation) -> None:
        """Stand the links that cannot move elsewhere, and put the body to its start there."""
        self.links = articulation.links
        self.join(world, articulation)
        for geom in self.standing:
            if geom.group == STATIC:
                _place(geom.geom, articulation.geoms.p[geom.row], articulation.geoms.R[geom.row])

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
    arrays: tuple[BodyMotion, JointDrive, ExternalWrench],
    rules: Rules,
) -> Assembly:
    """Make a body, in its starting posture."""
    flat = articulation
    groups = [_make_group(world, flat, g) for g in range(len(flat.groups.mass))]
    addresses = np.array([state_addresses(g) for g in groups], dtype=np.int64).reshape(-1, 5)
    contacts = np.array(flat.contacts, dtype=np.int32)
    made = Assembly(number, flat, *arrays, flat.links, groups, addresses, contacts, rules)
    made.join(world, flat)
    touching_first = np.argsort(flat.geoms.material < 0, kind="stable")
    for k in touching_first.tolist():
        geom = _make_geom(made, k)
        (made.standing if made.stands(geom.group) else made.moving).append(geom)
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
    group.setFiniteRotationMode(1)
    group.ode_mass = float(flat.groups.mass[g])  # PyODE takes attributes of any name
    identify(group)
    return group


def _make_joint(world: Any, body: Assembly, articulation: Articulation, j: int) -> Joint:
    """Make a joint and its motor; the groups stand where every joint is at zero."""
    flat = articulation.joints
    kind = JointKind(int(flat.kind[j]))
    link, child, parent = int(flat.link[j]), int(flat.child[j]), int(flat.parent[j])
    anchor, axis = flat.anchor[j].tolist(), flat.axis[j].tolist()
    bodies = body.groups[child], _group(body, parent)
    friction = float(flat.friction[j])
    watched, feedback = bool(articulation.links.watched[link]), np.zeros((2, 4, 4))
    joint = MAKERS[kind](world, bodies, anchor, axis)
    if watched:
        tell_feedback(bodies[0], feedback[0])
    motor, weighed = None, False
    if kind != JointKind.FIXED:
        motor = make_motor(world, kind, bodies, axis, friction)
        weighed = body.rules.weigh and friction == 0.0
        if watched or weighed:
            tell_feedback(bodies[0], feedback[1])
    limits = float(flat.lower[j]), float(flat.upper[j])
    return Joint(
        kind=kind,
        link=link,
        coordinate=int(flat.coordinate[j]),
        child=child,
        parent=parent,
        joint=joint,
        motor=motor,
        bodies=bodies,
        axis=into_group(bodies[0], axis, is_point=False),
        anchor=into_group(bodies[0], anchor, is_point=True),
        parent_anchor=into_group(bodies[1], anchor, is_point=True),
        position=limits if body.rules.joint_limits else (-ode.Infinity, ode.Infinity),
        effort=(float(flat.effort_lower[j]), float(flat.effort_upper[j])),
        rotor_inertia=float(flat.rotor_inertia[j]),
        damping=float(flat.damping[j]),
        friction=friction,
        watched=watched,
        weighed=weighed,
        feedback=feedback,
    )


def _group(body: Assembly, group: int) -> Any:
    return ode.environment if group == STATIC else body.groups[group]


def _make_geom(body: Assembly, k: int) -> Geom:
    flat = body.articulation.geoms
    kind, link = GeomKind(int(flat.kind[k])), int(flat.link[k])
    group = int(body.links.group[link])
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
        _place(geom, flat.p[k], flat.R[k])
    else:
        geom.setBody(body.groups[group])
        geom.setOffsetPosition(p)
        geom.setOffsetRotation(R)
    reach = float(np.linalg.norm(flat.p[k])) + radius
    return Geom(geom, kind == GeomKind.BOX, k, link, group, int(flat.material[k]), reach)
