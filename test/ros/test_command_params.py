"""Parameters of joints: two names for each gain, and one value."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

import rclpy
from rclpy.parameter import Parameter
from ros_peer import DOMAIN_ID

from hrp_msgs.node.start import WrongUseError
from hrp_sim.ros.command_parameters import JointParams, JointValues, joint_of

NAMES = ("A.kp", "gains.A.p", "A.kd", "gains.A.d", "A.mode")


@pytest.fixture
def made(monkeypatch):
    """Make nodes with the parameters of joint A, alone in a context of their own."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=DOMAIN_ID)
    nodes = []

    def make(**given):
        overrides = [Parameter(k.replace("__", "."), value=v) for k, v in given.items()]
        node = rclpy.create_node("robot", context=context, parameter_overrides=overrides)
        nodes.append(node)
        changes = []
        params = JointParams(node)
        params.add("A", JointValues(10.0, 2.0, "position", lambda **c: changes.append(c)))
        return node, params, changes

    yield make
    for node in nodes:
        node.destroy_node()
    context.try_shutdown()


def values(node):
    return [parameter.value for parameter in node.get_parameters(NAMES)]


def put(node, **parameters):
    """Set parameters together; return why not, or nothing."""
    told = [Parameter(k.replace("__", "."), value=v) for k, v in parameters.items()]
    return node.set_parameters_atomically(told).reason


def test_they_tell_how_the_joint_is_driven(made):
    node, params, changes = made()
    assert values(node) == [10.0, 10.0, 2.0, 2.0, "position"]
    assert params.joints == ["A"]
    assert changes == []


@pytest.mark.parametrize("name", ["A__kp", "gains__A__p"])
def test_a_gain_is_set_by_each_of_its_names(made, name):
    node, _, changes = made()
    assert put(node, **{name: 7.0}) == ""
    assert values(node) == [7.0, 7.0, 2.0, 2.0, "position"]
    assert changes == [{"kp": 7.0}]


@pytest.mark.parametrize("name", ["A__kd", "gains__A__d"])
def test_a_node_may_be_started_with_each_of_the_names(made, name):
    node, _, changes = made(**{name: 0.5})
    assert values(node) == [10.0, 10.0, 0.5, 0.5, "position"]
    assert changes == [{"kd": 0.5}]


def test_of_two_names_at_the_start_the_shorter_counts(made):
    node, _, changes = made(A__kp=5.0, gains__A__p=6.0)
    assert values(node)[:2] == [5.0, 5.0]
    assert changes == [{"kp": 5.0}]


def test_both_names_may_be_set_at_once_if_they_agree(made):
    node, _, changes = made()
    assert put(node, A__kp=7.0, gains__A__p=7.0) == ""
    assert "one parameter" in put(node, A__kp=8.0, gains__A__p=9.0)
    assert values(node)[:2] == [7.0, 7.0]
    assert changes == [{"kp": 7.0}]


def test_tolerances_of_trajectories_have_the_names_of_joint_trajectory_controller(made):
    node, _, changes = made(constraints__A__goal=0.02)
    assert node.get_parameter("constraints.A.trajectory").value == 0.0
    assert put(node, constraints__A__trajectory=0.3) == ""
    assert changes == [{"goal": 0.02}, {"trajectory": 0.3}]
    assert "constraints.A.goal" in put(node, constraints__A__goal=-1.0)
    assert joint_of("constraints.left/A.goal") == "left/A"
    assert joint_of("constraints.goal_time") is None


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 1e10])
def test_a_gain_out_of_range_is_refused(made, value):
    node, _, changes = made()
    assert "A.kp" in put(node, A__kp=value)
    assert "gains.A.p" in put(node, gains__A__p=value)
    assert values(node)[:2] == [10.0, 10.0]
    assert changes == []


def test_a_mode_is_one_of_three(made):
    node, _, changes = made(A__mode="effort")
    assert "'position', 'velocity' or 'effort'" in put(node, A__mode="none")
    assert put(node, A__mode="velocity") == ""
    assert changes == [{"mode": "effort"}, {"mode": "velocity"}]


def test_a_joint_may_have_but_some_modes(made):
    node, params, changes = made()
    values = JointValues(1.0, 1.0, "position", lambda **c: changes.append(c), ["position"])
    params.add("B", values)
    assert put(node, B__mode="effort") == "B.mode must be 'position', not 'effort'"
    assert put(node, B__mode="position") == ""
    assert changes == [{"mode": "position"}]


def test_a_node_that_is_started_with_nonsense_does_not_start(made):
    with pytest.raises(WrongUseError, match=r"gains\.A\.p must be in the range"):
        made(gains__A__p=-1.0)


def test_they_show_how_the_joint_is_driven_and_set_nothing_by_that(made):
    node, params, changes = made()
    params.show("A", kp=7.0, kd=3.0, mode="effort")
    assert values(node) == [7.0, 7.0, 3.0, 3.0, "effort"]
    assert changes == []
    assert put(node, A__kp=8.0) == ""
    assert changes == [{"kp": 8.0}]


def test_an_initial_position_is_within_limits_and_where_the_joint_can_be(made):
    node, params, changes = made(B__initial_position=0.2)
    values = JointValues(
        change=lambda **c: changes.append(c),
        initial_position=0.1,
        limits=(-1.0, 1.0),
        objection=lambda position: "not there" if position < 0.0 else "",
    )
    params.add("B", values)
    assert changes == [{"initial_position": 0.2}]
    assert put(node, B__initial_position=0.5) == ""
    assert changes[1:] == [{"initial_position": 0.5}]
    assert put(node, B__initial_position=-0.5) == "B.initial_position: not there"
    assert "out of range" in put(node, B__initial_position=1.5)
    assert put(node, B__initial_position="0.5") != ""
    assert node.get_parameter("B.initial_position").value == 0.5
    assert len(changes) == 2


def test_a_node_does_not_start_where_its_joint_cannot_be(made):
    _, params, _ = made(B__initial_position=0.2)
    with pytest.raises(WrongUseError, match=r"B\.initial_position: not there"):
        params.add("B", JointValues(objection=lambda _: "not there"))


def test_they_go_with_their_joint(made):
    node, params, changes = made()
    params.remove("A")
    assert not params.has("A")
    assert not any(node.has_parameter(name) for name in NAMES)
    params.add("A", JointValues(1.0, 1.0, "effort", lambda **c: changes.append(c)))
    assert values(node) == [1.0, 1.0, 1.0, 1.0, "effort"]


def test_the_joint_is_read_from_the_name():
    joints = {
        "J.1.kp": "J.1",
        "gains.J.1.d": "J.1",
        "second/J1.mode": "second/J1",
        "J1.initial_position": "J1",
        "camera.width": None,
        "gains.J1.i": None,
        "kp": None,
    }
    assert {name: joint_of(name) for name in joints} == joints
