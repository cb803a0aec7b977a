"""Joints that are teleported by a topic, and initial positions that are parameters."""

from __future__ import annotations

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")

from commanded_robot import START, simulated_robot
from rclpy.parameter import Parameter
from ros_session import session
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from hrp_sim.run.requests.resources import Resource

pytestmark = pytest.mark.ros

PRESS = str(MODELS / "worlds" / "press.yaml")
ARM = str(MODELS / "worlds" / "arm.yaml")
HOLDS = 5e-3  # [rad], how far a held joint sags


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    with simulated_robot(tmp_path_factory.mktemp("arm")) as robot:
        yield robot


def q_of(simulation, body):
    simulated = simulation.bodies[body]
    names = [link.joint.name for link in simulated.body.moving_links]
    return dict(zip(names, simulated.motion.q.tolist(), strict=True))


def test_a_topic_puts_joints_where_no_motion_of_this_time_leads(robot):
    robot.reset()
    message = JointState(name=["J1", "J6"], position=[2.5, -3.0])
    robot.publish_until(
        "set_joint_positions", message, "J1 at 2.5", lambda: abs(robot.where("J1") - 2.5) < HOLDS
    )
    state = robot.states[-1]
    first = next(s for s in robot.states if abs(s.position[0] - 2.5) < HOLDS)
    before = robot.states[robot.states.index(first) - 1]
    assert abs(before.position[0]) < HOLDS  # there is no way between
    expected = {**START, "J1": 2.5, "J6": -3.0}
    for joint, position in zip(state.name, state.position, strict=True):
        assert position == pytest.approx(expected[joint], abs=HOLDS)
    robot.wait(0.2)
    assert robot.where("J1") == pytest.approx(2.5, abs=HOLDS)


def test_what_cannot_be_is_a_warning(robot):
    robot.reset()
    message = JointState(name=["J1", "J7"], position=[0.5, 0.5])
    robot.publish_until(
        "set_joint_positions",
        message,
        "a warning",
        lambda: "no moving joint 'J7'" in robot.log.read_text(encoding="utf-8"),
    )
    robot.wait(0.1)
    assert robot.where("J1") == pytest.approx(0.0, abs=HOLDS)


def test_a_parameter_is_where_a_joint_starts_after_a_reset(robot):
    robot.reset()
    assert robot.get("J2.initial_position") == [0.5]
    results = robot.set(J2__initial_position=-0.3, J1__initial_position=1.0)
    assert [result.reason for result in results] == ["", ""]
    robot.wait(0.1)
    assert robot.where("J2") == pytest.approx(0.5, abs=HOLDS)
    assert robot.peer.call("/sim_node/reset", Trigger).success
    robot.wait_for("J2", -0.3, HOLDS)  # after states from before
    assert robot.where("J1") == pytest.approx(1.0, abs=HOLDS)
    [result] = robot.set(J2__initial_position=2.0)
    assert "J2.initial_position" in result.reason
    assert robot.get("J2.initial_position") == [-0.3]
    robot.set(J2__initial_position=0.5, J1__initial_position=0.0)


def test_a_node_may_be_started_with_initial_positions():
    parameters = {"world": ARM, "start_paused": True, "J3.initial_position": -0.7, "J3.kp": 77.0}
    with session(parameters) as running:
        expected = {**START, "J3": -0.7}
        assert q_of(running.runner.simulation, "arm") == pytest.approx(expected, abs=1e-12)
        assert running.runner.simulation.state.time_ns == 0
        node = running.ros.node
        assert node.get_parameter("J3.initial_position").value == -0.7
        assert node.get_parameter("J3.kp").value == 77.0
        running.ros.node.control.load_world(Resource(ARM))
        assert q_of(running.runner.simulation, "arm") == pytest.approx(expected, abs=1e-12)


def test_parameters_of_a_closed_loop_follow_each_other():
    with session({"world": PRESS, "start_paused": True}) as running:
        node = running.ros.node
        results = []

        def put(**values):
            given = [Parameter(f"{k}.initial_position", value=v) for k, v in values.items()]
            running.serve(lambda: results.extend(node.set_parameters(given)))
            return results[-1].reason

        assert put(CRANK=0.5) == ""
        values = [node.get_parameter(f"{k}.initial_position").value for k in ("ROD", "SLIDE")]
        running.runner.reset()
        posture = q_of(running.runner.simulation, "Press")
        assert [posture["ROD"], posture["SLIDE"]] == pytest.approx(values, abs=1e-9)
        assert abs(values[1]) > 0.01
        assert "cannot close at SLIDE = 1 m" in put(SLIDE=1.0)
        assert node.get_parameter("SLIDE.initial_position").value == values[1]
