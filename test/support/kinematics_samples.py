"""Bodies with random trees in random motion, and their mechanics computed link by link."""

import numpy as np

from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.kinematics import BodyState
from hrp_model.rigid import Pose, axis_angle_matrix, rpy_matrix

PRINCIPAL = [*np.eye(3), *-np.eye(3)]


def random_body(seed, links=9, root=JointType.FREE):
    """A tree with every kind of joint, turned frames and rotors; axes are oblique or not."""
    rng = np.random.default_rng(seed)
    kinds = [JointType.REVOLUTE, JointType.PRISMATIC, JointType.FIXED, JointType.TRACK]
    made = []
    for i in range(links):
        axis = rng.normal(size=3) if rng.random() < 0.6 else PRINCIPAL[rng.integers(6)]
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
                X_PL=Pose(random_frame(rng), rng.normal(size=3) * rng.integers(0, 2, 3)),
                mass=rng.uniform(0.1, 3),
                center_of_mass=rng.normal(size=3),
                inertia=A @ A.T + np.eye(3),
            )
        )
    return Body(name=f"random {seed}", links=tuple(made))


def random_frame(rng):
    """A rotation: none, one by right angles, or any."""
    kind = rng.integers(3)
    if kind == 0:
        return np.eye(3)
    if kind == 1:
        return np.round(rpy_matrix(*(np.pi / 2 * rng.integers(0, 4, 3))))
    return rpy_matrix(*rng.normal(size=3))


def random_state(seed, **kwargs):
    state = BodyState(random_body(seed, **kwargs))
    move_randomly(state, seed + 1000)
    return state


def move_randomly(state, seed):
    """Set joints and root to random positions, velocities and accelerations."""
    rng = np.random.default_rng(seed)
    for array in (state.q, state.dq, state.ddq):
        array[:] = rng.normal(size=array.shape)
    state.p[0], state.R[0] = rng.normal(size=3), rpy_matrix(*rng.normal(size=3))
    for array in (state.v, state.w, state.dv, state.dw):
        array[0] = rng.normal(size=3)
    state.calc_forward_kinematics(velocity=True, acceleration=True)


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


def advanced(state, h):
    """The same motion a time h later, by its Taylor series; exact to second order."""
    later = BodyState(state.body, fix_root=state.fix_root)
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


def rate(state, quantity, h=1e-5):
    """The time derivative of a function of a state, by central differences."""
    before, after = (np.asarray(quantity(advanced(state, t))) for t in (-h, h))
    return (after - before) / (2 * h)
