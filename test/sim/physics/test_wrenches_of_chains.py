"""What force sensors in moving chains feel, against pinocchio's constraint forces.

A wrench is the mean over a step. It is compared with the motion half-way through the step, where
it is exact to second order; and with the state that the step led to, where it lags by half a step.
"""

from itertools import pairwise

import numpy as np
import pytest
from sim.physics.bodies import chain, with_sensors
from sim.physics.scenes import (
    FIXED,
    PRISMATIC,
    REVOLUTE,
    G,
    X,
    Y,
    at,
    child,
    fixed,
    moving,
    root,
    world,
)
from sim.physics.wrench_peer import Errors, between, felt, wrenches

from hrp_model.body import Body
from hrp_model.devices import ForceSensor
from hrp_model.rigid import axis_angle_matrix

KINDS = pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC, FIXED])
ROTORS = pytest.mark.parametrize("rotor", [0.0, 0.3])
TILT = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.9)
LEAN = axis_angle_matrix(np.array([0.0, 0.8, 0.6]), -1.1)
Q = np.array([0.3, -0.5, 0.1, 0.4, -0.2])
DQ = np.array([1.0, -2.0, 0.5, 1.5, -1.0])
SAMPLES = 25


def crane(kind, rotor=0.0):
    """A boom on a hinge, a hook on this joint, and a load that is fixed to the hook, off-centre."""
    links = (
        root(),
        child("BOOM", "BASE", REVOLUTE, X, X_PL=at(0.1, 0.2, 0.0, TILT), center_of_mass=0.2 * Y),
        child("HOOK", "BOOM", kind, Y, X_PL=at(0.0, 0.4, 0.1, LEAN), mass=0.3, rotor=rotor),
        child("LOAD", "HOOK", FIXED, X_PL=at(0.2, -0.1, 0.3, TILT), mass=2.0),
    )
    sensors = tuple(ForceSensor(name=name, link=name) for name in ("BOOM", "HOOK"))
    return Body(name="crane", links=links, devices=sensors)


def sampled(engine, simulated, steps, change=lambda: None):
    """Step, and yield now and then the motion before and after a step."""
    every = steps // SAMPLES
    for _ in range(SAMPLES):
        for _ in range(every - 1):
            change()
            engine.step()
        before = simulated.motion.copy()
        change()
        engine.step()
        yield before, simulated.motion


@KINDS
def test_a_load_that_is_held_weighs_on_every_joint(kind):
    body = crane(kind)
    engine, simulated = world(fixed(body, q=np.full(len(body.moving_links), 0.2)))
    simulated.drive.kp[:], simulated.drive.kd[:], simulated.drive.q[:] = 1e7, 1e5, 0.2
    engine.step(300)
    errors = Errors()
    errors.add(
        felt(body, simulated.motion), wrenches(body, simulated.motion, simulated.motion.effort)
    )
    assert errors.worst < 1e-6
    load, hook = (body.link_index(name) for name in ("LOAD", "HOOK"))
    np.testing.assert_allclose(
        simulated.motion.force[hook], [0.0, 0.0, 2.3 * G], rtol=1e-6, atol=1e-6
    )
    arm = simulated.motion.p[load] - simulated.motion.p[hook]
    np.testing.assert_allclose(
        simulated.motion.torque[hook], np.cross(arm, [0.0, 0.0, 2.0 * G]), atol=1e-5
    )


def swinging_crane(kind, rotor=0.0, steps=1000):
    """The crane let go; a slider hangs on a spring, or it would be gone."""
    body = crane(kind, rotor)
    start = np.array([0.4, 0.1])[: len(body.moving_links)]
    engine, simulated = world(fixed(body, q=start), time_step=1.0 / steps)
    if kind is PRISMATIC:
        simulated.drive.kp[1] = 200.0
    return body, engine, simulated


@KINDS
@ROTORS
def test_a_load_that_swings_pulls_at_every_joint(kind, rotor):
    body, engine, simulated = swinging_crane(kind, rotor)
    errors = Errors()
    for before, after in sampled(engine, simulated, 500):
        errors.add(felt(body, after), wrenches(body, between(before, after), after.effort))
    assert errors.worst < 2e-4


@KINDS
def test_what_swings_is_felt_to_first_order_in_the_step(kind):
    """At the end of the step, the wrench is that of half a step ago."""
    worst = []
    for steps in (1000, 2000, 4000):
        body, engine, simulated = swinging_crane(kind, steps=steps)
        errors = Errors()
        for _, now in sampled(engine, simulated, steps // 2):
            errors.add(felt(body, now), wrenches(body, now, now.effort))
        worst.append(errors.worst)
    assert worst[0] < 3e-3
    assert all(b == pytest.approx(a / 2.0, rel=0.15) for a, b in pairwise(worst))


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("rotors", [False, True])
def test_a_branched_chain_is_felt_in_all_its_joints_to_second_order(free, rotors):
    body = with_sensors(chain(free=free, rotors=rotors))
    thrown = {"v": np.array([0.3, -0.2, 0.5]), "w": np.array([1.0, 2.0, -1.5])}
    place = moving(body, q=Q, dq=DQ, **thrown) if free else fixed(body, q=Q, dq=DQ)
    limp, worst = np.zeros(5), []
    for steps in (1000, 2000):
        engine, simulated = world(place, time_step=1.0 / steps)
        errors = Errors()
        for before, after in sampled(engine, simulated, steps // 2):
            middle = between(before, after)
            errors.add(felt(body, after), wrenches(body, middle, limp, held=not free))
        worst.append(errors.worst)
    assert worst[0] < 2e-4
    assert worst[1] == pytest.approx(worst[0] / 4.0, rel=0.1)


@pytest.mark.parametrize("rotors", [False, True])
def test_servos_that_drive_a_chain_are_felt_in_its_joints(rotors):
    body = with_sensors(chain(rotors=rotors))
    engine, simulated = world(fixed(body, q=Q))
    simulated.drive.kp[:], simulated.drive.kd[:], simulated.drive.effort[:] = 80.0, 6.0, 0.5
    errors = Errors()

    def sway():
        t = engine.state.time_ns * 1e-9
        simulated.drive.q[:] = Q + 0.3 * np.sin(4.0 * t) * np.array([1.0, -1.0, 0.2, 0.5, 1.0])

    for before, after in sampled(engine, simulated, 1000, sway):
        errors.add(felt(body, after), wrenches(body, between(before, after), after.effort))
    assert errors.worst < 5e-4


PUSH = (2, np.array([4.0, -3.0, 2.0]), np.array([0.3, 0.2, -0.4]))  # on L1, the second link


def pushed(body, *, is_pushed=True):
    engine, simulated = world(fixed(body, q=Q))
    if is_pushed:
        simulated.wrench.force[PUSH[0]], simulated.wrench.torque[PUSH[0]] = PUSH[1:]
    return engine, simulated


def test_pushes_on_what_a_chain_carries_are_felt_as_pinocchio_says():
    body = with_sensors(chain())
    engine, simulated = pushed(body)
    errors = Errors()
    for before, after in sampled(engine, simulated, 400):
        middle = between(before, after)
        errors.add(felt(body, after), wrenches(body, middle, np.zeros(5), pushes=[PUSH]))
    assert errors.worst < 2e-3


def test_a_push_on_a_held_link_is_felt_below_it_and_not_beyond():
    body, found = with_sensors(chain()), []
    for is_pushed in (True, False):
        engine, simulated = pushed(body, is_pushed=is_pushed)
        simulated.drive.kp[:], simulated.drive.kd[:], simulated.drive.q[:] = 1e7, 1e5, Q
        engine.step(300)
        found.append(simulated.motion)
    link, force, torque = PUSH
    np.testing.assert_allclose(
        found[0].force - found[1].force, [[0.0] * 3, -force, -force, *[[0.0] * 3] * 3], atol=1e-4
    )
    arm = found[0].p[link] - found[0].p[1]
    np.testing.assert_allclose(
        found[0].torque - found[1].torque,
        [[0.0] * 3, -torque - np.cross(arm, force), -torque, *[[0.0] * 3] * 3],
        atol=1e-4,
    )
