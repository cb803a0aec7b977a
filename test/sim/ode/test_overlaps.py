"""Overlaps that nothing lets contacts correct: they must not tear joints apart."""

from dataclasses import replace

import numpy as np
import pytest
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
    world,
)

from hrp_model.body import Body, ExtraJointType, Mimic, Range
from hrp_model.geometry import Box
from hrp_model.rigid import Pose
from hrp_sim.engine.state import BodyJoint

SIZE = (0.02, 0.03, 0.05)
INERTIA = 1e-5 * np.eye(3)


def block(*size):
    return placed(Box(np.array(size)))


def finger(name, parent, kind, x, axis, **options):
    return child(
        name,
        parent,
        kind,
        axis,
        X_PL=at(x, 0.0, 0.1),
        mass=0.02,
        inertia=INERTIA,
        collision=(block(*SIZE),),
        position=Range(-0.03, 0.03),
        effort=Range(-20.0, 20.0),
        **options,
    )


def hand(kind, axis, overlap, *links, parent="BASE"):
    """Two fingers side by side along X, which overlap there."""
    fingers = [
        finger("A", parent, kind, 0.0, axis),
        finger("B", parent, kind, SIZE[0] - overlap, axis),
    ]
    return Body(name="hand", links=(root(), *links, *fingers))


def largest_force(engine, steps, before=lambda _: None):
    engine.record_contacts = True
    largest, touched = 0.0, False
    for i in range(steps):
        before(i)
        engine.step()
        forces = engine.contact_points().force
        touched |= len(forces) > 0
        largest = max(largest, np.linalg.norm(forces, axis=1).max(initial=0.0))
    assert touched
    return largest


@pytest.mark.parametrize("overlap", [0.02e-3, 0.33e-3, 0.9e-3])
@pytest.mark.parametrize(("kind", "axis"), [(PRISMATIC, Y), (REVOLUTE, X), (PRISMATIC, Z)])
def test_fingers_do_not_press_across_the_axis_along_which_they_move(kind, axis, overlap):
    engine, gripper = world(fixed(hand(kind, axis, overlap)))
    gripper.drive.kp[:], gripper.drive.kd[:] = 50.0, 5.0

    def close(i):
        gripper.drive.q[:] = 0.01 * np.sin(i / 20.0), 0.0

    assert largest_force(engine, 150, close) < 5.0  # weight: 0.4 N; at most 20 N along the axis
    assert np.abs(gripper.motion.p[1:, 0] - [0.0, SIZE[0] - overlap]).max() < 1e-6


def test_neither_do_fingers_whose_common_drive_moves_both_alike():
    """They could separate if they were not geared."""
    body = hand(PRISMATIC, X, 0.33e-3)
    link = body.links[2]
    geared = replace(link, joint=replace(link.joint, mimic=Mimic("A", 1.0)))
    engine, gripper = world(fixed(replace(body, links=(*body.links[:2], geared))))
    assert largest_force(engine, 50) < 5.0
    assert gripper.motion.q[0] == pytest.approx(gripper.motion.q[1], abs=1e-9)


def test_neither_on_an_arm_that_swings_fast():
    """There joints have errors, which contacts must not fight either."""
    arm = [
        child("L0", "BASE", REVOLUTE, Y, mass=3.0, X_PL=at(z=1.0)),
        child("L1", "L0", REVOLUTE, X, mass=3.0, X_PL=at(z=0.3), center_of_mass=0.1 * Z),
        child("L2", "L1", REVOLUTE, Z, mass=3.0, X_PL=at(z=0.3), center_of_mass=0.1 * X),
    ]
    body = hand(PRISMATIC, Y, 0.33e-3, *arm, parent="L2")
    engine, _ = world(fixed(body, dq=np.array([4.0, -6.0, 8.0, 0.0, 0.0])))
    assert largest_force(engine, 500) < 200.0  # weight: 90 N


def test_neither_at_a_stop():
    """The fingers could only separate beyond it."""
    body = hand(PRISMATIC, X, 0.33e-3)
    links = [replace(x, joint=replace(x.joint, position=Range(0.0, 0.0))) for x in body.links[1:]]
    engine, _ = world(fixed(replace(body, links=(body.links[0], *links))))
    assert largest_force(engine, 50) < 5.0


def test_neither_does_what_a_joint_between_bodies_holds():
    engine, _, _ = world(
        fixed(hand(PRISMATIC, Y, -0.01)),
        moving(lone(block(0.01, 0.01, 0.01), mass=0.1, inertia=INERTIA), at(0.0, 0.0, 0.1296)),
    )
    held = BodyJoint(
        name="grip",
        type=ExtraJointType.FIXED,
        bodies=("hand", "thing"),
        links=(2, 0),
        X_AJ=at(-SIZE[0] - 0.01, 0.0, 0.0296),
        X_BJ=Pose(),
        axis=Z,
    )
    engine.add_joint(held)
    assert largest_force(engine, 50) < 5.0


def test_a_box_that_is_jammed_between_walls_stays():
    wall = Body(name="wall", links=(root(mass=0.0, collision=(block(0.1, 1.0, 1.0),)),))
    other = replace(wall, name="other")
    box = moving(lone(block(0.1, 0.1, 0.1), inertia=2e-3 * np.eye(3)), at(z=0.05))
    engine, _, _, _, jammed = world(
        floor(), fixed(wall, at(-0.0997)), fixed(other, at(0.0997)), box
    )
    assert largest_force(engine, 100) < 3.0 * G
    np.testing.assert_allclose(jammed.motion.p[0], [0.0, 0.0, 0.05], atol=2e-4)


@pytest.mark.parametrize("ratio", [1.0, 0.05])
def test_loads_beyond_all_weights_are_carried(ratio):
    """A slide, and one whose rotor makes it 400 times as inert, press on a wall with 2 kN."""
    slide = child(
        "A", "BASE", PRISMATIC, X, mass=0.1, collision=(block(0.1, 0.1, 0.1),),
        inertia=INERTIA, rotor=40.0 if ratio < 1.0 else 0.0,
    )  # fmt: skip
    wall = Body(name="wall", links=(root(mass=0.0, collision=(block(0.1, 1.0, 1.0),)),))
    body = Body(name="press", links=(root(), slide))
    engine, press, _ = world(fixed(body), fixed(wall, at(0.0999)))
    press.drive.effort[0] = 2000.0
    engine.step(500)
    engine.record_contacts = True
    engine.step()
    points = engine.contact_points()
    assert np.abs(points.force[:, 0]).sum() == pytest.approx(2000.0, rel=1e-6)
    assert press.motion.q[0] == pytest.approx(0.0, abs=1e-5)
    saved = engine.save()
    engine.step(25)
    ahead = engine.save()
    engine.restore(saved)
    engine.step(25)
    assert all(np.array_equal(ahead[key], array) for key, array in engine.save().items())


def test_fingers_that_overlap_along_their_axis_separate():
    engine, gripper = world(fixed(hand(PRISMATIC, X, 0.9e-3)))
    assert largest_force(engine, 300) < 20.0
    apart = gripper.motion.p[2, 0] - gripper.motion.p[1, 0]
    assert apart > SIZE[0] - 1.1e-4  # as far as surface_layer
