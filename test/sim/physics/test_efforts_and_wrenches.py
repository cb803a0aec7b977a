"""How the effort that a joint reports and the wrench in it hang together.

Along its axis a joint gives to its link what its drive does, less what the rotor and viscous
friction take, and what Coulomb friction and stops add::

    axis . torque (of a slider: force) = effort - rotor ddq - damping dq + friction + stop

where dq is the rate that the step led to, and ddq its change over the step.
"""

from dataclasses import replace

import numpy as np
import pytest
from sim.physics.bodies import chain, with_sensors
from sim.physics.scenes import PRISMATIC, REVOLUTE, G, X, Y, Z, fixed, moving, one_joint

from hrp_model.body import Range

KINDS = pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
Q = np.array([0.3, -0.5, 0.1, 0.4, -0.2])
DQ = np.array([1.0, -2.0, 0.5, 1.5, -1.0])
DAMPING = (0.3, 0.0, 2.0, 0.1, 0.0)


def damped_chain(*, free=False, effort=None):
    body = with_sensors(chain(free=free))
    links = [body.root]
    for link, damping in zip(body.links[1:], DAMPING, strict=True):
        joint = replace(link.joint, damping=damping)
        if effort is not None:
            joint = replace(joint, effort=effort)
        links.append(replace(link, joint=joint))
    return replace(body, links=tuple(links))


def along_axes(simulated):
    """What each joint gives to its link along its axis, in the order of the joint vectors."""
    motion, body = simulated.motion, simulated.body
    found = []
    for link in body.moving_links:
        i = body.link_index(link.name)
        felt = motion.torque if link.joint.type is REVOLUTE else motion.force
        found.append(motion.R[i] @ link.joint.axis @ felt[i])
    return np.array(found)


def rest(engine, simulated):
    """Step, and return what is left of the relation above when the drive's part is known."""
    motion, joints = simulated.motion, [link.joint for link in simulated.body.moving_links]
    before = motion.dq.copy()
    engine.step()
    ddq = (motion.dq - before) / engine.settings.time_step
    rotor = np.array([joint.equivalent_rotor_inertia for joint in joints]) * ddq
    viscous = np.array([joint.damping for joint in joints]) * motion.dq
    return along_axes(simulated) - (motion.effort - rotor - viscous)


@pytest.mark.parametrize("gains", [(0.0, 0.0), (80.0, 6.0)])
@pytest.mark.parametrize("effort", [None, Range(-1.5, 2.0)])
def test_a_hinge_gives_its_link_the_effort_that_it_reports(world, gains, effort):
    body = damped_chain(effort=effort)
    engine, simulated = world(fixed(body, q=Q, dq=DQ))
    simulated.drive.kp[:], simulated.drive.kd[:] = gains
    simulated.drive.effort[:] = (1.0, -2.0, 3.0, 0.5, 0.3)
    hinges = [link.joint.type is REVOLUTE for link in body.moving_links]
    for _ in range(300):
        left = rest(engine, simulated)
        np.testing.assert_allclose(left[hinges], 0.0, atol=2e-5)
    assert np.abs(along_axes(simulated)[hinges]).max() > 0.5


def test_a_slider_on_a_turning_link_gives_it_the_effort_that_it_reports(world):
    engine, simulated = world(fixed(damped_chain(), q=Q, dq=DQ))
    for _ in range(300):
        assert rest(engine, simulated)[2] == pytest.approx(0.0, abs=1e-9)
    assert abs(along_axes(simulated)[2]) > 1.0


@KINDS
def test_a_free_body_s_joints_give_theirs_too(world, kind):
    body = damped_chain(free=True)
    engine, simulated = world(moving(body, q=Q, dq=DQ, w=np.array([1.0, 2.0, -1.5])))
    simulated.drive.effort[:] = 1.0
    chosen = [link.joint.type is kind for link in body.moving_links]
    for _ in range(300):
        np.testing.assert_allclose(rest(engine, simulated)[chosen], 0.0, atol=2e-2)


@KINDS
def test_coulomb_friction_is_in_the_wrench_and_not_in_the_effort(world, kind):
    axis = Y if kind is REVOLUTE else Z
    body = one_joint(kind, axis, watched=True, friction=0.8, rotor=0.1)
    engine, simulated = world(fixed(body, dq=np.array([30.0])), gravity=(0.0, 0.0, 0.0))
    simulated.drive.effort[:] = 0.3
    for _ in range(50):
        np.testing.assert_allclose(rest(engine, simulated), [-0.8], atol=1e-6)
    engine, simulated = world(fixed(body), gravity=(0.0, 0.0, 0.0))
    simulated.drive.effort[:] = 0.3  # less than friction: nothing moves, nothing gets through
    engine.step(10)
    np.testing.assert_allclose(rest(engine, simulated), [-0.3], atol=1e-6)


@KINDS
@pytest.mark.parametrize("gains", [(0.0, 0.0), (500.0, 20.0)])
def test_what_a_stop_gives_is_in_the_wrench_and_not_in_the_effort(world, kind, gains):
    """A servo that presses on a stop: the stop bears its effort, and the weight."""
    axis = Y if kind is REVOLUTE else Z
    body = one_joint(
        kind, axis, watched=True, mass=2.0, center_of_mass=0.5 * X, position=Range(-0.01, 0.01)
    )
    engine, simulated = world(fixed(body))
    simulated.drive.kp[:], simulated.drive.kd[:] = gains
    pressed = 0.2 if kind is REVOLUTE else -0.2  # down, both
    simulated.drive.q[:] = pressed
    engine.step(2000)
    effort = simulated.motion.effort[0]
    stop = rest(engine, simulated)[0]
    weight = -2.0 * G * 0.5 if kind is REVOLUTE else 2.0 * G
    assert simulated.motion.q[0] == pytest.approx(np.sign(pressed) * 0.01, abs=1e-4)
    assert effort == pytest.approx(gains[0] * (pressed - simulated.motion.q[0]), abs=1e-3)
    assert effort + stop == pytest.approx(weight, rel=1e-3)


@KINDS
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
