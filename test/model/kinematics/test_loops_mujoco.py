"""Closed loops against MuJoCo's equality constraints, which know nothing of ours."""

from dataclasses import replace

import numpy as np
import pytest
from loop_bodies import four_bar, hexapod, random_loops, scissor_lift, tilted

from hrp_model.body import ExtraJointType
from hrp_model.diagnostics import Diagnostics
from hrp_model.frames import body_frames
from hrp_model.kinematics.loops import LoopClosure, LoopError
from hrp_model.urdf import body_to_urdf

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

AXIS = np.array([1.0, -2.0, 0.5]) / np.sqrt(5.25)
MECHANISMS = {
    "hexapod": hexapod(),
    "four-bar": tilted(four_bar(0.2, 0.5, 0.4, 0.5), AXIS, 0.8),
    "scissor lift": tilted(scissor_lift(), AXIS, -1.1),
    # Of the models with an odd number the joint frames say how the ends are turned.
    **{f"random {seed}": random_loops(seed, links=12, chain=True, loops=1) for seed in (1, 5, 9)},
}
TYPES = {ExtraJointType.BALL, ExtraJointType.HINGE, ExtraJointType.FIXED}


class Peer:
    """The same robot in MuJoCo, its loops closed by constraints that hold points together."""

    def __init__(self, body, closure):
        diagnostics = Diagnostics.silent()
        frames = body_frames(body, diagnostics)
        spec = mujoco.MjSpec.from_string(body_to_urdf(body, diagnostics=diagnostics))
        spec.compiler.fusestatic = False
        for joint, (X_A, X_B), axis in zip(
            closure.extra_joints, closure.ends, closure.axes, strict=True
        ):
            a, b = (frames.links[name] for name in joint.links)
            for i, point in enumerate(points(joint.type, axis)):
                for name, X, end in ((a, X_A, "a"), (b, X_B, "b")):
                    site = spec.body(name).add_site(name=f"{joint.name} {i} {end}")
                    site.pos = X.R @ point + X.p
                spec.add_equality(
                    type=mujoco.mjtEq.mjEQ_CONNECT,
                    objtype=mujoco.mjtObj.mjOBJ_SITE,
                    name1=f"{joint.name} {i} a",
                    name2=f"{joint.name} {i} b",
                )
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        names = [frames.joints[link.name] for link in body.moving_links]
        self.places = [int(self.model.joint(name).qposadr[0]) for name in names]

    def constraints(self, q):
        """Return residuals and their derivatives by q."""
        self.data.qpos[self.places] = q
        mujoco.mj_forward(self.model, self.data)
        rows = self.data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        J = self.data.efc_J.reshape(-1, self.model.nv)
        return self.data.efc_pos[rows], J[rows][:, self.places]


def points(kind, axis):
    """Return points of an extra joint's frame that it holds together."""
    other = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    along = {ExtraJointType.BALL: [], ExtraJointType.HINGE: [axis]}
    return [np.zeros(3), *along.get(kind, [axis, other])]


def closed_postures(closure, count):
    """Return closed postures, each near the one before, and the joints that lead to it."""
    random, near = np.random.default_rng(6), closure.assembled
    for _ in range(count):
        q = near.copy()
        q[closure.independent] += random.uniform(-0.1, 0.1, len(closure.independent))
        try:
            near = closure.close(q, near=near)
        except LoopError:
            continue
        yield near


@pytest.fixture(params=MECHANISMS)
def pair(request):
    body = MECHANISMS[request.param]
    ties = tuple(
        x if x.type in TYPES else replace(x, type=ExtraJointType.BALL) for x in body.extra_joints
    )
    body = replace(body, extra_joints=ties)
    closure = LoopClosure(body)
    assert closure.closes
    return closure, Peer(body, closure)


def test_where_we_close_loops_mujoco_finds_them_closed(pair):
    closure, peer = pair
    postures = list(closed_postures(closure, 12))
    assert len(postures) > 5
    for q in postures:
        residual, _ = peer.constraints(q)
        assert len(residual) >= len(closure.extra_joints) * 3
        np.testing.assert_allclose(residual, 0.0, atol=1e-9)


def test_joints_follow_as_the_constraints_of_mujoco_let_them(pair):
    closure, peer = pair
    for q in closed_postures(closure, 6):
        _, J = peer.constraints(q)
        slopes = closure.slopes(q)
        kept = J[:, closure.independent] + J[:, closure.dependent] @ slopes
        np.testing.assert_allclose(kept, 0.0, atol=1e-8 * max(1.0, np.abs(slopes).max()))
        assert np.linalg.matrix_rank(J, tol=1e-7) == len(closure.dependent)
