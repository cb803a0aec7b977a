"""What joint states mean: efforts against inverse dynamics and closed forms, and when they hold."""

from dataclasses import replace

import numpy as np
import pytest
from paths import MODELS
from sim.physics.scenes import REVOLUTE, G, Y, fixed, one_joint, world

from hrp_model.kinematics import BodyState
from hrp_sim import JointCommand, Simulation, load_world
from hrp_sim.sensors import JointSensor

# As told to the drives of the arm of the models; the last joints carry little.
EFFORTS = [10.0, -20.0, 15.0, 3.0, -2.0, 1.0]


def arm_of_models(*, cfm=0.0, time_step=0.001, dq=None):
    """Return a simulation of the arm, and the arm: six joints with rotors, in the air."""
    config = load_world(MODELS / "worlds" / "arm.yaml")
    (entry,) = (e for e in config.bodies if e.placement.name == "arm")
    entry = replace(entry, placement=replace(entry.placement, dq=dq))
    physics = replace(config.physics, cfm=cfm, time_step=time_step)
    simulation = Simulation(replace(config, physics=physics, bodies=(entry,)))
    simulation.wanted = lambda name: False
    return simulation, simulation.bodies["arm"]


def sample(simulation):
    """Return the joint states after the next step, due or not."""
    simulation.step()
    return simulation.sensors["joint_states"].read(simulation.state)


def inverse_dynamics(body, q, dq, ddq):
    """Return the efforts that move an arm so, rotors included, by pinocchio."""
    peer = pytest.importorskip("pinocchio_model")
    state = BodyState(body)
    state.q[:], state.dq[:], state.ddq[:] = q, dq, ddq
    state.p[0], state.R[0] = body.root.X_PL.p, body.root.X_PL.R
    state.dv[0] = 0.0, 0.0, G  # gravity is a root that accelerates upwards
    return peer.Peer(state).efforts()[6:]


@pytest.mark.parametrize("cfm", [0.0, 1e-8, 1e-3])
def test_at_rest_efforts_are_the_torques_of_the_weight(cfm):
    """Joints hold exactly, however soft other constraints are."""
    simulation, arm = arm_of_models(cfm=cfm)
    for _ in range(1500):
        reading = sample(simulation)
    expected = inverse_dynamics(arm.body, reading.position, np.zeros(6), np.zeros(6))
    assert np.abs(expected).max() > 20.0
    np.testing.assert_allclose(reading.effort, expected, atol=1e-10)


def test_in_motion_efforts_are_those_of_inverse_dynamics_to_second_order_in_the_step():
    """In the middle of the step. Coriolis and centrifugal forces alone make up to 1.7 N m here."""
    errors = []
    for time_step in (1e-3, 5e-4):
        simulation, arm = arm_of_models(time_step=time_step, dq=np.array([0.5, -0.8, 1, 1, -1, 2]))
        simulation.command("arm", JointCommand(joint_names(arm), effort=EFFORTS))
        before, after = [sample(simulation) for _ in range(round(0.05 / time_step))][-2:]
        ddq = (after.velocity - before.velocity) / time_step
        q, dq = ((after.position + before.position) / 2.0, (after.velocity + before.velocity) / 2.0)
        errors.append(after.effort - inverse_dynamics(arm.body, q, dq, ddq))
    assert np.abs(errors[0]).max() < 1e-3
    np.testing.assert_allclose(errors[1], errors[0] / 4.0, atol=2e-5)


def joint_names(simulated):
    return [link.joint.name for link in simulated.body.moving_links]


def one_arm(engine):
    sensor = JointSensor(name="joint_states", body="one", rate_hz=500.0, joints=("ARM",))
    return lambda: sensor.read(engine.state)


def test_positions_and_velocities_are_those_at_the_end_of_the_step():
    engine, arm = world(fixed(one_joint(REVOLUTE, Y, rotor=0.04)), gravity=(0.0, 0.0, 0.0))
    arm.drive.effort[:] = 0.5
    engine.step(100)
    reading = one_arm(engine)()
    ddq, h = 0.5 / (0.01 + 0.04), 0.001
    assert reading.time_ns == 100_000_000
    assert reading.velocity[0] == pytest.approx(ddq * 100 * h, rel=1e-6)
    assert reading.position[0] == pytest.approx(ddq * (100 * h) ** 2 / 2, rel=1e-6)
