"""A program that simulates bodies whose every number may be hostile.

Arguments: seed, count. Before each world its number is printed, so that the last line names
the one that ended the process. Anything but a PhysicsError ends it with a traceback.
"""

import logging
import sys
import warnings
from dataclasses import replace

import numpy as np
from sim.hostile.limits import bound
from sim.physics.scenes import FIXED, FREE, PRISMATIC, REVOLUTE, TRACK, at, floor, moving

from hrp_model.body import Body, ExtraJoint, ExtraJointType, Joint, Link, Range
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere
from hrp_model.rigid import Pose
from hrp_sim.engine.engine import PHYSICS_RANGES, PhysicsError, PhysicsSettings, Solver
from hrp_sim.engine.ode import OdeEngine

WORDS = (0.0, -0.0, 5e-324, 1e-300, 1e-150, 1e-30, 1e-12, 1e-6, 0.1, 1.0, 10.0, 1e3, 1e6, 1e9, 1e12)
WILD = (1e30, 1e150, 1e160, 1e300, 1.7e308, np.inf, np.nan)
NUMBERS = (*WORDS, *WILD, *(-x for x in (*WORDS[2:], *WILD)))


class Hostile:
    """Bodies and settings out of one random generator; ``rate`` is the share of bad numbers."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.rate = 10.0 ** self.rng.uniform(-3.0, -0.5)

    def pick(self, choices):
        return choices[self.rng.integers(len(choices))]

    def number(self, usual):
        return float(self.pick(NUMBERS)) if self.rng.random() < self.rate else usual

    def array(self, usual):
        usual = np.array(usual, dtype=np.float64)
        if self.rng.random() < self.rate:  # all of it, the same
            return np.full(usual.shape, self.number(0.0))
        return np.vectorize(self.number, otypes=[np.float64])(usual)

    def pose(self, *p):
        R = self.array(np.eye(3)) if self.rng.random() < self.rate else np.eye(3)
        return Pose(R, self.array(p or self.rng.normal(size=3) * 0.2))

    def range(self):
        return Range(self.number(-np.inf), self.number(np.inf))

    def mesh(self):
        count = int(self.rng.integers(0, 30))
        vertices = self.array(self.rng.normal(size=(count, 3)) * 0.1)
        if count and self.rng.random() < 0.3:  # many in one place, or in one line
            vertices[:, self.rng.integers(3) :] = vertices[0, 0]
        triangles = self.rng.integers(0, max(count, 1), (self.rng.integers(0, 40), 3))
        if self.rng.random() < self.rate and len(triangles):
            triangles[self.rng.integers(len(triangles)), 0] = self.pick([-1, count, 2**31 - 1])
        return Mesh(vertices=vertices, triangles=triangles.astype(np.int32))

    def shape(self):
        a, b = self.number(0.1), self.number(0.1)
        make = self.pick(
            [
                lambda: Box(self.array([0.1, 0.2, 0.1])),
                lambda: Sphere(a),
                lambda: Cylinder(a, b),
                lambda: Capsule(a, b),
                lambda: Cone(a, b),
                self.mesh,
            ]
        )
        T = self.array(np.eye(4)) if self.rng.random() < self.rate else np.eye(4)
        return Shape(make(), T)

    def link(self, name, parent, kind):
        axis = self.array(np.eye(3)[self.rng.integers(3)])
        joint = Joint(
            type=kind,
            name=name,
            axis=axis,
            position=self.range(),
            velocity=self.range(),
            effort=self.range(),
            equivalent_rotor_inertia=self.number(0.01),
        )
        return Link(
            name=name,
            parent=parent,
            joint=joint,
            X_PL=self.pose(),
            mass=self.number(1.0),
            center_of_mass=self.array(self.rng.normal(size=3) * 0.1),
            inertia=self.array(np.eye(3) * 0.01),
            collision=tuple(self.shape() for _ in range(self.rng.integers(3))),
        )

    def loop(self, links):
        names = tuple(self.pick(links).name for _ in range(2))
        axis = self.array([1.0, 0.0, 0.0])
        kind = self.pick(list(ExtraJointType))
        return ExtraJoint(type=kind, links=names, X_AJ=self.pose(), X_BJ=self.pose(), axis=axis)

    def body(self):
        links = [self.link("ROOT", None, self.pick([FREE, FIXED]))]
        for k in range(self.rng.integers(5)):
            kind = self.pick([REVOLUTE, PRISMATIC, TRACK, FIXED, FREE])
            links.append(self.link(f"L{k}", self.pick(links).name, kind))
        loops = tuple(self.loop(links) for _ in range(self.rng.integers(4)))
        sensors = (ForceSensor(name="f", link=self.pick(links).name),)
        return Body(name="wild", links=tuple(links), devices=sensors, extra_joints=loops)

    def placement(self):
        body = self.body()
        n = len(body.moving_links)
        motion = {"v": self.array(np.zeros(3)), "w": self.array(np.zeros(3))}
        joints = {"q": self.array(np.zeros(n)), "dq": self.array(np.zeros(n))}
        fixed = bool(self.rng.random() < 0.3)
        return replace(moving(body, self.pose(0.0, 0.0, 0.3), **motion, **joints), fixed=fixed)

    def settings(self):
        """Every setting either usual or at one end of what is allowed."""
        values = {}
        for name, ends in PHYSICS_RANGES.items():
            if name != "iterations" and self.rng.random() < self.rate:
                values[name] = type(getattr(PhysicsSettings(), name))(self.pick(ends))
        return PhysicsSettings(
            solver=self.pick(list(Solver)), gravity=tuple(self.array([0, 0, -9.8])), **values
        )


def live(seed):
    """Make a hostile world, step it, look around in it, and reset it."""
    hostile = Hostile(seed)
    engine = OdeEngine(hostile.settings())
    engine.add_body(floor())
    wild = engine.add_body(hostile.placement())
    for name in ("q", "dq", "kp", "kd", "effort", "track_speed"):
        values = getattr(wild.drive, name)
        values[:] = hostile.array(values)
    for count in (1, 20):
        told = step(engine, count)
        assert told is None or "'wild'" in told or "ODE" in told, told
    engine.cast_rays(np.zeros((6, 3)), np.concatenate([np.eye(3), -np.eye(3)]), 10.0)
    engine.reset()
    assert np.all(np.isfinite(wild.motion.p))
    engine.remove_body("wild")
    engine.add_body(moving(free_box(), at(z=1.0)))
    engine.step(5)
    engine.close()


def step(engine, count):
    """Step; if that fails, reset and return what was told."""
    try:
        engine.step(count)
    except PhysicsError as error:
        engine.reset()
        return str(error)
    return None


def free_box():
    joint = Joint(type=FREE, name="BOX")
    shapes = (Shape(Box(np.full(3, 0.1))),)
    link = Link(name="BOX", parent=None, joint=joint, mass=1.0, inertia=np.eye(3), collision=shapes)
    return Body(name="box", links=(link,))


def live_each(live, refusals):
    """Let worlds live, of the numbers in the arguments, and print how many did or were refused."""
    first, count = map(int, sys.argv[1:])
    bound(memory_mib=2000, cpu_seconds=100)
    logging.disable()
    warnings.simplefilter("ignore")
    lived = refused = 0
    for seed in range(first, first + count):
        print(f"world {seed}", flush=True)
        try:
            live(seed)
            lived += 1
        except refusals:
            refused += 1
    print(lived, refused)


if __name__ == "__main__":
    live_each(live, PhysicsError)
