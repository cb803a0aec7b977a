"""model_node while it runs: its parameters, its model's files, and its health."""

import signal
from contextlib import closing
from math import cos, sin, sqrt
from xml.etree import ElementTree

import numpy as np
import pytest
from mechanism_model import CRANK, ROD, link, mechanism

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not importable")

from diagnostic_msgs.msg import DiagnosticStatus
from model_node_tools import Parameters, Robot, command, joint_position, rewrite
from ros_peer import PATIENCE, Peer, running, stamp_ns
from std_msgs.msg import String

from hrp_msgs import names, qos
from hrp_msgs.node.qos import profile

pytestmark = pytest.mark.ros

JOINTS = {"CRANK", "ROD", "SLIDER", "LEFT", "TOP", "RIGHT"}
LAMP = link("LAMP", "fixed", "0, 0, 1")
WHEEL = link("WHEEL", "revolute", "0, 0, 1", jointAxis="[ 0, 0, 1 ]", jointId=2)
DEFAULTS = {
    "frame_prefix": "",
    "world_frame": "",
    "publish_frequency": 20.0,
    "ignore_timestamp": False,
    "watch": False,
    "base": "none",
}

OPEN = r"is open by .* at "


def srdf_name(text):
    return ElementTree.fromstring(text).get("name")


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    folder = tmp_path_factory.mktemp("changes")
    model = folder / "mechanism.body"
    model.write_text(mechanism(), encoding="utf-8")
    peer = Peer()
    with pytest.MonkeyPatch.context() as patch, closing(peer):
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        with running(command(model=model), folder / "log.txt") as node:
            yield Robot(peer, model, folder / "log.txt")
            node.send_signal(signal.SIGINT)
            assert node.wait(PATIENCE) == 0


@pytest.fixture
def robot(process):
    """Return the node as it was started."""
    rewrite(process.model, mechanism())
    assert process.set(model=str(process.model), **DEFAULTS) == ""
    process.wait_until("the first model", lambda: {*process.static()} == set())
    process.wait_until("its description", lambda: process.description().name == "mechanism")
    return process


def test_a_new_model_replaces_the_old_one(robot, tmp_path):
    other = tmp_path / "other.body"
    other.write_text(mechanism("other", LAMP, WHEEL, limit=0.7), encoding="utf-8")
    assert robot.set(model=str(other)) == ""
    robot.wait_until("the new frames", lambda: "LAMP" in robot.static())
    robot.wait_until("the description", lambda: robot.description().name == "other")
    assert (
        robot.latest(names.ROBOT_DESCRIPTION).data == robot.parameters.get("robot_description")[0]
    )
    assert robot.parameters.get("model", "joint_limits.CRANK.max_position") == [str(other), 0.7]
    assert "joint_limits.WHEEL.has_position_limits" in robot.parameters.below("joint_limits")
    assert robot.positions(WHEEL=0.5) == {"WHEEL": pytest.approx(0.5)}

    assert robot.set(model=str(robot.model)) == ""
    assert not [n for n in robot.parameters.below("joint_limits") if ".WHEEL." in n]
    robot.wait_until("no LAMP", lambda: "LAMP" not in robot.static())


def test_a_model_that_cannot_be_used_leaves_the_old_one(robot, tmp_path):
    before = robot.parameters.get("model", "robot_description", "base")
    for name, text, words in (
        ("bad.body", mechanism().replace("parent: CRANK", "parent: CRNAK"), "bad.body:"),
        ("empty.body", "", "empty.body"),
        ("missing.body", None, "missing.body"),
        ("robot.urdf", "<robot name='r'/>", "robot.urdf:1:1: error: a robot needs"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text, encoding="utf-8")
        reason = robot.set(model=str(tmp_path / name))
        assert words in reason
        assert "\n" not in reason
        assert robot.parameters.get("model", "robot_description", "base") == before
    assert robot.positions(CRANK=0.2)["CRANK"] == pytest.approx(0.2)
    assert robot.set(model=str(robot.model)) == ""


def test_what_cannot_be_set_is_refused_with_words(robot):
    for name, value, words in (
        ("robot_description", "<robot name='other'/>", "derived from the parameter 'model'"),
        ("joint_limits.CRANK.max_position", 9.0, "derived from the parameter 'model'"),
        ("base", "wheels", "'base_link' or 'base_footprint'"),
        ("publish_frequency", -1.0, "range"),
        ("publish_tf", False, "read-only"),
        ("frame_prefix", 3, "type"),
        ("model", "", "parameter 'model' is empty"),
        ("ros2_control", "gz", "needs parameter 'controllers'"),
    ):
        before = robot.parameters.get(name)
        assert words in robot.set(**{name.replace(".", "__"): value})
        assert robot.parameters.get(name) == before


def test_joint_limits_are_parameters(robot):
    limits = robot.parameters.below("joint_limits")
    assert limits["joint_limits.CRANK.has_position_limits"] is True
    assert limits["joint_limits.CRANK.min_position"] == -1.5
    assert limits["joint_limits.CRANK.max_position"] == 1.5
    assert limits["joint_limits.ROD.has_position_limits"] is False
    assert {name.split(".")[1] for name in limits} == JOINTS


def test_every_parameter_says_what_it_is_for(robot):
    assert "base_link" in robot.parameters.describe("base").additional_constraints
    assert robot.parameters.describe("joint_limits.CRANK.max_position").description
    assert robot.parameters.describe("publish_frequency").floating_point_range[0].to_value == 1e4


def test_a_new_prefix_and_world_change_all_frames(robot):
    assert robot.set(frame_prefix="r2/", world_frame="map") == ""
    robot.wait_until("the prefix", lambda: "r2/BASE" in robot.static())
    base = robot.static()["r2/BASE"]
    assert base.header.frame_id == "map"
    t = base.transform.translation
    assert (t.x, t.y, t.z) == (1.0, 2.0, 3.0)
    assert robot.positions(LEFT=0.1).keys() == {"r2/LEFT", "r2/TOP", "r2/RIGHT"}
    assert "r2/" not in robot.latest(names.ROBOT_DESCRIPTION).data


def test_moving_frames_follow_a_change_at_once(robot):
    assert robot.positions(CRANK=0.2, LEFT=0.1)["LEFT"] == pytest.approx(0.1)
    assert robot.set(frame_prefix="r3/") == ""
    for frame, angle in (("r3/CRANK", 0.2), ("r3/LEFT", 0.1), ("r3/RIGHT", 0.1)):
        robot.wait_until(frame, lambda frame=frame: robot.moving(frame))
        assert joint_position(robot.moving(frame)[-1]) == pytest.approx(angle)

    moved = robot.model.parent / "moved.body"
    text = mechanism().replace("translation: [ 0, 0, 1 ]", "translation: [ 0, 0, 5 ]")
    moved.write_text(text, encoding="utf-8")
    assert robot.set(model=str(moved)) == ""
    robot.wait_until(
        "LEFT at its new place",
        lambda: robot.moving("r3/LEFT")[-1].transform.translation.z == 5.0,
    )
    found = robot.moving("r3/LEFT")
    assert joint_position(found[-1]) == pytest.approx(0.1)
    stamps = [stamp_ns(t.header.stamp) for t in found]
    assert stamps == sorted(set(stamps))
    assert all(0 <= time - robot.time < 1000 for time in stamps)


def test_a_base_stands_above_the_root_in_tf_as_in_the_description(robot):
    assert robot.set(world_frame="map", base="base_footprint") == ""
    robot.wait_until("the base", lambda: "base_footprint" in robot.static())
    static = robot.static()
    chain = {child: t.header.frame_id for child, t in static.items()}
    assert chain == {"base_footprint": "map", "base_link": "base_footprint", "BASE": "base_link"}
    heights = {child: t.transform.translation.z for child, t in static.items()}
    assert heights["base_footprint"] == 0.0
    assert sum(heights.values()) == 3.0
    robot.wait_until("its links", lambda: {"base_footprint", "base_link"} <= robot.links())
    assert robot.description().get_root() == "base_footprint"


def test_the_rate_can_change(robot):
    assert robot.set(publish_frequency=1.0) == ""
    first = robot.next_time()
    robot.joints.transforms(first, {"LEFT": 0.1})
    robot.joints.send(first + 900_000_000, {"LEFT": 0.2})
    robot.joints.transforms(robot.next_time(), {"LEFT": 0.3})
    assert not robot.joints.transforms_at(first + 900_000_000)
    assert robot.set(publish_frequency=0.0) == ""
    for i in range(1, 4):
        robot.joints.transforms(first + i, {"LEFT": 0.4})


def test_stamps_can_be_ignored(robot):
    assert robot.set(publish_frequency=1.0, ignore_timestamp=True) == ""
    time = robot.next_time()
    robot.joints.transforms(time, {"LEFT": 0.1})
    robot.joints.transforms(time + 1, {"LEFT": 0.2})
    known = len(robot.joints.transforms_at(time))

    def is_answered():
        robot.joints.send(time, {"LEFT": 0.3})  # once more, and older than the last
        return len(robot.joints.transforms_at(time)) > known

    robot.wait_until("another answer", is_answered)


def test_joints_that_closed_loops_move_are_computed(robot):
    angle = 0.5
    found = robot.positions(CRANK=angle, LEFT=-0.4)
    assert found.keys() == JOINTS
    slide = CRANK * cos(angle) + sqrt(ROD**2 - (CRANK * sin(angle)) ** 2) - CRANK - ROD
    assert found["SLIDER"] == pytest.approx(slide, abs=1e-9)
    swing = np.arcsin(-CRANK * sin(angle) / ROD) - angle
    assert found["ROD"] == pytest.approx(swing, abs=1e-9)
    assert found["TOP"] == pytest.approx(0.4, abs=1e-9)
    assert found["RIGHT"] == pytest.approx(-0.4, abs=1e-9)
    mimic = robot.description().joint_map["RIGHT"].mimic
    assert (mimic.joint, mimic.multiplier) == ("LEFT", 1.0)


def test_a_changed_file_is_read_again_if_it_is_watched_and_a_broken_one_is_told_once(robot):
    changes = robot.health("model", lambda *_: True)[2]["changes"]
    rewrite(robot.model, mechanism("second", LAMP))
    robot.peer.wait_for(names.DIAGNOSTICS, 2)  # time to look
    assert robot.description().name == "mechanism"
    assert robot.set(watch=True) == ""
    robot.wait_until("the second model", lambda: "LAMP" in robot.static())
    robot.wait_until("its description", lambda: robot.description().name == "second")
    assert (
        robot.parameters.get("robot_description")[0] == robot.latest(names.ROBOT_DESCRIPTION).data
    )

    rewrite(robot.model, "links: [ { name: A")
    _, message, values = robot.health("model", lambda level, *_: level == DiagnosticStatus.ERROR)
    assert "the previous one is kept" in message
    assert f"{robot.model}:1:" in message
    assert values["model"] == "second"
    robot.health("model", lambda *_: True)
    said = robot.log.read_text(encoding="utf-8")
    assert said.count(f"{robot.model}:1:") == 1
    assert "LAMP" in robot.static()

    rewrite(robot.model, mechanism("third", WHEEL))
    robot.wait_until("the third model", lambda: robot.description().name == "third")
    _, _, values = robot.health("model", lambda *x: x[2]["model"] == "third")
    assert values["last change"] == "good"
    assert int(values["changes"]) > int(changes)


def test_the_health_of_a_model_tells_what_it_is(robot):
    _, message, values = robot.health("model", lambda *x: x[2]["model"] == "mechanism")
    assert "mechanism" in message
    expected = {"links": "7", "moving joints": "6", "devices": "0"}
    assert expected.items() <= values.items()
    assert values["file"] == str(robot.model)
    assert float(values["mass [kg]"]) == 7.0
    robot.positions(CRANK=0.1, LEFT=0.2)
    _, _, values = robot.health("joint_states", lambda *x: x[0] == DiagnosticStatus.OK)
    assert values["joints without position"] == ""
    assert values["computed joints"] == "RIGHT, ROD, SLIDER, TOP"


def test_tf_can_be_left_to_others(tmp_path, process):
    (tmp_path / "m.body").write_text(mechanism(), encoding="utf-8")
    given = {"publish_tf": "false", "world_frame": "map", "description_format": "urdf+srdf"}
    arguments = [*command(model=tmp_path / "m.body", **given), "-r", "__ns:=/quiet"]
    peer = process.peer
    topics = [f"/quiet/{n}" for n in (names.ROBOT_DESCRIPTION, names.ROBOT_DESCRIPTION_SEMANTIC)]
    for topic in topics:
        peer.follow(topic, String, profile(qos.LATCHED))
    with running(arguments, tmp_path / "log.txt") as node:
        peer.wait_until("both texts", lambda: all(peer.messages[topic] for topic in topics))
        [urdf], [srdf] = (peer.messages[topic] for topic in topics)
        parameters = Parameters(peer, "/quiet/model_node")
        found = parameters.get(names.ROBOT_DESCRIPTION, names.ROBOT_DESCRIPTION_SEMANTIC)
        assert found == [urdf.data, srdf.data]
        assert srdf_name(srdf.data) == "mechanism"
        known = peer.node.get_node_names_and_namespaces
        peer.wait_until("the node", lambda: ("model_node", "/quiet") in known())
        published = peer.node.get_publisher_names_and_types_by_node("model_node", "/quiet")
        assert not {"/tf", "/tf_static"} & {topic for topic, _ in published}
        followed = peer.node.get_subscriber_names_and_types_by_node("model_node", "/quiet")
        assert "/quiet/joint_states" not in {topic for topic, _ in followed}
        node.send_signal(signal.SIGINT)
        assert node.wait(PATIENCE) == 0
