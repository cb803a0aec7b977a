"""The free motion of a body as MuJoCo computes it: another library, another formulation.

MuJoCo has minimal coordinates, where ODE has constraints, and integrates by Runge-Kutta of
fourth order: at a tenth of a millisecond its error is some 1e-10 rad after a second.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from hrp_model.body import JointType

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

JOINTS = {JointType.REVOLUTE: "hinge", JointType.PRISMATIC: "slide"}


def free_motion(body, seconds, *, q, dq=None, root=None, gravity=(0.0, 0.0, -9.80665)):
    """Return joint positions and the root's position after free motion.

    Args:
        body: The model, without contacts and limits; its root is fixed unless root is given.
        seconds: How long.
        q, dq: Where the joints start, in the order of ``body.moving_links``.
        root: Velocity (3,) and angular velocity (3,) of the root, in world axes, at the origin.
        gravity: In [m/s^2].
    """
    model = mujoco.MjModel.from_xml_string(_mjcf(body, gravity, is_free=root is not None))
    data = mujoco.MjData(model)
    for i, link in enumerate(body.moving_links):
        joint = model.joint(link.name)
        data.qpos[joint.qposadr[0]] = q[i]
        data.qvel[joint.dofadr[0]] = 0.0 if dq is None else dq[i]
    if root is not None:
        data.qvel[:3], data.qvel[3:6] = root  # the root's axes are the world's at the start
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    places = [model.joint(link.name).qposadr[0] for link in body.moving_links]
    return data.qpos[places].copy(), data.body(body.root.name).xpos.copy()


def geared_motion(body, seconds, *, gravity=(0.0, 0.0, -9.80665)):
    """Return joint positions after motion from rest, of a fixed body whose mimic joints hold.

    MuJoCo computes inertias and forces of the free body, which are projected on the independent
    joints and integrated by SciPy.

    Args:
        body: The model, without contacts, limits and friction.
        seconds: How long.
        gravity: In [m/s^2].
    """
    model = mujoco.MjModel.from_xml_string(_mjcf(body, gravity, is_free=False))
    data = mujoco.MjData(model)
    links = body.moving_links
    places = [int(model.joint(link.name).qposadr[0]) for link in links]
    index = {link.name: i for i, link in enumerate(links)}
    free = [i for i, link in enumerate(links) if link.joint.mimic is None]
    G, c, d = np.zeros((len(links), len(free))), np.zeros(len(links)), np.zeros(len(links))
    for i, link in enumerate(links):
        mimic = link.joint.mimic
        leader = i if mimic is None else index[mimic.link]
        G[i, free.index(leader)] = 1.0 if mimic is None else mimic.multiplier
        c[i], d[i] = 0.0 if mimic is None else mimic.offset, link.joint.damping

    def rate(_, state):
        q, dq = state[: len(free)], state[len(free) :]
        data.qpos[places], data.qvel[places] = G @ q + c, G @ dq
        mujoco.mj_forward(model, data)
        M = np.column_stack([_momenta(model, data, e) for e in np.eye(model.nv)])
        M = M[np.ix_(places, places)]
        force = -data.qfrc_bias[places] - d * data.qvel[places]
        return np.concatenate([dq, np.linalg.solve(G.T @ M @ G, G.T @ force)])

    state = np.zeros(2 * len(free))
    found = solve_ivp(rate, (0.0, seconds), state, rtol=1e-9, atol=1e-11)
    return G @ found.y[: len(free), -1] + c


def _momenta(model, data, dq):
    """Return M dq."""
    product = np.zeros(model.nv)
    mujoco.mj_mulM(model, data, product, dq)
    return product


def _numbers(values):
    return " ".join(repr(float(v)) for v in np.ravel(values))


def _mjcf(body, gravity, *, is_free):
    children = {link.name: [] for link in body.links}
    for link in body.links[1:]:
        children[link.parent].append(link)

    def element(link):
        place = f'pos="{_numbers(link.X_PL.p)}"' if link.parent else ""
        if link.parent:
            R = link.X_PL.R
            place += f' xyaxes="{_numbers(R[:, 0])} {_numbers(R[:, 1])}"'
        text = f'<body name="{link.name}" {place}>'
        if link.parent is None and is_free:
            text += '<freejoint name="root"/>'
        elif link.parent and link.joint.type in JOINTS:
            text += (
                f'<joint name="{link.name}" type="{JOINTS[link.joint.type]}" '
                f'axis="{_numbers(link.joint.axis)}" '
                f'armature="{link.joint.equivalent_rotor_inertia!r}"/>'
            )
        if link.mass > 0.0 and (link.parent or is_free):
            inertia = link.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            text += (
                f'<inertial mass="{float(link.mass)!r}" pos="{_numbers(link.center_of_mass)}" '
                f'fullinertia="{_numbers(inertia)}"/>'
            )
        return text + "".join(map(element, children[link.name])) + "</body>"

    return (
        '<mujoco><compiler angle="radian"/>'
        f'<option timestep="1e-4" integrator="RK4" gravity="{_numbers(gravity)}"/>'
        f"<worldbody>{element(body.root)}</worldbody></mujoco>"
    )
