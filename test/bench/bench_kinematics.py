"""Speed of BodyState, compared with pinocchio, a C++ library, on the URDF of the same robot.

    python -m pytest test/bench/bench_kinematics.py

prints a table. Each round times some calls of both in turn, so that other load on the machine
affects both; the ratio is that of their medians. Times never fail a test.
"""

import numpy as np
import pytest
from paths import MODELS, SHARED

from hrp_model import body_to_urdf, load_body
from hrp_model.diagnostics import Diagnostics
from hrp_model.kinematics import BodyState

SR1 = SHARED / "models" / "choreonoid__choreonoid" / "share" / "model" / "SR1" / "SR1.body"
POSTURES = 10_000
CALLS = 20  # per round, so that the resolution of the clock does not matter


@pytest.fixture(scope="module")
def body():
    """A humanoid with 29 joints or, if that is not available, our own with 21."""
    path = SR1 if SR1.is_file() else MODELS / "humanoid" / "humanoid.wrl"
    return load_body(path, Diagnostics(listener=lambda _: None))


@pytest.fixture
def state(body):
    """The robot in a random motion."""
    state = BodyState(body)
    rng = np.random.default_rng(0)
    for vector in (state.q, state.dq, state.ddq):
        vector[:] = rng.uniform(-0.5, 0.5, vector.shape)
    for array in (state.v, state.w, state.dv, state.dw):
        array[0] = rng.normal(size=3)
    state.calc_forward_kinematics(velocity=True, acceleration=True)
    return state


class Peer:
    """Pinocchio's model of the same robot, and a motion of it."""

    def __init__(self, body):
        self.pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
        root = self.pin.JointModelFreeFlyer()
        self.model = self.pin.buildModelFromXML(body_to_urdf(body), root)
        self.data = self.model.createData()
        rng = np.random.default_rng(0)
        self.q = self.pin.neutral(self.model)
        self.q[7:] = rng.uniform(-0.5, 0.5, self.model.nq - 7)
        self.v, self.a = rng.normal(size=(2, self.model.nv))


@pytest.fixture
def peer(body):
    return Peer(body)


def repeated(function, calls):
    def run():
        for _ in range(calls):
            function()

    return run


@pytest.fixture
def compare(in_turn, rows, body):
    """Time a function of ours and another one in turn, and add a row to the table."""
    moving = len(body.moving_links)

    def run(what, ours, against, theirs, *, of=1, against_of=1, calls=CALLS, rounds=60):
        their_calls = calls if against_of == 1 else 1
        seconds, reference = in_turn(
            repeated(ours, calls), repeated(theirs, their_calls), rounds=rounds, warmup_rounds=2
        )
        seconds, reference = seconds / calls / of, reference / their_calls / against_of
        speed = f"{1.0 / seconds:,.0f} /s"
        rows.append(
            (
                f"{what}, {moving} joints",
                f"{1e6 * seconds:.2f} us",
                speed,
                f"{against} ({1e6 * reference:.2f} us)",
                f"{seconds / reference:.3f}",
            )
        )

    return run


PINOCCHIO = "pinocchio"


def test_forward_kinematics(compare, state, peer):
    compare(
        "forward kinematics",
        state.calc_forward_kinematics,
        PINOCCHIO,
        lambda: peer.pin.framesForwardKinematics(peer.model, peer.data, peer.q),
    )


def test_forward_kinematics_with_velocities_and_accelerations(compare, state, peer):
    compare(
        "and velocities, accelerations",
        lambda: state.calc_forward_kinematics(velocity=True, acceleration=True),
        PINOCCHIO,
        lambda: peer.pin.forwardKinematics(peer.model, peer.data, peer.q, peer.v, peer.a),
    )


def test_mass_matrix(compare, state, peer):
    compare(
        "mass matrix",
        state.calc_mass_matrix,
        PINOCCHIO,
        lambda: peer.pin.crba(peer.model, peer.data, peer.q),
    )


def test_inverse_dynamics(compare, state, peer):
    compare(
        "inverse dynamics",
        state.calc_inverse_dynamics,
        PINOCCHIO,
        lambda: peer.pin.rnea(peer.model, peer.data, peer.q, peer.v, peer.a),
    )


def test_centre_of_mass_jacobian(compare, state, peer):
    compare(
        "Jacobian of the centre of mass",
        state.calc_cm_jacobian,
        PINOCCHIO,
        lambda: peer.pin.jacobianCenterOfMass(peer.model, peer.data, peer.q),
    )


def leg(state):
    foot = [x.name for x in state.body.links if x.name.startswith("RLEG")][-1]
    return state.joint_path(0, foot)


def test_jacobian_of_a_leg(compare, state, peer):
    path = leg(state)
    frame = peer.model.getFrameId(path.end_link.name, peer.pin.FrameType.BODY)
    compare(
        f"Jacobian of a leg's {path.num_joints} joints",
        path.calc_jacobian,
        PINOCCHIO,
        lambda: peer.pin.computeFrameJacobian(peer.model, peer.data, peer.q, frame),
    )


def test_inverse_kinematics_of_a_leg(compare, state):
    """Alternate between two postures of the leg."""
    path = leg(state)
    poses = []
    for bend in (0.2, 0.6):
        for joint, factor in (("HIP_P", -1.0), ("KNEE", 2.0), ("ANKLE_P", -1.0)):
            state.link(f"RLEG_{joint}").q = factor * bend
        state.calc_forward_kinematics()
        poses.append((path.end_link.p.copy(), path.end_link.R.copy()))
    turn = iter(range(10**9))
    compare(
        f"inverse kinematics of {path.num_joints} joints",
        lambda: path.calc_inverse_kinematics(*poses[next(turn) % 2]),
        "forward kinematics",
        state.calc_forward_kinematics,
    )


BATCHES = {
    "forward kinematics": lambda s: s.calc_forward_kinematics(),
    "velocities, accelerations": lambda s: s.calc_forward_kinematics(True, True),
    "centre of mass": lambda s: s.calc_cm(),
    "mass matrix": lambda s: s.calc_mass_matrix(),
    "inverse dynamics": lambda s: s.calc_inverse_dynamics(),
}


@pytest.mark.parametrize("what", BATCHES)
def test_a_batch(compare, body, what):
    """Time per posture, compared with single postures; both include assigning joint positions."""
    function = BATCHES[what]
    one, many = BodyState(body), BodyState(body)
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (POSTURES, len(one.q)))
    many.q = q

    def one_by_one():
        for posture in q[:100]:
            one.q[:] = posture
            function(one)

    compare(
        f"{what} of {POSTURES} postures",
        lambda: function(many),
        "one at a time",
        one_by_one,
        of=POSTURES,
        against_of=100,
        calls=1,
        rounds=15,
    )
