"""The free motion of a body as MuJoCo computes it: another library, another formulation.

MuJoCo has minimal coordinates, where ODE has constraints, and integrates by Runge-Kutta of
fourth order: at a tenth of a millisecond its error is some 1e-10 rad after a second.
"""

import numpy as np
import pytest

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
