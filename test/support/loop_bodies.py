"""Mechanisms with closed loops whose kinematics are known in closed form."""

from dataclasses import replace
from math import acos, asin, atan2, cos, hypot, pi, sin, sqrt

import numpy as np

from hrp_model.body import Body, ExtraJoint, ExtraJointType, Joint, JointType, Link
from hrp_model.diagnostics import Diagnostics
from hrp_model.frames import body_frames
from hrp_model.kinematics import BodyState
from hrp_model.kinematics.loops.mimic import ClosedLoops
from hrp_model.rigid import Pose, axis_angle_matrix, rpy_matrix

REVOLUTE, PRISMATIC, FIXED = JointType.REVOLUTE, JointType.PRISMATIC, JointType.FIXED
X, Y, Z = np.eye(3)
# Crank, coupler, rocker and ground of a four-bar whose crank goes round.
GRASHOF = (0.2, 0.5, 0.4, 0.5)
PLANAR = [ExtraJointType.BALL, ExtraJointType.HINGE, ExtraJointType.XY, ExtraJointType.PISTON]


def at(x=0.0, y=0.0, z=0.0, R=None):
    return Pose(np.eye(3) if R is None else R, np.array([x, y, z], dtype=float))


def base(**options):
    joint = Joint(type=options.pop("type", FIXED), name="BASE")
    return Link(name="BASE", parent=None, joint=joint, **options)


def link(name, parent, kind, axis=Z, X_PL=None, mass=1.0, **joint):
    return Link(
        name=name,
        parent=parent,
        joint=Joint(type=kind, name=name, axis=axis, **joint),
        X_PL=X_PL or Pose(),
        mass=mass,
        inertia=0.01 * np.eye(3),
    )


def tie(a, b, X_AJ, X_BJ, kind=ExtraJointType.HINGE, axis=Z, name="tie"):
    return ExtraJoint(type=kind, links=(a, b), X_AJ=X_AJ, X_BJ=X_BJ, axis=axis, name=name)


def loops(body):
    return ClosedLoops(body, body_frames(body, Diagnostics()))


def five_bar():
    """Return a mechanism with two cranks, A and C, which B and D both follow."""
    links = (
        base(),
        link("A", "BASE", REVOLUTE, id=0, initial=2.0),
        link("B", "A", REVOLUTE, X_PL=at(0.3), initial=-1.3),
        link("C", "BASE", REVOLUTE, id=1, X_PL=at(0.4), initial=1.0),
        link("D", "C", REVOLUTE, X_PL=at(0.3), initial=1.0),
    )
    pin = tie("B", "D", at(0.4), at(0.4), ExtraJointType.BALL, name="five")
    return Body(name="five", links=links, extra_joints=(pin,))


def freudenstein(a, b, c, d, crank, sign=-1.0):
    """Angle of the rocker of a four-bar: crank a, coupler b, rocker c, ground d.

    F. Freudenstein, "Approximate synthesis of four-bar linkages", 1955.
    """
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
    A = cos(crank) - k1 - k2 * cos(crank) + k3
    B = -2 * sin(crank)
    C = k1 - (k2 + 1) * cos(crank) + k3
    return 2 * atan2(-B + sign * sqrt(B * B - 4 * A * C), 2 * A)


def four_bar(a, b, c, d, crank=1.0, kind=ExtraJointType.HINGE, **options):
    """A planar four-bar about Z, assembled at this angle of its crank."""
    rocker = options.pop("rocker", None)
    rocker = freudenstein(a, b, c, d, crank) if rocker is None else rocker
    end = np.array([d + c * cos(rocker), c * sin(rocker)]) - a * np.array([cos(crank), sin(crank)])
    links = (
        base(),
        link("CRANK", "BASE", REVOLUTE, initial=crank, id=0, **options),
        link("COUPLER", "CRANK", REVOLUTE, X_PL=at(a), initial=atan2(end[1], end[0]) - crank),
        link("ROCKER", "BASE", REVOLUTE, X_PL=at(d), initial=rocker),
    )
    joint = tie("COUPLER", "ROCKER", at(b), at(c), kind)
    return Body(name="four-bar", links=links, extra_joints=(joint,))


def slider_crank(crank=0.2, rod=0.5, kind=ExtraJointType.HINGE):
    links = (
        base(),
        link("CRANK", "BASE", REVOLUTE, id=0),
        link("ROD", "CRANK", REVOLUTE, X_PL=at(crank)),
        link("SLIDER", "BASE", PRISMATIC, X, X_PL=at(crank + rod)),
    )
    joint = tie("ROD", "SLIDER", at(rod), at(), kind)
    return Body(name="slider-crank", links=links, extra_joints=(joint,))


def drawn_slider_crank(angle, crank=0.2, rod=0.5):
    """The same with joint positions from the origin, drawn with its crank at this angle."""
    tilt = -asin(crank * sin(angle) / rod)
    links = (
        base(),
        link("CRANK", "BASE", REVOLUTE, id=0, initial=angle),
        link("ROD", "CRANK", REVOLUTE, X_PL=at(crank), initial=tilt - angle),
        link("SLIDER", "BASE", PRISMATIC, X, initial=crank * cos(angle) + rod * cos(tilt)),
    )
    return Body(name="drawn", links=links, extra_joints=(tie("ROD", "SLIDER", at(rod), at()),))


def slider_position(angle, crank=0.2, rod=0.5):
    return crank * cos(angle) + sqrt(rod**2 - (crank * sin(angle)) ** 2) - crank - rod


def scissor_lift(length=1.0, angle=0.5):
    """Two pairs of crossed bars; the lower right end runs on a rail."""
    half = at(length / 2)
    links = (
        base(),
        link("A1", "BASE", REVOLUTE, id=0, initial=angle),
        link("SLIDER", "BASE", PRISMATIC, X, initial=length * cos(angle)),
        link("B1", "SLIDER", REVOLUTE, initial=pi - angle),
        link("A2", "B1", REVOLUTE, X_PL=at(length), initial=2 * angle - pi),
        link("B2", "A1", REVOLUTE, X_PL=at(length), initial=pi - 2 * angle),
    )
    ties = tuple(tie(f"A{i}", f"B{i}", half, half, name=f"pair {i}") for i in (1, 2))
    return Body(name="scissor lift", links=links, extra_joints=ties)


def hexapod():
    """A platform on six legs: its pose by six joints without ids, each leg two angles and a length.

    Feet and anchors are on circles, in pairs, as in a Stewart platform; z is up.
    """
    links = [base()]
    for name, kind, axis in [
        ("PX", PRISMATIC, X), ("PY", PRISMATIC, Y), ("PZ", PRISMATIC, Z),
        ("RZ", REVOLUTE, Z), ("RY", REVOLUTE, Y), ("PLATFORM", REVOLUTE, X),
    ]:  # fmt: skip
        links.append(link(name, links[-1].name, kind, axis, initial=0.8 if name == "PZ" else 0.0))
    ties = []
    for i in range(6):
        foot, anchor = hexapod_leg(i)
        v = anchor - foot + 0.8 * Z
        tilt, length = atan2(-v[1], hypot(v[0], v[2])), float(np.linalg.norm(v))
        turn = atan2(v[0], v[2])
        links += [
            link(f"TURN{i}", "BASE", REVOLUTE, Y, at(*foot), initial=turn),
            link(f"TILT{i}", f"TURN{i}", REVOLUTE, X, initial=tilt),
            link(f"LEG{i}", f"TILT{i}", PRISMATIC, Z, id=i, initial=length),
        ]
        ties.append(tie(f"LEG{i}", "PLATFORM", at(), at(*anchor), ExtraJointType.BALL, name=f"{i}"))
    return Body(name="hexapod", links=tuple(links), extra_joints=tuple(ties))


def hexapod_leg(i):
    """Return foot and anchor of a leg, in the base and in the platform."""
    pair = 2 * pi * (i // 2) / 3
    side = 1 if i % 2 else -1
    foot, anchor = pair + side * 0.3, pair + side * 0.8
    return (
        np.array([0.6 * cos(foot), 0.6 * sin(foot), 0.0]),
        np.array([0.4 * cos(anchor), 0.4 * sin(anchor), 0.0]),
    )


def four_bar_reach(a, b, c, d):
    """Largest crank angle at which the loop can close, where coupler and rocker are in line."""
    return acos((a * a + d * d - (b + c) ** 2) / (2 * a * d))


def random_loops(seed, loops=2, links=10, chain=False):
    """A random tree or chain, with random constraints that hold in its initial posture."""
    rng = np.random.default_rng(seed)
    made = [base()]
    for i in range(1, links):
        axis = rng.normal(size=3)
        made.append(
            link(
                f"L{i}",
                made[-1 if chain else rng.integers(len(made))].name,
                [REVOLUTE, PRISMATIC, FIXED][rng.choice(3, p=[0.65, 0.25, 0.1])],
                axis / np.linalg.norm(axis),
                Pose(rpy_matrix(*rng.normal(size=3)), 0.5 * rng.normal(size=3)),
                id=None if i % 2 else i // 2 - 1,
                initial=rng.normal(),
            )
        )
    body = Body(name=f"random {seed}", links=tuple(made))
    state = BodyState(body)
    ties = []
    for i in range(loops):
        a, b = (0, links - 1) if chain else rng.choice(links, 2, replace=False)
        X_A, X_B = (Pose(state.R[j], state.p[j]) for j in (a, b))
        axis = rng.normal(size=3)
        X_AJ = Pose(p=0.3 * rng.normal(size=3))
        if seed % 2:
            X_AJ = Pose(rpy_matrix(*rng.normal(size=3)), X_AJ.p)
        X_BJ = X_B.inverse() @ X_A @ X_AJ
        if not seed % 2:  # the rotation is that of the initial posture
            X_BJ = Pose(p=X_BJ.p)
        ties.append(
            ExtraJoint(
                type=list(ExtraJointType)[rng.integers(6)],
                links=(made[a].name, made[b].name),
                X_AJ=X_AJ,
                X_BJ=X_BJ,
                axis=axis / np.linalg.norm(axis),
                name=f"tie {i}",
            )
        )
    return replace(body, extra_joints=tuple(ties))


def tilted(body, axis, angle):
    """The same mechanism with its base turned, so that nothing lies along an axis."""
    root = replace(body.root, X_PL=Pose(axis_angle_matrix(axis, angle), [0.1, -0.2, 0.3]))
    return replace(body, links=(root, *body.links[1:]))
