"""What is wrong is refused where it comes in, in words that say what would be right."""

from math import inf, nan

import numpy as np
import pytest
from kinematics_samples import random_body
from paths import SHARED

from hrp_model import load_body
from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.kinematics import BodyState
from hrp_model.rigid import rpy_matrix

HRP4C = SHARED / "models" / "isri-aist__hrp4c_description" / "vrml" / "HRP4Cmain.wrl"


@pytest.fixture
def arm():
    """Joint ids 0 and 2 on a free root."""
    free, revolute = JointType.FREE, JointType.REVOLUTE
    joints = [
        ("BASE", None, Joint(type=free, name="BASE")),
        ("UPPER", "BASE", Joint(type=revolute, name="UPPER", id=2, axis=[0.0, 0.0, 1.0])),
        ("LOWER", "UPPER", Joint(type=revolute, name="LOWER", id=0, axis=[1.0, 0.0, 0.0])),
    ]
    links = tuple(Link(name=n, parent=p, joint=j, mass=1.0) for n, p, j in joints)
    return BodyState(Body(name="arm", links=links))


@pytest.fixture
def arms(arm):
    """Four postures of it."""
    arm.q = np.zeros((4, 2))
    return arm


VECTORS = ["p", "v", "w", "dv", "dw", "vo", "dvo"]


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_of_the_root(arm, name):
    before = [array.copy() for array in (arm.p, arm.v, arm.w, arm.dv, arm.dw)]
    for wrong in ([1.0, 2.0], np.zeros((1, 3)), np.zeros((4, 3))):
        with pytest.raises(ValueError, match=rf"^{name} of 'BASE' must have shape \(3,\), got sh"):
            setattr(arm.root_link, name, wrong)
    with pytest.raises(ValueError, match=rf"^{name} of 'BASE'\[2\] is nan, which is not finite"):
        setattr(arm.root_link, name, [1.0, 2.0, nan])
    with pytest.raises(ValueError, match=rf"^{name} of 'BASE' is inf, which is not finite"):
        setattr(arm.root_link, name, inf)
    with pytest.raises(ValueError, match=rf"^{name} of 'BASE' must be numbers, got 'up'"):
        setattr(arm.root_link, name, "up")
    for array, kept in zip((arm.p, arm.v, arm.w, arm.dv, arm.dw), before, strict=True):
        np.testing.assert_array_equal(array, kept)


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_of_the_root_in_a_batch(arms, name):
    with pytest.raises(ValueError, match=r"must have shape \(3,\) or \(4, 3\), got shape \(5, 3\)"):
        setattr(arms.root_link, name, np.zeros((5, 3)))
    value = np.zeros((4, 3))
    value[3, 1] = nan
    with pytest.raises(ValueError, match=rf"^{name} of 'BASE'\[3, 1\] is nan"):
        setattr(arms.root_link, name, value)


@pytest.mark.parametrize(
    "R",
    [
        np.ones((3, 3)),
        np.zeros((3, 3)),
        np.diag([1.0, 1.0, -1.0]),
        rpy_matrix(0.1, 0.2, 0.3) * 1.00001,
        rpy_matrix(0.1, 0.2, 0.3) + 1e-5 * np.eye(3, k=1),
    ],
)
def test_a_rotation_that_is_none(arm, arms, R):
    with pytest.raises(ValueError, match="R of 'BASE' must be a rotation, right-handed and ortho"):
        BodyState(arm.body).root_link.R = R
    many = np.broadcast_to(np.eye(3), (4, 3, 3)).copy()
    many[2] = R
    with pytest.raises(ValueError, match="R of 'BASE' in posture 2 must be a rotation"):
        arms.root_link.R = many
    np.testing.assert_array_equal(arms.R[:, 0], [np.eye(3)] * 4)


def test_a_rotation_of_another_shape_or_not_finite(arm):
    for wrong in (1.0, np.eye(4), np.ones(9), np.ones((2, 3, 3))):
        with pytest.raises(ValueError, match=r"R of 'BASE' must have shape \(3, 3\), got shape"):
            arm.root_link.R = wrong
    with pytest.raises(ValueError, match=r"R of 'BASE'\[0, 0\] is nan"):
        arm.root_link.R = np.diag([nan, 1.0, 1.0])


def test_a_rotation_with_rounding_errors_is_one(arm):
    for R in (rpy_matrix(0.1, 0.2, 0.3) + 1e-7, np.round(rpy_matrix(0.4, 0.5, 0.6), 8)):
        arm.root_link.R = R
        np.testing.assert_array_equal(arm.R[0], R)


@pytest.mark.parametrize("name", ["q", "dq", "ddq", "u"])
def test_a_number_of_a_link(arm, name):
    upper = arm.link("UPPER")
    for wrong in (nan, inf, np.float64(nan), [nan]):
        with pytest.raises(ValueError, match=rf"^{name} of 'UPPER'"):
            setattr(upper, name, wrong)
    with pytest.raises(ValueError, match=rf"^{name} of 'UPPER' must be one number, got shape"):
        setattr(upper, name, [1.0, 2.0])
    for right in (1, 0.5, np.float32(0.25), np.array(2.0)):
        setattr(upper, name, right)
        assert getattr(upper, name) == float(right)


def test_a_number_of_a_link_in_a_batch(arms):
    upper = arms.link("UPPER")
    with pytest.raises(ValueError, match=r"q of 'UPPER' must have shape \(4,\), got shape \(3,\)"):
        upper.q = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"q of 'UPPER'\[1\] is nan"):
        upper.q = [1.0, nan, 3.0, 4.0]
    upper.q = 0.5
    assert upper.q.tolist() == [0.5] * 4


@pytest.mark.parametrize("name", ["q", "dq", "ddq", "u"])
def test_vectors_that_are_no_numbers(arm, name):
    for wrong in ("fast", [1.0, [2.0]], {}):
        with pytest.raises(ValueError, match=f"{name} must be numbers, got"):
            setattr(arm, name, wrong)


def test_arguments_of_functions(arm):
    path = arm.joint_path("BASE", "LOWER")
    with pytest.raises(ValueError, match=r"local_p must have shape \(3,\), got shape \(2,\)"):
        path.calc_jacobian([1.0, 2.0])
    with pytest.raises(ValueError, match=r"local_p\[0\] is nan"):
        path.calc_jacobian([nan, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"about must have shape \(3,\), got shape \(2,\)"):
        arm.calc_total_momentum([1.0, 2.0])
    arm.q = np.zeros((4, 2))
    with pytest.raises(
        ValueError, match=r"about must have shape \(3,\) or \(4, 3\), got shape \(5"
    ):
        arm.calc_total_momentum(np.zeros((5, 3)))


def test_what_a_state_does_not_have_cannot_be_assigned(arm):
    for kept in (arm, arm.root_link):
        with pytest.raises(AttributeError, match="qq"):
            kept.qq = 3.0


@pytest.mark.parametrize("body", ["robot.wrl", None])
def test_a_state_of_what_is_no_body(body):
    with pytest.raises(TypeError, match=f"body must be a Body, got {body!r}; load_body reads one"):
        BodyState(body)


def test_joints_and_links_that_cannot_be_meant(arm):
    with pytest.raises(TypeError, match=r"by its id; link\(name\) finds it by name, got 'UPP"):
        arm.joint("UPPER")
    for wrong in (1.5, None):
        with pytest.raises(TypeError, match=f"by its name, its index or a LinkState, got {wrong}"):
            arm.link(wrong)
    with pytest.raises(TypeError, match="a sensor is given by its type and its id, got 'left'"):
        arm.sensor("FORCE", "left")
    other = BodyState(random_body(1))
    with pytest.raises(ValueError, match="'L0' of 'random 1'> is a link of another body than"):
        arm.calc_cm_jacobian(other.root_link)
    assert arm.link(BodyState(arm.body).link("LOWER")).body is arm


def test_states_and_paths_tell_what_they_are(arm):
    assert repr(arm) == "<BodyState of 'arm': 3 links, n = 2>"
    assert repr(arm.joint_path(0, "LOWER")) == "<JointPath from 'BASE' to 'LOWER': 2 joints>"
    arm.q = np.zeros((4, 2))
    assert repr(arm) == "<BodyState of 'arm': 3 links, n = 2, 4 postures>"


def test_ids_with_a_gap(arm):
    assert [(x.joint_id, x.name) for x in arm.joints] == [(0, "LOWER"), (2, "UPPER")]
    assert arm.num_joints == 2
    with pytest.raises(IndexError, match="body 'arm' has no joint 1; it has 0, 2"):
        arm.joint(1)
    for i, joint in enumerate(arm.joints):
        joint.q = i + 1.0
    assert arm.q.tolist() == [1.0, 2.0]


@pytest.mark.skipif(not HRP4C.is_file(), reason="the model of HRP4C is not here")
def test_a_robot_with_gaps():
    state = BodyState(load_body(HRP4C))
    ids = [joint.joint_id for joint in state.joints]
    assert sorted(set(range(44)) - set(ids)) == [6, 13]
    assert state.num_joints == len(ids) == len(state.q) == 42
    assert [state.joint(i) for i in ids] == list(state.joints)
