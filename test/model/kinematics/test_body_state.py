"""The hrp::Body, hrp::Link and hrp::Sensor that users of OpenHRP know."""

import gc
import weakref
from math import inf

import numpy as np
import pytest
from kinematics_samples import random_body, random_state

from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    GenericDevice,
    Imu,
    RangeSensor,
    RateGyroSensor,
)
from hrp_model.kinematics import BodyState, SensorType
from hrp_model.rigid import Pose, rpy_matrix

X, Z = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]


def link(name, parent, kind, joint_id=None, **joint):
    return Link(
        name=name,
        parent=parent,
        joint=Joint(type=kind, name=name, id=joint_id, **joint),
        X_PL=Pose(p=[0.0, 0.0, 0.5]),
        mass=2.0,
        center_of_mass=[0.1, 0.0, 0.0],
        inertia=np.diag([1.0, 2.0, 3.0]),
    )


@pytest.fixture
def robot():
    """A trunk with an arm (joint ids 0 and 3, a gap between), a rail, a hand and a track."""
    revolute, prismatic = JointType.REVOLUTE, JointType.PRISMATIC
    limits = {"position": Range(-1.0, 2.0), "velocity": Range(-3.0, 4.0)}
    turned = Pose(rpy_matrix(0.0, 0.0, np.pi / 2), [0.0, 1.0, 0.0])
    links = (
        link("TRUNK", None, JointType.FREE),
        link("ARM", "TRUNK", revolute, 3, axis=Z, equivalent_rotor_inertia=0.5, **limits),
        link("RAIL", "TRUNK", prismatic, 0, axis=X),
        link("HAND", "ARM", JointType.FIXED),
        link("TRACK", "TRUNK", JointType.TRACK, 7),
        link("TWIN", "HAND", revolute, 3, axis=X),
    )
    devices = (
        ForceSensor(name="F1", link="HAND", id=1, X_LS=turned),
        ForceSensor(name="F0", link="ARM", id=0),
        ForceSensor(name="F1 again", link="ARM", id=1),
        Imu(name="imu", link="TRUNK", id=0),
        RateGyroSensor(name="gyro", link="TRUNK", id=0),
        AccelerationSensor(name="unnumbered", link="TRUNK"),
        Camera(name="eye", link="HAND", id=0),
        RangeSensor(name="scanner", link="HAND", id=2),
        GenericDevice(name="skin", link="HAND", id=0, type_name="PressureSensor"),
        GenericDevice(name="lamp", link="HAND", id=0, type_name="Lamp"),
    )
    return BodyState(Body(name="robot", links=links, devices=devices))


def test_counts(robot):
    assert robot.num_links == 6
    assert robot.num_joints == 4  # those with an id
    assert robot.name == "robot"
    assert [x.name for x in robot.body.moving_links] == ["RAIL", "ARM", "TWIN"]
    assert [x.name for x in robot.joints] == ["RAIL", "ARM", "TWIN"]
    assert [x.joint for x in robot.joints] == [0, 1, 2]
    assert [x.name for x in robot.links] == ["TRUNK", "ARM", "RAIL", "HAND", "TRACK", "TWIN"]
    assert robot.total_mass == robot.calc_total_mass() == 12.0


def test_links_by_place_and_name(robot):
    assert robot.link(3) == robot.link("HAND")
    assert robot.link(np.int64(3)).name == "HAND"
    assert robot.root_link.name == "TRUNK"
    assert robot.link(robot.link(2)).name == "RAIL"
    assert robot.link("ARM") != robot.link("HAND")
    assert len({robot.link("ARM"), robot.link(1)}) == 1
    assert "ARM" in repr(robot.link("ARM"))


@pytest.mark.parametrize("place", [-1, 6])
def test_a_place_beyond_the_links(robot, place):
    with pytest.raises(IndexError, match=f"'robot' has no link {place}; its links are 0 to 5"):
        robot.link(place)


def test_a_name_that_is_not_there(robot):
    with pytest.raises(KeyError, match=r"has no link 'HAMD'\. Did you mean 'HAND'\?"):
        robot.link("HAMD")
    with pytest.raises(KeyError, match="It is one of TRUNK, ARM, RAIL"):
        robot.joint_path("nowhere at all", 0)


def test_joints_by_id(robot):
    assert robot.joint(0).name == "RAIL"
    assert robot.joint(3).name == "ARM"  # the first of two
    assert robot.joint(7).joint_type is JointType.TRACK
    for absent in (1, 8, -1):
        with pytest.raises(IndexError, match=f"has no joint {absent}; it has 0, 3, 7"):
            robot.joint(absent)


def test_what_a_link_knows_of_the_tree(robot):
    trunk, arm = robot.root_link, robot.link("ARM")
    assert trunk.parent is None
    assert trunk.sibling is None
    assert trunk.child == arm
    assert arm.sibling.name == "RAIL"
    assert arm.sibling.sibling.name == "TRACK"
    assert arm.sibling.sibling.sibling is None
    assert arm.child.name == "HAND"
    assert arm.child.parent == arm
    assert robot.link("RAIL").child is None
    assert arm.body is robot


def test_what_a_link_knows_of_the_model(robot):
    arm, rail, hand = (robot.link(name) for name in ("ARM", "RAIL", "HAND"))
    assert (arm.joint_type, arm.joint_id, arm.index, arm.joint) == (JointType.REVOLUTE, 3, 1, 1)
    assert (hand.joint_id, hand.joint) == (-1, None)
    assert (arm.a.tolist(), arm.d.tolist()) == (Z, [0.0, 0.0, 0.0])
    assert (rail.a.tolist(), rail.d.tolist()) == ([0.0, 0.0, 0.0], X)
    assert hand.a.tolist() == hand.d.tolist() == [0.0, 0.0, 0.0]
    assert (arm.llimit, arm.ulimit, arm.lvlimit, arm.uvlimit) == (-1.0, 2.0, -3.0, 4.0)
    assert (rail.llimit, rail.uvlimit) == (-inf, inf)
    assert (arm.Jm2, arm.m, arm.c.tolist()) == (0.5, 2.0, [0.1, 0.0, 0.0])
    assert np.diag(arm.I).tolist() == [1.0, 2.0, 3.0]
    assert (arm.b.tolist(), arm.Rb.tolist()) == ([0.0, 0.0, 0.5], np.eye(3).tolist())


def test_a_link_writes_into_the_arrays(robot):
    arm = robot.link("ARM")
    arm.q, arm.dq, arm.ddq, arm.u = 0.1, 0.2, 0.3, 0.4
    vectors = [vector.tolist() for vector in (robot.q, robot.dq, robot.ddq, robot.u)]
    assert vectors == [[0.0, value, 0.0] for value in (0.1, 0.2, 0.3, 0.4)]
    assert (arm.q, arm.dq, arm.ddq, arm.u) == (0.1, 0.2, 0.3, 0.4)
    root = robot.root_link
    for name in ("p", "v", "w", "dv", "dw"):
        setattr(root, name, [1.0, 2.0, 3.0])
        assert getattr(robot, name)[0].tolist() == [1.0, 2.0, 3.0]
    root.R = rpy_matrix(0.1, 0.2, 0.3)
    np.testing.assert_array_equal(robot.R[0], rpy_matrix(0.1, 0.2, 0.3))


def test_a_link_of_a_batch_writes_all_postures(robot):
    arm, root = robot.link("ARM"), robot.root_link
    robot.q = np.zeros((3, 3))
    arm.q = [1.0, 2.0, 3.0]
    root.p = [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
    root.R = rpy_matrix(0.1, 0.2, 0.3)
    assert robot.q.tolist() == [[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 3.0, 0.0]]
    assert arm.q.tolist() == [1.0, 2.0, 3.0]
    assert robot.p[:, 0, 0].tolist() == [1.0, 2.0, 3.0]
    assert robot.link("ARM").R.shape == (3, 3, 3)


def test_the_roots_spatial_motion_can_be_given():
    state = random_state(4)
    root = state.root_link
    vo, dvo, v, dv = root.vo.copy(), root.dvo.copy(), root.v.copy(), root.dv.copy()
    np.testing.assert_allclose(vo, state.vo[0])
    np.testing.assert_allclose(dvo, state.dvo[0])
    root.v = root.dv = 0.0
    root.vo = vo
    root.dvo = dvo
    np.testing.assert_allclose(root.v, v, atol=1e-12)
    np.testing.assert_allclose(root.dv, dv, atol=1e-12)


@pytest.mark.parametrize("name", ["p", "R", "v", "w", "dv", "dw", "vo", "dvo"])
def test_what_is_computed_cannot_be_assigned(robot, name):
    value = np.eye(3) if name == "R" else np.zeros(3)
    with pytest.raises(AttributeError, match=f"{name} of link 'ARM' .* assign that of 'TRUNK'"):
        setattr(robot.link("ARM"), name, value)
    if name in ("vo", "dvo"):
        return
    with pytest.raises(AttributeError):
        setattr(robot, name, value)


def test_a_link_without_a_coordinate_has_none_to_assign(robot):
    for name, kind in (("HAND", "fixed"), ("TRACK", "track"), ("TRUNK", "free")):
        assert robot.link(name).q == 0.0
        with pytest.raises(ValueError, match=f"link '{name}' has no q: its joint is {kind}"):
            robot.link(name).q = 1.0


def test_sensors_by_type_and_id(robot):
    found = robot.sensor(SensorType.FORCE, 1)
    assert (found.name, found.id, found.type, found.link.name) == (
        "F1",
        1,
        SensorType.FORCE,
        "HAND",
    )
    assert robot.sensor(1, 0).name == robot.sensor("FORCE", 0).name == "F0"
    assert robot.sensor(SensorType.RATE_GYRO, 0).name == "gyro"  # goes before the IMU
    assert robot.sensor(SensorType.ACCELERATION, 0).name == "imu"
    assert robot.sensor(SensorType.VISION, 0).device is robot.body.devices[6]
    assert robot.sensor(SensorType.PRESSURE, 0).name == "skin"
    assert "F1" in repr(found)


def test_sensors_are_counted_by_their_ids(robot):
    counts = {kind.name: robot.num_sensors(kind) for kind in SensorType}
    assert counts == {
        "FORCE": 2, "RATE_GYRO": 1, "ACCELERATION": 1, "PRESSURE": 1, "PHOTO_INTERRUPTER": 0,
        "VISION": 1, "TORQUE": 0, "RANGE": 3,
    }  # fmt: skip
    assert robot.num_sensors("RANGE") == 3


def test_a_sensor_that_is_not_there(robot):
    with pytest.raises(IndexError, match="has no FORCE sensor 2; it has 0, 1"):
        robot.sensor(SensorType.FORCE, 2)
    with pytest.raises(IndexError, match="no TORQUE sensor has an id"):
        robot.sensor(SensorType.TORQUE, 0)
    for absent in (0, "FORCES", 1.5):
        with pytest.raises(ValueError, match=r"no sensor type .*; they are FORCE \(1\), RATE_GYRO"):
            robot.sensor(absent, 0)
        with pytest.raises(ValueError, match="no sensor type"):
            robot.num_sensors(absent)


def test_the_sensors_of_a_link(robot):
    names = [(s.name, s.type.name, s.id) for s in robot.root_link.sensors]
    assert names == [
        ("imu", "RATE_GYRO", 0),
        ("imu", "ACCELERATION", 0),
        ("gyro", "RATE_GYRO", 0),
        ("unnumbered", "ACCELERATION", -1),
    ]


def test_where_a_sensor_is(robot):
    robot.link("ARM").q = np.pi / 2
    robot.calc_forward_kinematics()
    sensor = robot.sensor(SensorType.FORCE, 1)
    assert sensor.local_pos.tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_array_equal(sensor.local_R, rpy_matrix(0.0, 0.0, np.pi / 2))
    np.testing.assert_allclose(sensor.p, [-1.0, 0.0, 1.5], atol=1e-15)
    np.testing.assert_allclose(sensor.R, rpy_matrix(0.0, 0.0, np.pi), atol=1e-15)
    robot.q = np.zeros((2, 3))
    robot.calc_forward_kinematics()
    np.testing.assert_allclose(sensor.p, [[0.0, 1.0, 1.5]] * 2)
    assert sensor.R.shape == (2, 3, 3)


@pytest.mark.parametrize("name", ["q", "dq", "ddq", "u"])
def test_vectors_are_written_in_place(robot, name):
    kept = getattr(robot, name)
    setattr(robot, name, [1, 2, 3])
    assert kept.tolist() == [1.0, 2.0, 3.0]
    setattr(robot, name, 0.5)
    assert kept.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("name", ["q", "dq", "ddq", "u"])
@pytest.mark.parametrize("shape", [(2,), (4,), (3, 1), (1, 2, 3)])
def test_a_vector_of_the_wrong_shape_is_refused(robot, name, shape):
    said = rf"{name} must have shape \(3,\).*, got {str(shape).replace('(', '.').replace(')', '.')}"
    with pytest.raises(ValueError, match=said):
        setattr(robot, name, np.zeros(shape))
    assert getattr(robot, name).tolist() == [0.0, 0.0, 0.0]


def test_a_vector_that_is_not_finite_is_refused(robot):
    with pytest.raises(ValueError, match="q of 'ARM' is nan"):
        robot.q = [0.0, np.nan, 0.0]
    with pytest.raises(ValueError, match="q of 'RAIL' in posture 1 is inf"):
        robot.q = [[0.0, 0.0, 0.0], [inf, 0.0, 0.0]]
    with pytest.raises(ValueError, match="u is nan"):
        robot.u = np.nan
    assert robot.batch is None
    assert robot.q.tolist() == [0.0, 0.0, 0.0]


def test_other_vectors_do_not_make_a_batch(robot):
    with pytest.raises(ValueError, match=r"dq must have shape \(3,\), got \(2, 3\)"):
        robot.dq = np.zeros((2, 3))
    robot.q = np.zeros((2, 3))
    robot.dq = [1.0, 2.0, 3.0]
    assert robot.dq.tolist() == [[1.0, 2.0, 3.0]] * 2
    with pytest.raises(ValueError, match=r"dq must have shape \(2, 3\), got \(4, 3\)"):
        robot.dq = np.zeros((4, 3))


def one_link(kind, mass=0.0):
    joint = Joint(type=kind, name="S", axis=Z)
    return Body(name="stone", links=(Link(name="S", parent=None, joint=joint, mass=mass),))


@pytest.mark.parametrize("kind", [JointType.FIXED, JointType.FREE])
@pytest.mark.parametrize("batch", [None, 3])
def test_a_single_link_has_everything_too(kind, batch):
    state = BodyState(one_link(kind, mass=2.0), batch=batch)
    lead, root = (() if batch is None else (batch,)), 6 * (kind is JointType.FREE)
    state.calc_forward_kinematics(velocity=True, acceleration=True)
    assert (state.num_joints, state.q.shape) == (0, (*lead, 0))
    assert state.calc_mass_matrix().shape == (*lead, root, root)
    assert state.calc_cm().tolist() == np.zeros((*lead, 3)).tolist()
    assert state.calc_cm_jacobian().shape == (*lead, 3, root)
    assert state.gravity_torque().shape == (*lead, 0)
    assert state.joint_path(0, 0).calc_jacobian().shape == (*lead, 6, 0)
    for array in (*state.calc_inverse_dynamics(), *state.calc_total_momentum()):
        assert array.tolist() == np.zeros((*lead, 3)).tolist()


def test_a_body_without_mass_has_no_centre_of_mass():
    state = BodyState(one_link(JointType.FREE))
    for function in (state.calc_cm, state.calc_cm_jacobian):
        with pytest.raises(ValueError, match="'stone' has no mass, so no centre of mass"):
            function()
    assert not state.calc_mass_matrix().any()
    assert not state.calc_angular_momentum_jacobian().any()


def test_a_joint_above_the_root_moves_nothing():
    state = BodyState(one_link(JointType.REVOLUTE, mass=1.0))
    state.root_link.q = state.root_link.dq = 1.0
    state.calc_forward_kinematics(velocity=True)
    assert state.R[0].tolist() == np.eye(3).tolist()
    assert not state.w.any()
    assert state.calc_mass_matrix().tolist() == [[0.0]]


def test_an_axis_of_no_length_turns_nothing():
    body = Body(
        name="broken",
        links=(
            link("A", None, JointType.FIXED),
            link("B", "A", JointType.REVOLUTE, axis=[0, 0, 0]),
        ),
    )
    for q in ([1.0], [[1.0], [2.0]]):
        state = BodyState(body)
        state.q = q
        state.calc_forward_kinematics()
        np.testing.assert_array_equal(state.R, np.broadcast_to(np.eye(3), state.R.shape))


def test_a_body_goes_with_its_last_state():
    body = random_body(1)
    states = [BodyState(body), BodyState(body)]
    gone = weakref.ref(body)
    del body, states
    gc.collect()
    assert gone() is None
