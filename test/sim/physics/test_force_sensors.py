"""The wrench that a parent applies to a watched link, against statics and dynamics."""

import numpy as np
import pytest
from sim.physics.scenes import (
    FIXED,
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
    moving,
    one_joint,
    placed,
    root,
)

from hrp_model.body import Body
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box
from hrp_model.rigid import axis_angle_matrix

TILT = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.9)
COM = np.array([0.2, -0.1, 0.3])


@pytest.mark.parametrize("kind", [FIXED, REVOLUTE, PRISMATIC])
@pytest.mark.parametrize("kp", [1e6, 0.0])
@pytest.mark.parametrize("axis", [X, Z])
def test_a_held_mass_weighs_on_the_link_origin(world, kind, kp, axis):
    body = one_joint(
        kind, axis, watched=True, X_PL=at(0.1, 0.2, 0.3, TILT), center_of_mass=COM, mass=2.0
    )
    engine, arm = world(fixed(body))
    r = TILT @ COM
    expected_force = np.array([0.0, 0.0, 2.0 * G])
    expected_torque = np.cross(r, expected_force)
    if kind is not FIXED:
        along = TILT @ axis
        hold = along @ (expected_torque if kind is REVOLUTE else expected_force)
        arm.drive.kp[:], arm.drive.kd[:] = kp, kp / 10.0
        if kp == 0.0:
            arm.drive.effort[:] = hold
    engine.step(200 if kp else 3)
    np.testing.assert_allclose(arm.motion.force[1], expected_force, atol=2e-3)
    np.testing.assert_allclose(arm.motion.torque[1], expected_torque, atol=2e-3)


def test_a_chain_weighs_as_a_whole(world):
    links = (
        root(),
        child("A", "BASE", FIXED, X_PL=at(0.1, 0.0, 0.5), center_of_mass=0.1 * Y),
        child("B", "A", REVOLUTE, X, X_PL=at(0.0, 0.3, 0.0), mass=3.0, center_of_mass=0.2 * Y),
    )
    body = Body(name="chain", links=links, devices=(ForceSensor(name="f", link="A"),))
    engine, chain = world(fixed(body))
    chain.drive.kp[:], chain.drive.kd[:] = 1e6, 1e4
    engine.step(500)
    np.testing.assert_allclose(chain.motion.force[1], [0, 0, 4.0 * G], atol=1e-3)
    np.testing.assert_allclose(chain.motion.torque[1], [(0.1 + 3.0 * 0.5) * G, 0, 0], atol=1e-3)
    np.testing.assert_array_equal(chain.motion.force[2], 0.0)


def test_a_spinning_offset_mass_is_held_by_a_centripetal_force(world):
    body = one_joint(REVOLUTE, Z, watched=True, mass=2.0, center_of_mass=0.3 * X)
    engine, arm = world(fixed(body, dq=np.array([5.0])), gravity=(0, 0, 0))
    engine.step(100)
    inward = -arm.motion.R[1] @ X * 2.0 * 0.3 * 25.0
    np.testing.assert_allclose(arm.motion.force[1], inward, atol=0.1)
    np.testing.assert_allclose(arm.motion.torque[1], 0.0, atol=1e-3)


def test_an_accelerated_slider_feels_drive_and_rotor(world):
    body = one_joint(PRISMATIC, X, watched=True, mass=2.0, rotor=3.0)
    engine, arm = world(fixed(body), gravity=(0, 0, 0))
    arm.drive.effort[:] = 10.0
    engine.step(10)
    # 10 N move 5 kg, of which the link itself is 2.
    np.testing.assert_allclose(arm.motion.force[1], [4.0, 0.0, 0.0], atol=1e-4)


@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
def test_what_drove_a_joint_is_not_felt_when_it_is_limp_again(world, kind):
    engine, arm = world(fixed(one_joint(kind, Z, watched=True)), gravity=(0.0, 0.0, 0.0))
    arm.drive.kp[:], arm.drive.q[:] = 100.0, 1.0
    engine.step(5)
    felt = np.concatenate([arm.motion.force[1], arm.motion.torque[1]])
    assert np.abs(felt).max() > 1.0
    arm.drive.kp[:] = 0.0
    engine.step(5)
    np.testing.assert_allclose(arm.motion.force[1], 0.0, atol=1e-6)
    np.testing.assert_allclose(arm.motion.torque[1], 0.0, atol=1e-6)


def test_in_free_fall_nothing_pushes(world):
    body = one_joint(FIXED, watched=True, free=True, X_PL=at(0.3, 0.2, 0.1), center_of_mass=COM)
    engine, thing = world(moving(body, at(z=10.0)))
    engine.step(100)
    np.testing.assert_allclose(thing.motion.force[1], 0.0, atol=1e-6)
    np.testing.assert_allclose(thing.motion.torque[1], 0.0, atol=1e-6)


def test_two_feet_bear_the_weight_of_a_standing_body(world):
    sole = (placed(Box(np.array([0.2, 0.1, 0.02]))),)
    feet = [
        child(f"FOOT{k}", "BASE", FIXED, X_PL=at(0.0, y, -0.5), mass=0.5, collision=sole)
        for k, y in enumerate((0.15, -0.15))
    ]
    sensors = tuple(ForceSensor(name=foot.name, link=foot.name) for foot in feet)
    body = Body(
        name="stand",
        links=(root(free=True, mass=4.0, center_of_mass=0.05 * Y), *feet),
        devices=sensors,
    )
    engine, stand, _ = world(moving(body, at(z=0.51)), floor())
    engine.step(1000)
    force = stand.motion.force[1:]
    # Each foot bears on the ground more than its parent presses it down, by its own weight.
    np.testing.assert_allclose(force.sum(axis=0), [0, 0, -4.0 * G], atol=0.02)
    torque = stand.motion.torque[1:] + np.cross(stand.motion.p[1:], force)
    np.testing.assert_allclose(torque.sum(axis=0), [-4.0 * G * 0.05, 0, 0], atol=0.02)
