"""A robot that moves among things that drift about, in a room of which every distance is known."""

from dataclasses import replace

import numpy as np
from sim.physics.scenes import (
    FIXED,
    REVOLUTE,
    X,
    Y,
    Z,
    at,
    child,
    fixed,
    lone,
    moving,
    placed,
    root,
)

from hrp_model import Body, Pose
from hrp_model.geometry import Box, Capsule, Cylinder, Sphere
from hrp_model.rigid import axis_angle_matrix, rpy_matrix
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.engine.ode import OdeEngine
from hrp_sim.sensors import RangeSensor

DEGREE = np.pi / 180.0
X_SC = Pose(R=rpy_matrix(-np.pi / 2, np.pi / 2, 0.0))  # REP 103's axes, in those of the device
TURN = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.7)
WALLS = [  # no two are equally far from the origin, and none is parallel to an axis' plane
    (Box(np.array([0.2, 12.0, 12.0])), Pose(rpy_matrix(0.0, 0.1, 0.2), 4.0 * X)),
    (Box(np.array([0.2, 12.0, 12.0])), Pose(rpy_matrix(0.0, -0.1, 0.1), -2.5 * X)),
    (Box(np.array([12.0, 0.2, 12.0])), Pose(rpy_matrix(0.1, 0.0, 0.1), 3.0 * Y)),
    (Box(np.array([12.0, 0.2, 12.0])), Pose(rpy_matrix(-0.1, 0.0, 0.0), -1.5 * Y)),
    (Box(np.array([12.0, 12.0, 0.2])), Pose(rpy_matrix(0.1, 0.2, 0.0), -1.2 * Z)),
    (Box(np.array([12.0, 12.0, 0.2])), Pose(rpy_matrix(0.1, -0.1, 0.0), 2.2 * Z)),
]
THINGS = {
    "box": (Box(np.array([0.3, 0.5, 0.7])), at(2.0, 0.3, 0.1, TURN)),
    "cylinder": (Cylinder(0.3, 0.9), at(1.5, 1.5, -0.2, TURN)),
    "sphere": (Sphere(0.4), at(-0.4, 1.8, 0.3)),
    "capsule": (Capsule(0.2, 0.6), at(-1.5, -0.3, 0.2, TURN)),
}
MESHES = {
    "bust": (mesh_of(Sphere(0.35)), at(0.3, -1.0, 0.3, TURN)),
    "can": (mesh_of(Cylinder(0.25, 0.8)), at(1.2, -0.9, 0.0, TURN)),
}
OWN = {
    "BASE": (Box(np.array([0.3, 0.3, 0.3])), at(z=-0.15)),
    "ARM": (Sphere(0.25), Pose()),
    "LID": (Cylinder(0.1, 0.3), at(z=0.1)),
}


def robot():
    """A free base, an arm on a hinge, and a lid fixed to the arm; all of them have shapes."""
    shapes = {name: (placed(*solid),) for name, solid in OWN.items()}
    links = (
        root(free=True, mass=5.0, collision=shapes["BASE"]),
        child("ARM", "BASE", REVOLUTE, Y, X_PL=at(0.1, 0.0, 0.3), collision=shapes["ARM"]),
        child("LID", "ARM", FIXED, X_PL=at(0.0, 0.4, 0.2), collision=shapes["LID"]),
    )
    return Body(name="robot", links=links)


def engine_with(things):
    """Return an engine in which the room stands, and the things and the robot drift about.

    Rays are compared with the triangles of meshes, so that none is replaced.
    """
    made = OdeEngine(PhysicsSettings(gravity=(0.0, 0.0, 0.0), convex_meshes=False))
    rng = np.random.default_rng(2)
    for k, (geometry, X_WG) in enumerate(WALLS):
        made.add_body(replace(fixed(lone(placed(geometry)), X_WG), name=f"wall{k}"))
    for name, (geometry, X_WG) in things.items():
        v, w = rng.uniform(-0.5, 0.5, (2, 3))
        made.add_body(moving(lone(placed(geometry)), X_WG, name, v=v, w=w))
    made.add_body(
        moving(robot(), at(z=0.2, R=TURN.T), v=0.1 * X, w=np.array([0.5, -0.3, 1.0]), dq=[2.0])
    )
    return made


def solids_of(engine, things, own=()):
    """Return all solids and where they are now: what the physics says of links is the truth."""
    bodies = engine.state.bodies
    solids = list(WALLS)
    for name, (geometry, _) in things.items():
        motion = bodies[name].motion
        solids.append((geometry, Pose(motion.R[0], motion.p[0])))
    motion, links = bodies["robot"].motion, [x.name for x in bodies["robot"].body.links]
    for name in own:
        i, (geometry, X_LG) = links.index(name), OWN[name]
        solids.append((geometry, Pose(motion.R[i], motion.p[i]) @ X_LG))
    return solids


def rays_in_room(engine, link, X_LS, directions_C):
    """Return origins and directions in W, shape (n, 3), of rays of a sensor on the robot."""
    motion = engine.state.bodies["robot"].motion
    X_WC = Pose(motion.R[link], motion.p[link]) @ X_LS @ X_SC
    directions = directions_C.reshape(-1, 3) @ X_WC.R.T
    return np.broadcast_to(X_WC.p, directions.shape), directions


def sensor(engine, kind=RangeSensor, **changes):
    settings = {
        "name": "laser",
        "body": "robot",
        "rate_hz": 10.0,
        "link": 1,
        "X_LS": Pose(),
        "yaw_range": 360 * DEGREE,
        "yaw_step": 3 * DEGREE,
        "min_distance": 0.01,
        "max_distance": 30.0,
        "cast_rays": engine.cast_rays,
    }
    return kind(**settings | changes)


def directions_of(scan):
    """Return the directions of a planar scan in C: angles are counter-clockwise from x."""
    a = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    return np.stack([np.cos(a), np.sin(a), np.zeros_like(a)], axis=1)
