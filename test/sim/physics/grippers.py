"""Geared grippers, beside closed forms and MuJoCo, whose fingers an equality couples.

Two fingers slide along X; the right one follows the left one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.integrate import solve_ivp
from sim.physics.scenes import PRISMATIC, REVOLUTE, G, X, Y, at, child, fixed, placed, root, world
from sim.physics.scenes import lone as one_link
from sim.physics.scenes import moving as free

from hrp_model import Body
from hrp_model.body import Mimic
from hrp_model.geometry import Box
from hrp_sim.engine.engine import Engine
from hrp_sim.engine.state import SimulatedBody

HEADER = ["geared joints, 10 N on the leader", "exact", "here", "MuJoCo"]
HALF, START = np.array([0.01, 0.02, 0.02]), 0.05  # of a finger, in [m]
MASS, DAMPING, INERTIA = 0.1, 10.0, 1e-4  # of a finger, in [kg], [N s/m] and [kg m^2]
CUBE = 0.04  # [m]
STEPS = 2000  # of 1 ms


@dataclass(frozen=True)
class Gripper:
    """Two geared fingers with an effort, and a cube between them.

    Attributes:
        ratio: Motion of the right finger per motion of the left one.
        efforts: On the left and on the right finger, in [N].
        place: Of the cube along X, in [m].
        cube: Mass of the cube, in [kg]; 0 if it is fixed to the world.
    """

    ratio: float = -1.0
    efforts: tuple[float, float] = (10.0, 0.0)
    place: float = 0.0
    cube: float = 0.2


@dataclass(frozen=True)
class Outcome:
    """What a gripper has led to.

    Attributes:
        forces: Of the left and the right finger on the cube along X, without sign, in [N].
        fingers: Positions of both, in [m].
        cube: Position of the cube, in [m], shape (3,).
    """

    forces: tuple[float, float]
    fingers: tuple[float, float]
    cube: np.ndarray


@dataclass(frozen=True)
class Row:
    """A row of the table: a quantity in its unit, by its closed form and as measured."""

    what: str
    exact: float
    scene: Gripper
    measure: Callable[[Outcome], float]


OFF_CENTRE = replace(Gripper(), place=0.01)
BLOCKED = Gripper(ratio=-0.5, place=0.015, cube=0.0)
ROWS = (
    Row("cube in the middle: force of the leader [N]", 5.0, Gripper(), lambda x: x.forces[0]),
    Row("the same: force of the follower [N]", 5.0, Gripper(), lambda x: x.forces[1]),
    Row("cube 10 mm off centre: where it comes to rest [mm]", 0.0, OFF_CENTRE,
        lambda x: 1e3 * x.cube[0]),
    Row("the same: force of the follower [N]", 5.0, OFF_CENTRE, lambda x: x.forces[1]),
    Row("the same, fixed: force of the near finger, the follower [N]", 10.0,
        replace(OFF_CENTRE, cube=0.0), lambda x: x.forces[1]),
    Row("the same: gap of the leader [mm]", 20.0, replace(OFF_CENTRE, cube=0.0),
        lambda x: 1e3 * (0.01 - CUBE / 2.0 - HALF[0] - x.fingers[0])),
    Row("a follower at half the speed presses on a fixed cube [N]", 20.0, BLOCKED,
        lambda x: x.forces[1]),
    Row("effort on this follower, whose leader presses on a fixed cube [N]", 5.0,
        replace(BLOCKED, efforts=(0.0, -10.0), place=-0.02), lambda x: x.forces[0]),
)  # fmt: skip


def gripping(scene: Gripper) -> tuple[Engine, SimulatedBody, SimulatedBody]:
    """Return an engine in which a gripper holds its cube, and both."""
    inertia = INERTIA * np.eye(3)
    finger = {"mass": MASS, "inertia": inertia, "damping": DAMPING}
    finger["collision"] = (placed(Box(2.0 * HALF)),)
    links = [root(mass=1.0)]
    for name, side in (("LEFT", -1.0), ("RIGHT", 1.0)):
        links.append(child(name, "BASE", PRISMATIC, X, X_PL=at(side * START), **finger))
    joint = replace(links[2].joint, mimic=Mimic("LEFT", scene.ratio))
    body = Body(name="gripper", links=(*links[:2], replace(links[2], joint=joint)))
    shape = placed(Box(np.full(3, CUBE)))
    if scene.cube:
        thing = free(one_link(shape, mass=scene.cube, inertia=inertia), at(scene.place))
    else:
        link = root(collision=(shape,))
        thing = fixed(Body(name="thing", links=(link,)), at(scene.place))
    engine, gripper, cube = world(fixed(body), thing, gravity=(0.0, 0.0, 0.0))
    gripper.drive.effort[:] = scene.efforts
    engine.record_contacts = True
    engine.step(STEPS)
    return engine, gripper, cube


def simulated(scene: Gripper) -> Outcome:
    """Return what a gripper leads to here."""
    return _outcome(*gripping(scene))


def _outcome(engine: Engine, gripper: SimulatedBody, cube: SimulatedBody) -> Outcome:
    points = engine.contact_points()
    forces = [0.0, 0.0]
    for bodies, links, force in zip(points.bodies, points.links, points.force, strict=True):
        side = bodies.index("gripper")
        forces[links[side] - 1] += abs(force[0])
    left, right = (float(gripper.motion.p[i, 0]) for i in (1, 2))
    return Outcome((forces[0], forces[1]), (left, right), cube.motion.p[0].copy())


def peer(scene: Gripper) -> Outcome:
    """Return what the same gripper leads to in MuJoCo."""
    half = " ".join(map(str, HALF))
    finger = (
        '<body name="{0}" pos="{1} 0 0"><joint name="{0}" type="slide" axis="1 0 0" '
        f'damping="{DAMPING}"/><inertial pos="0 0 0" mass="{MASS}" '
        f'diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>'
        f'<geom name="{{0}}" type="box" size="{half}"/></body>'
    )
    joint = "<freejoint/>" if scene.cube else ""
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="1e-3" gravity="0 0 0"/><worldbody>'
        f"{finger.format('LEFT', -START)}{finger.format('RIGHT', START)}"
        f'<body name="cube" pos="{scene.place} 0 0">{joint}'
        f'<inertial pos="0 0 0" mass="{scene.cube or 1.0}" '
        f'diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>'
        f'<geom name="cube" type="box" size="{CUBE / 2} {CUBE / 2} {CUBE / 2}"/></body>'
        '</worldbody><equality><joint joint1="RIGHT" joint2="LEFT" '
        f'polycoef="0 {scene.ratio} 0 0 0"/></equality></mujoco>'
    )
    data = mujoco.MjData(model)
    data.qfrc_applied[:2] = scene.efforts
    mujoco.mj_step(model, data, STEPS)
    forces, wrench = [0.0, 0.0], np.zeros(6)
    for i in range(data.ncon):
        geoms = {model.geom(int(g)).name for g in data.contact[i].geom}
        mujoco.mj_contactForce(model, data, i, wrench)
        forces["RIGHT" in geoms] += wrench[0]
    left, right = (float(data.body(name).xpos[0]) for name in ("LEFT", "RIGHT"))
    return Outcome((forces[0], forces[1]), (left, right), data.body("cube").xpos.copy())


ARM, WHEEL, LENGTH = 1e-3, 0.02, 0.5  # inertias about the centres of mass [kg m^2], lever [m]
TIMES = 0.25, 0.5


def arms() -> Iterator[tuple[str, float, float, float]]:
    """Yield what a weight on a follower does to its leader: text, exact, here and in MuJoCo."""
    exact = solve_ivp(
        lambda _, y: [y[1], G * LENGTH * np.cos(y[0]) / (WHEEL + ARM + LENGTH**2)],
        (0.0, 1.0),
        [0.0, 0.0],
        rtol=1e-10,
        t_eval=TIMES,
    ).y[0]
    arm = child("ARM", "BASE", REVOLUTE, Y, center_of_mass=LENGTH * X, inertia=ARM * np.eye(3))
    arm = replace(arm, joint=replace(arm.joint, mimic=Mimic("WHEEL", 1.0)))
    wheel = child("WHEEL", "BASE", REVOLUTE, Y, inertia=WHEEL * np.eye(3))
    engine, gears = world(fixed(Body(name="arms", links=(root(), wheel, arm))))
    body = (
        '<body><joint name="{0}" axis="0 1 0"/><inertial pos="{1} 0 0" mass="1" '
        'diaginertia="{2} {2} {2}"/></body>'
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="1e-3" gravity="0 0 {-G}"/><worldbody>'
        f"{body.format('WHEEL', 0, WHEEL)}{body.format('ARM', LENGTH, ARM)}</worldbody>"
        '<equality><joint joint1="ARM" joint2="WHEEL" solref="0.002 1"/></equality></mujoco>'
    )
    data = mujoco.MjData(model)
    for time, angle in zip(TIMES, exact, strict=True):
        engine.step(250)
        mujoco.mj_step(model, data, 250)
        what = f"1 kg at 0.5 m on a follower: angle of the leader after {time:g} s [rad]"
        yield what, float(angle), float(gears.motion.q[0]), float(data.qpos[0])


def rows() -> Iterator[list[str]]:
    """Yield the rows of the table."""
    for what, *values in arms():
        yield [what, *(f"{value:.4f}" for value in values)]
    for row in ROWS:
        found = row.measure(simulated(row.scene)), row.measure(peer(row.scene))
        yield [row.what, *(f"{value + 0.0:.3f}" for value in (row.exact, *found))]
