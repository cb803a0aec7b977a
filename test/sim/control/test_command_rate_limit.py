"""How a joint moves after a command of its position: closed forms, with the physics."""

from dataclasses import replace

import numpy as np
import pytest
from sim.physics.scenes import REVOLUTE, Z, at, fixed, one_joint

from hrp_model import Range
from hrp_sim import (
    BodyEntry,
    CommandRateLimit,
    ControlSettings,
    JointCommand,
    JointTrajectory,
    PhysicsSettings,
    Simulation,
    TrajectoryPoint,
    WorldConfig,
)

INERTIA = 0.1  # about the joint, in [kg m^2]
OMEGA = 40.0  # [rad/s], of the servo
KP, KD = OMEGA**2 * INERTIA, 2.0 * OMEGA * INERTIA  # critically damped
LIMIT = 2.0  # [rad/s]
STEP_NS = 1_000_000
STEP = 1e-9 * STEP_NS
UNLIMITED = Range()
MODEL, NONE = CommandRateLimit.MODEL, CommandRateLimit.NONE


def arm(velocity=UNLIMITED, rate_limit=MODEL, position=UNLIMITED):
    """Return a world without gravity: one joint, a wheel on it, a servo of known gains."""
    body = one_joint(REVOLUTE, Z, inertia=INERTIA * np.eye(3), X_PL=at(z=1.0))
    base, link = body.links
    joint = replace(link.joint, velocity=velocity, position=position)
    body = replace(body, links=(base, replace(link, joint=joint)))
    control = ControlSettings(kp=KP, kd=KD, rate_limit=rate_limit)
    physics = PhysicsSettings(gravity=(0.0, 0.0, 0.0), time_step=STEP)
    return WorldConfig(physics=physics, bodies=(BodyEntry(placement=fixed(body), control=control),))


def positions(simulation, steps):
    """Return the joint's position after each step, and what its servo aimed at in it."""
    motion, drive = simulation.bodies["one"].motion, simulation.bodies["one"].drive
    found = []
    for _ in range(steps):
        simulation.step()
        found.append((float(motion.q[0]), float(drive.q[0])))
    return np.array(found).T


def commanded(config, *sent, steps=300):
    simulation = Simulation(config)
    for command in sent:
        simulation.command("one", command)
    return positions(simulation, steps)


def goto(position):
    return JointCommand(["ARM"], position=[position])


def response(targets):
    """Return how a mass on a spring and damper follows targets.

    It moves freely for half a step at both ends; the drive is implicit in between.
    """
    q, dq, found = 0.0, 0.0, []
    for target in targets:
        q += STEP / 2.0 * dq
        dq = (INERTIA * dq + STEP * KP * (target - q)) / (INERTIA + STEP * KD + STEP**2 * KP)
        q += STEP / 2.0 * dq
        found.append(q)
    return np.array(found)


TIMES = STEP * np.arange(1, 301)
DECAY = np.exp(-OMEGA * TIMES)


@pytest.mark.parametrize(
    ("velocity", "rate_limit"),
    [(UNLIMITED, MODEL), (Range(-LIMIT, LIMIT), NONE)],
    ids=["no limit in the model", "no limit wanted"],
)
def test_without_a_limit_a_step_gives_the_response_of_the_servo(velocity, rate_limit):
    q, aimed = commanded(arm(velocity, rate_limit), goto(1.0))
    assert (aimed == 1.0).all()
    np.testing.assert_allclose(q, response(np.ones(300)), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(q, 1.0 - (1.0 + OMEGA * TIMES) * DECAY, atol=0.02)  # order h


def test_with_a_limit_a_step_gives_a_ramp_and_stops_on_the_spot():
    q, aimed = commanded(arm(Range(-LIMIT, LIMIT)), goto(0.5))
    ramp = np.minimum(LIMIT * TIMES, 0.5)
    np.testing.assert_allclose(aimed, ramp, rtol=0.0, atol=1e-12)
    assert aimed[-1] == 0.5
    np.testing.assert_allclose(q, response(ramp), rtol=0.0, atol=1e-9)
    lag = LIMIT * 2.0 / OMEGA  # kd / kp, as no velocity was commanded
    rising = TIMES < 0.25
    exact = LIMIT * TIMES - lag + (lag + LIMIT * TIMES) * DECAY
    np.testing.assert_allclose(q[rising], exact[rising], atol=0.01)
    assert np.diff(q).max() <= LIMIT * STEP * (1.0 + 1e-9)


@pytest.mark.parametrize("rate_limit", CommandRateLimit)
def test_positions_are_clipped_to_the_range_of_the_model(rate_limit):
    q, aimed = commanded(arm(rate_limit=rate_limit, position=Range(-0.1, 0.2)), goto(3.0))
    assert (aimed == 0.2).all()
    assert q[-1] == pytest.approx(0.2, abs=1e-3)


@pytest.mark.parametrize("rate_limit", CommandRateLimit)
def test_trajectories_are_not_slewed(rate_limit):
    """They have speeds of their own: this one is five times as fast as the model's limit."""
    point = TrajectoryPoint(100 * STEP_NS, [5.0 * LIMIT * 0.1])
    _, aimed = commanded(
        arm(Range(-LIMIT, LIMIT), rate_limit), JointTrajectory(["ARM"], [point]), steps=150
    )
    line = np.minimum(5.0 * LIMIT * TIMES[:150], point.positions[0])
    np.testing.assert_allclose(aimed, line, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("rate_limit", CommandRateLimit)
def test_a_run_that_goes_on_from_a_saved_state_is_the_same_to_the_bit(rate_limit):
    config = arm(Range(-LIMIT, LIMIT), rate_limit)
    first = Simulation(config)
    first.command("one", goto(0.5))
    positions(first, 37)
    saved = first.save()
    expected = positions(first, 300).tolist(), first.state_hash()
    second = Simulation(config)
    second.restore(saved)
    assert (positions(second, 300).tolist(), second.state_hash()) == expected
