"""A Body in flat arrays: groups, joints, shapes, and who may touch whom."""

import numpy as np
from sim.physics.scenes import (
    FIXED,
    FREE,
    PRISMATIC,
    REVOLUTE,
    TRACK,
    X,
    Y,
    at,
    child,
    moving,
    placed,
    root,
)

from hrp_model.body import Body, link_pair
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.articulation.articulation import Contact
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.engine import PhysicsSettings

TURN = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.9)


def robot():
    links = (
        root(free=True, mass=2.0),
        child("PLATE", "BASE", FIXED, X_PL=at(0.2, 0.0, 0.0, TURN), mass=1.0),
        child("ARM", "PLATE", REVOLUTE, X, X_PL=at(0.0, 0.3, 0.0), mass=3.0),
        child("HAND", "ARM", FIXED, X_PL=at(0.0, 0.1, 0.0), mass=0.5),
        child("RAIL", "BASE", PRISMATIC, Y, mass=0.7),
        child("BELT", "BASE", TRACK, Y, mass=0.3),
        child("LOOSE", "BASE", FREE, X_PL=at(3.0), mass=0.9),
    )
    sensor = ForceSensor(name="wrist", link="HAND")
    disabled = frozenset({link_pair("HAND", "RAIL")})
    return Body(name="robot", links=links, devices=(sensor,), self_collision_disabled=disabled)


def test_who_may_touch_whom():
    flat = flatten(moving(robot()), PhysicsSettings())
    base, plate, arm, hand, rail, belt, loose = range(7)
    never = {(base, plate), (base, arm), (plate, belt), (arm, hand), (rail, belt), (hand, rail)}
    for a, b in never:
        assert flat.contacts[a, b] == flat.contacts[b, a] == Contact.NEVER
    assert flat.contacts[hand, base] == flat.contacts[base, hand] == Contact.UNLESS_TOUCHING
    assert flat.contacts[arm, rail] == Contact.UNLESS_OVERLAPPING
    assert flat.contacts[loose, base] == flat.contacts[hand, loose] == Contact.ALWAYS


def test_a_shape_of_size_zero_is_left_out_aloud(caplog):
    links = (
        root(free=True, collision=(placed(Sphere(0.0)), placed(Box(np.array([1.0, 1.0, 0.0]))))),
    )
    flat = flatten(moving(Body(name="b", links=links)), PhysicsSettings())
    assert len(flat.geoms.kind) == 0
    assert "'BASE': a collision shape of size zero is ignored" in caplog.text
