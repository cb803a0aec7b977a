"""BodyState, against an independent system and against mechanics itself."""

import numpy as np
import pytest
import reference_data
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import needs_shared
from reference_dynamics import check_dynamics

from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.kinematics import BodyState
from hrp_model.rigid import Pose, axis_angle_matrix, rpy_matrix

FILES = [row["file"] for row in reference_data.index() if row["loaded"] and row["links"] > 1]


@needs_shared
@pytest.mark.parametrize("file", FILES)
def test_dynamics_agree_with_the_reference(file):
    """With bodies made of the reference's own numbers, so that no reader is involved."""
    reference = reference_data.load(file)
    check_dynamics(reference_data.body_of(reference), reference)


def random_body(seed, links=9, root=JointType.FREE):
    """A tree with every kind of joint, turned frames and rotors."""
    rng = np.random.default_rng(seed)
    kinds = [JointType.REVOLUTE, JointType.PRISMATIC, JointType.FIXED, JointType.TRACK]
    made = []
    for i in range(links):
        axis = rng.normal(size=3)
        A = rng.normal(size=(3, 3))
        made.append(
            Link(
                name=f"L{i}",
                parent=f"L{rng.integers(i)}" if i else None,
                joint=Joint(
                    type=kinds[rng.choice(4, p=[0.5, 0.3, 0.1, 0.1])] if i else root,
                    name=f"L{i}",
                    id=None if i % 3 == 0 else links - i,
                    axis=axis / np.linalg.norm(axis),
                    initial=rng.normal(),
                    equivalent_rotor_inertia=rng.uniform(0, 0.1),
                ),
                X_PL=Pose(rpy_matrix(*rng.normal(size=3)), rng.normal(size=3)),
                mass=rng.uniform(0.1, 3),
                center_of_mass=rng.normal(size=3),
                inertia=A @ A.T + np.eye(3),
            )
        )
    return Body(name=f"random {seed}", links=tuple(made))


def random_state(seed, **kwargs):
    state = BodyState(random_body(seed, **kwargs))
    rng = np.random.default_rng(seed + 1000)
    for array in (state.q, state.dq, state.ddq):
        array[:] = rng.normal(size=array.shape)
    state.p[0], state.R[0] = rng.normal(size=3), rpy_matrix(*rng.normal(size=3))
    for array in (state.v, state.w, state.dv, state.dw):
        array[0] = rng.normal(size=3)
    state.calc_forward_kinematics(velocity=True, acceleration=True)
    return state


def slow_poses(state):
    """T_child = T_parent Trans(b) Rot(Rb) J(q), one link after the other."""
    q = dict(zip((x.name for x in state.body.moving_links), state.q, strict=True))
    poses = {}
    for link in state.body.links:
        if link.parent is None:
            poses[link.name] = Pose(state.R[0], state.p[0])
            continue
        motion = Pose()
        if link.joint.type is JointType.REVOLUTE:
            motion = Pose(axis_angle_matrix(link.joint.axis, q[link.name]))
        elif link.joint.type is JointType.PRISMATIC:
            motion = Pose(p=q[link.name] * link.joint.axis)
        poses[link.name] = poses[link.parent] @ link.X_PL @ motion
    return poses


SEEDS = st.integers(0, 2**20)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_poses_follow_the_joint_rule(seed):
    state = random_state(seed)
    for i, pose in enumerate(slow_poses(state).values()):
        np.testing.assert_allclose(state.p[i], pose.p, atol=1e-12)
        np.testing.assert_allclose(state.R[i], pose.R, atol=1e-12)


def advanced(state, h):
    """The same motion a time h later, by its Taylor series; exact to second order."""
    later = BodyState(state.body)
    later.q[:] = state.q + h * state.dq + h * h / 2 * state.ddq
    later.dq[:] = state.dq + h * state.ddq
    later.p[0] = state.p[0] + h * state.v[0] + h * h / 2 * state.dv[0]
    turn = h * state.w[0] + h * h / 2 * state.dw[0]
    angle = np.linalg.norm(turn)
    later.R[0] = axis_angle_matrix(turn / angle, angle) @ state.R[0]
    later.v[0] = state.v[0] + h * state.dv[0]
    later.w[0] = state.w[0] + h * state.dw[0]
    later.calc_forward_kinematics(velocity=True)
    return later


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_velocities_and_accelerations_are_derivatives(seed):
    state = random_state(seed)
    h = 1e-5
    before, after = advanced(state, -h), advanced(state, h)
    np.testing.assert_allclose((after.p - before.p) / (2 * h), state.v, atol=1e-6)
    np.testing.assert_allclose((after.v - before.v) / (2 * h), state.dv, atol=1e-5)
    np.testing.assert_allclose((after.w - before.w) / (2 * h), state.dw, atol=1e-5)
    spin = (after.R - before.R) / (2 * h) @ state.R.transpose(0, 2, 1)
    np.testing.assert_allclose(spin[:, [2, 0, 1], [1, 2, 0]], state.w, atol=1e-6)


def kinetic_energy(state):
    energy = 0.0
    for link, R, v, w in zip(state.body.links, state.R, state.v, state.w, strict=True):
        v_c = v + np.cross(w, R @ link.center_of_mass)
        energy += link.mass * v_c @ v_c / 2 + w @ (R @ link.inertia @ R.T) @ w / 2
    rotors = [x.joint.equivalent_rotor_inertia for x in state.body.moving_links]
    return energy + np.sum(rotors * state.dq**2) / 2


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_mass_matrix_gives_the_kinetic_energy(seed):
    state = random_state(seed)
    M = state.calc_mass_matrix()
    motion = np.concatenate([state.v[0], state.w[0], state.dq])
    np.testing.assert_allclose(M, M.T, atol=1e-10)
    assert motion @ M @ motion / 2 == pytest.approx(kinetic_energy(state), rel=1e-10)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_inverse_dynamics_and_mass_matrix_are_one_equation(seed):
    """u(ddq) - u(0) = M ddq, for the root's wrench about its own origin as well."""
    state = random_state(seed)
    M = state.calc_mass_matrix()
    acceleration = np.concatenate([state.dv[0], state.dw[0], state.ddq])

    def efforts():
        force, moment = state.calc_inverse_dynamics()
        return np.concatenate([force, moment - np.cross(state.p[0], force), state.u])

    moving = efforts()
    state.ddq[:] = state.dv[0] = state.dw[0] = 0.0
    np.testing.assert_allclose(moving - efforts(), M @ acceleration, atol=1e-9, rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_holding_still_is_inverse_dynamics_on_a_root_that_rises(seed):
    state = random_state(seed)
    expected = state.gravity_torque()
    state.dq[:] = state.ddq[:] = 0.0
    state.v[0] = state.w[0] = state.dw[0] = 0.0
    state.dv[0] = [0, 0, 9.80665]
    force, _ = state.calc_inverse_dynamics()
    np.testing.assert_allclose(state.u, expected, atol=1e-9)
    np.testing.assert_allclose(force, [0, 0, 9.80665 * state.body.total_mass], atol=1e-9)


def test_a_fixed_root_has_no_rows():
    free, fixed = (random_state(3, root=kind) for kind in (JointType.FREE, JointType.FIXED))
    np.testing.assert_allclose(fixed.calc_mass_matrix(), free.calc_mass_matrix()[6:, 6:])


def test_a_joint_above_the_root_moves_nothing():
    state = random_state(3, root=JointType.REVOLUTE)
    i = [link.name for link in state.body.moving_links].index("L0")
    before = state.p.copy()
    state.q[i] += 1.0
    state.calc_forward_kinematics()
    np.testing.assert_array_equal(state.p, before)
    assert state.gravity_torque()[i] == 0.0


def test_a_new_state_is_the_models_own_posture():
    body = random_body(5)
    state = BodyState(body)
    np.testing.assert_array_equal(state.p[0], body.root.X_PL.p)
    np.testing.assert_array_equal(state.R[0], body.root.X_PL.R)
    np.testing.assert_array_equal(state.q, [x.joint.initial for x in body.moving_links])
    for i, pose in enumerate(slow_poses(state).values()):
        np.testing.assert_allclose(state.p[i], pose.p, atol=1e-12)


def test_a_body_without_joints_has_poses_too():
    body = Body(
        name="stone",
        links=(Link(name="S", parent=None, joint=Joint(type=JointType.FIXED, name="S"), mass=2),),
    )
    state = BodyState(body)
    assert state.calc_mass_matrix().shape == (0, 0)
    assert state.calc_cm().tolist() == [0, 0, 0]
    force, moment = state.calc_inverse_dynamics()
    assert force.tolist() == moment.tolist() == [0, 0, 0]


def test_a_body_without_mass_has_no_centre_of_mass():
    body = Body(
        name="ghost",
        links=(Link(name="G", parent=None, joint=Joint(type=JointType.FIXED, name="G")),),
    )
    with pytest.raises(ValueError, match="'ghost' has no mass"):
        BodyState(body).calc_cm()
