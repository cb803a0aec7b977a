"""model_node, heard by another process."""

import math
import re
import signal
from contextlib import closing

import numpy as np
import pytest
import trimesh
from paths import MODELS
from urdf_tools import body_poses, file_of, parsed, urdf_poses

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not importable")

from model_node_tools import Joints, Parameters, command
from ros_peer import PATIENCE, Peer, running
from ros_session import ended
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics
from hrp_model.rigid import matrix_quaternion
from hrp_msgs import names, qos
from hrp_msgs.node.qos import profile

pytestmark = pytest.mark.ros

MODEL = MODELS / "humanoid" / "humanoid.wrl"
PREFIX = "r1/"


@pytest.fixture(scope="module")
def body():
    return load_body(MODEL, Diagnostics.silent())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("model_node")


@pytest.fixture(scope="module")
def peer(folder):
    """Return this process's node, while model_node runs in another."""
    made = Peer()
    with pytest.MonkeyPatch.context() as patch, closing(made):
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        node = running(
            command(
                model=MODEL, frame_prefix=PREFIX, world_frame="world", publish_frequency="20.0"
            ),
            folder / "log.txt",
        )
        with node as process:
            yield made
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


@pytest.fixture(scope="module")
def description(peer):
    peer.follow(names.ROBOT_DESCRIPTION, String, profile(qos.LATCHED))
    return peer.heard(names.ROBOT_DESCRIPTION)[0].data


@pytest.fixture(scope="module")
def static(peer):
    peer.follow(names.TF_STATIC, TFMessage, profile(qos.TF_STATIC))
    (message,) = peer.heard(names.TF_STATIC)
    return {t.child_frame_id: t for t in message.transforms}


@pytest.fixture(scope="module")
def joints(peer):
    return Joints(peer)


def assert_is_pose(transform, X):
    t, r = transform.transform.translation, transform.transform.rotation
    np.testing.assert_allclose([t.x, t.y, t.z], X[:3, 3], atol=1e-12)
    expected = matrix_quaternion(X[:3, :3])
    assert abs(np.dot([r.x, r.y, r.z, r.w], expected)) == pytest.approx(1.0, abs=1e-12)


def test_the_description_is_the_robot(description, body):
    robot = parsed(description)
    assert {link.name for link in body.links} <= set(robot.link_map)
    assert {d.name for d in body.devices} <= set(robot.link_map)
    q = {link.joint.name: 0.1 * (i + 1) for i, link in enumerate(body.moving_links)}
    theirs = urdf_poses(robot, q)
    for name, X in body_poses(body, q).items():
        np.testing.assert_allclose(theirs[name], X, atol=1e-9)


def test_the_description_is_a_parameter_too(description, peer):
    assert Parameters(peer, "/model_node").get("robot_description") == [description]


def test_static_transforms_come_in_one_message(static, body):
    assert all(child.startswith(PREFIX) for child in static)
    moving = {link.name for link in body.moving_links}
    for link in body.links[1:]:
        assert (PREFIX + link.name in static) == (link.name not in moving)
    for device in body.devices:
        assert_is_pose(static[PREFIX + device.name], device.X_LS.matrix())
        assert static[PREFIX + device.name].header.frame_id == PREFIX + device.link


def test_the_camera_and_the_scanner_have_the_frames_their_messages_name(static):
    optical = static[PREFIX + "head_camera_optical_frame"]
    assert optical.header.frame_id == PREFIX + "head_camera"
    assert_is_pose(optical, np.diag([1.0, -1.0, -1.0, 1.0]))
    scan = static[PREFIX + "scanner_frame"]
    assert_is_pose(scan, np.array([[0, -1, 0, 0], [0, 0, 1, 0], [-1, 0, 0, 0], [0, 0, 0, 1.0]]))


def test_the_root_stands_in_the_world_where_the_model_puts_it(static, body):
    base, root = static[PREFIX + "base_link"], static[PREFIX + body.root.name]
    assert (base.header.frame_id, root.header.frame_id) == ("world", PREFIX + "base_link")
    assert_is_pose(base, body.root.X_PL.matrix())
    assert_is_pose(root, np.eye(4))


def test_joint_states_move_the_links(joints, body):
    rng = np.random.default_rng(7)
    q = {link.joint.name: rng.uniform(-2, 2) for link in body.moving_links}
    found = joints.transforms(1_000_000_000, q)
    poses = body_poses(body, q)
    assert found.keys() == {PREFIX + link.name for link in body.moving_links}
    for link in body.moving_links:
        transform = found[PREFIX + link.name]
        assert transform.header.frame_id == PREFIX + link.parent
        assert_is_pose(transform, np.linalg.inv(poses[link.parent]) @ poses[link.name])


def test_transforms_come_at_the_rate_asked_for(joints, body):
    q = {link.joint.name: 0.2 for link in body.moving_links}
    joints.transforms(2_000_000_000, q)
    joints.send(2_010_000_000, q)
    joints.transforms(2_050_000_000, q)
    assert not joints.transforms_at(2_010_000_000)


def test_time_that_begins_anew_is_followed(joints, body):
    q = {link.joint.name: 0.3 for link in body.moving_links}
    joints.transforms(500_000_000_000, q)
    joints.transforms(3_000_000_000, q)


def test_what_is_not_a_joint_or_not_a_number_is_left_out(joints, body, folder):
    first, second = (link.joint.name for link in body.moving_links[:2])
    states = {"NO_SUCH_JOINT": 1.0, first: math.nan, second: 0.5}
    moved = body.moving_links[1].name
    assert joints.transforms(4_000_000_000, states).keys() == {PREFIX + moved}
    joints.transforms(5_000_000_000, states)
    assert (folder / "log.txt").read_text(encoding="utf-8").count("NO_SUCH_JOINT") == 1


CONE = """
format: ChoreonoidBody
formatVersion: 2.0
name: cone
rootLink: CONE
links:
  - name: CONE
    jointType: fixed
    elements: [ { type: Shape, geometry: { type: Cone, radius: 0.1, height: 0.3 } } ]
"""


@pytest.mark.parametrize("cache", ["folder", "file/below"], ids=["cache", "no cache"])
def test_meshes_are_files_that_can_be_opened(cache, peer, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder can be made here")
    (tmp_path / "tmp").mkdir()
    (tmp_path / "cone.body").write_text(CONE, encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    topic = f"/{tmp_path.name}/robot_description"
    peer.follow(topic, String, profile(qos.LATCHED))
    arguments = [*command(model=tmp_path / "cone.body"), "-r", f"__ns:=/{tmp_path.name}"]
    with running(arguments, tmp_path / "log.txt") as process:
        _, link = parsed(peer.heard(topic)[0].data).links  # below base_link
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    for element in (link.visual, link.collision):
        path = file_of(element.geometry.filename)
        folder = tmp_path / "folder" / "hrp_ros" if cache == "folder" else tmp_path / "tmp"
        assert path.is_relative_to(folder)
        size = trimesh.load(path, force="mesh").extents
        np.testing.assert_allclose(size, [0.2, 0.3, 0.2], atol=0.01)


def test_ctrl_c_ends_it_cleanly(peer, tmp_path):
    peer.follow("/second/robot_description", String, profile(qos.LATCHED))
    arguments = [*command(model=MODEL), "-r", "__ns:=/second"]
    with running(arguments, tmp_path / "log.txt") as process:
        peer.heard("/second/robot_description")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert "Traceback" not in (tmp_path / "log.txt").read_text(encoding="utf-8")


@pytest.fixture
def run_to_end(monkeypatch, capfd):
    """Return what runs the node to its end in this process; it returns status and messages."""

    def run(*words, **parameters):
        _, _, *given = command(**parameters)
        status, said = ended([*given, *words], monkeypatch, capfd, "model_node")
        assert "Traceback" not in said
        return status, said

    return run


@pytest.mark.parametrize(
    "text",
    ["#VRML V2.0 utf8\nDEF A Humanoid {\n  humanoidBody [ DEF", None],
    ids=["broken", "missing"],
)
def test_a_model_that_cannot_be_used_ends_it_with_words(text, tmp_path, run_to_end):
    file = tmp_path / "robot.wrl"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    status, said = run_to_end(model=file)
    assert status == 1
    assert "robot.wrl" in said


def test_a_package_that_is_not_there_ends_it_with_words(run_to_end):
    status, said = run_to_end(model="package://no_such_package/robot.wrl")
    assert status == 1
    assert "no_such_package" in said


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"model": "a.wrl", "publish_frequency": -1.0},
        {"model": "a.wrl", "frame_prefix": 7},
        {"model": "a.wrl", "base": "wheels"},
        {"model": "a.wrl", "ros2_control": "gz"},
        {"model": "a.wrl", "robot_description": "<robot/>"},
    ],
    ids=["no model", "range", "type", "choice", "together", "description"],
)
def test_wrong_use_is_told_in_one_line(parameters, run_to_end):
    status, said = run_to_end(**parameters)
    assert status == 2
    [line] = said.splitlines()
    assert line.startswith("error: ")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            ["-p", "qos_overrides./joint_states.subscription.depth:=-5"],
            "topic 'joint_states' cannot be created: .* depth must be in the range 0 .. .*, not -5",
        ),
        (["-r", f"__ns:=/{'n' * 240}"], "the node cannot be created"),
    ],
    ids=["depth", "namespace"],
)
def test_names_and_qualities_that_ros_does_not_take_are_refused(rule, words, run_to_end):
    status, said = run_to_end(*rule, model=MODELS / "arm" / "arm.body")
    assert status == 2
    assert re.search(f"^error: {words}", said, re.MULTILINE)


def test_what_ros_cannot_read_is_told(run_to_end):
    status, said = run_to_end(model="a.wrl", **{"": 1})
    assert status == 2
    assert "error: ROS cannot start" in said
