"""The frames of simulated bodies: one tree, of which roots and links come in one message."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from ros_peer import LATCHED, Peer, matrix_of, stamp_ns
from ros_session import session
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

from hrp_model import Pose
from hrp_msgs.recording import Recording

pytestmark = pytest.mark.ros

HUMANOID = str(MODELS / "humanoid" / "humanoid.wrl")
PERIOD_NS = 10_000_000


@contextmanager
def simulated(world, *arguments, **parameters):
    """Yield a running session and a peer that follows its frames."""
    peer = Peer()
    peer.follow("/tf", TFMessage)
    peer.follow("/tf_static", TFMessage, LATCHED)
    peer.follow("ground_truth/odom", Odometry)
    try:
        with session({"world": str(world), **parameters}, arguments) as running:
            yield running, peer
    finally:
        peer.close()


def pairs(peer, topic):
    return {
        (t.header.frame_id, t.child_frame_id)
        for m in list(peer.messages[topic])
        for t in m.transforms
    }


def test_links_come_with_their_root_a_hundred_times_a_second():
    with simulated(HUMANOID, describe=True) as (running, peer):
        humanoid = running.runner.simulation.bodies["Humanoid"].body
        peer.wait_for("/tf", 20)
        peer.wait_until(
            "static frames", lambda: ("base_link", "PELVIS") in pairs(peer, "/tf_static")
        )
        messages = peer.messages["/tf"][3:20]
    moving = {link.name for link in humanoid.moving_links}
    for message in messages:
        assert message.transforms[0].child_frame_id == "base_link"
        assert {t.child_frame_id for t in message.transforms[1:]} == moving
        assert len({stamp_ns(t.header.stamp) for t in message.transforms}) == 1
    stamps = [stamp_ns(m.transforms[0].header.stamp) for m in messages]
    assert stamps == [stamps[0] + k * PERIOD_NS for k in range(len(stamps))]
    assert stamps[0] % PERIOD_NS == 0


def test_no_frame_has_two_parents_and_all_lead_to_the_world():
    with simulated(MODELS / "worlds" / "humanoid_in_room.yaml", describe=True) as (_, peer):
        peer.wait_for("/tf", 3)
        peer.wait_until("a room", lambda: ("world", "Room/ROOM") in pairs(peer, "/tf_static"))
        peer.wait_until("a base", lambda: ("base_link", "PELVIS") in pairs(peer, "/tf_static"))
        odometry = peer.wait_for("ground_truth/odom")[-1]
        found = pairs(peer, "/tf") | pairs(peer, "/tf_static")
    assert odometry.child_frame_id == "base_link"
    parents = {child: parent for parent, child in found}
    assert len(parents) == len(found)
    for child in parents:
        while child in parents:
            child = parents[child]
        assert child == "world"


def test_frames_and_switches_of_several_robots_in_lock_step_go_on_after_a_reset(tmp_path):
    robots, world = ("left", "right"), tmp_path / "world.yaml"
    arm = MODELS / "arm" / "arm.body"
    bodies = [f"{{ model: {arm}, name: {name}, position: [0, {len(name)}, 0] }}" for name in robots]
    world.write_text(f"bodies: [ {', '.join(bodies)} ]")
    lock_step = {"hardware_topics": True, "lock_step": "/left/robot_joint_command"}

    def moved(messages):
        return {t.child_frame_id for m in messages for t in m.transforms}

    def is_on():
        return peer.messages["left/devices"][-1].values[0].value == "on"

    with simulated(world, describe=True, **lock_step) as (running, peer):
        peer.follow("left/devices", DiagnosticStatus, LATCHED)
        peer.heard("left/devices")
        ends = {f"{name}/J6" for name in robots}
        peer.wait_until("links", lambda: ends <= moved(list(peer.messages["/tf"])))
        bases = {("world", f"{name}/base_link") for name in robots}
        peer.wait_until("bases", lambda: bases <= pairs(peer, "/tf_static"))
        assert peer.call("left/devices/wrist_force/set_enabled", SetBool, data=False).success
        peer.wait_until("off", lambda: not is_on())
        before_ns, count = running.runner.simulation.state.time_ns, len(peer.messages["/tf"])
        assert peer.call("sim_node/reset", Trigger).success
        peer.wait_until("on again", is_on)
        peer.wait_until("links again", lambda: ends <= moved(list(peer.messages["/tf"])[count:]))
        assert running.runner.simulation.state.time_ns >= before_ns > 0


@pytest.mark.parametrize(
    ("base", "tree"),
    [("auto", {("world", "base_link"), ("base_link", "PELVIS")}), ("none", {("world", "PELVIS")})],
)
def test_without_a_description_a_base_hangs_between_the_world_and_the_root(base, tree):
    """So that a robot_state_publisher may have a URDF with the base, or one without."""
    with simulated(HUMANOID, base=base) as (_, peer):
        peer.wait_for("/tf", 3)
        own = {("world", "FLOOR"), ("world", "floor/FLOOR")}
        peer.wait_until(
            "the tree", lambda: tree == (pairs(peer, "/tf") | pairs(peer, "/tf_static")) - own
        )
        root = peer.messages["/tf"][-1].transforms[0]
        pose = peer.first_after("ground_truth/odom", stamp_ns(root.header.stamp)).pose.pose
    assert matrix_of(root.transform)[2, 3] == pytest.approx(pose.position.z, abs=1e-3)


@pytest.mark.parametrize("describe", [True, False])
def test_another_world_frame_and_a_footprint_are_in_the_tree_once(describe):
    """On the floor below the initial root, whichever node publishes the frames below."""
    given = "--ros-args", "-p", "world_frame:=odom", "-p", "base:=base_footprint"
    with simulated(HUMANOID, *given, describe=describe) as (_, peer):
        peer.wait_for("/tf", 3)
        peer.wait_until("base", lambda: ("base_link", "PELVIS") in pairs(peer, "/tf_static"))
        fixed = {
            t.child_frame_id: (t.header.frame_id, matrix_of(t.transform))
            for m in list(peer.messages["/tf_static"])
            for t in m.transforms
        }
        moving = [m.transforms[0] for m in peer.messages["/tf"]]
        root = next(t for t in moving if t.child_frame_id == "base_footprint")
        odometry = peer.first_after("ground_truth/odom", stamp_ns(root.header.stamp))
    assert root.header.frame_id == odometry.header.frame_id == "odom"
    assert {name: fixed[name][0] for name in ("base_link", "PELVIS")} == {
        "base_link": "base_footprint",
        "PELVIS": "base_link",
    }
    assert "base_footprint" not in fixed
    assert fixed["base_link"][1][2, 3] == pytest.approx(0.76)
    assert matrix_of(root.transform)[2, 3] == pytest.approx(0.0, abs=0.01)
    assert odometry.child_frame_id == "base_footprint"
    assert odometry.pose.pose.position.z == pytest.approx(0.0, abs=0.01)


def test_the_root_moves_on_where_the_joints_are_switched_off():
    with simulated(HUMANOID, describe=True) as (running, peer):
        peer.wait_for("/tf", 3)
        simulation = running.runner.simulation
        running.runner.call(lambda: simulation.set_enabled("joint_states", False))
        peer.wait_until("roots", lambda: len(peer.messages["/tf"][-1].transforms) == 1)
        assert peer.wait_for("/tf", 3)[-1].transforms[0].child_frame_id == "base_link"


def test_frames_that_nobody_listens_to_are_not_published():
    peer = Peer()
    peer.follow("joint_states", JointState)
    try:
        with session({"world": HUMANOID, "describe": True}) as running:
            peer.first_after("joint_states", 300_000_000)
            assert running.ros.published()["/tf"][1] == 0
    finally:
        peer.close()


def test_the_rate_of_the_frames_of_links_can_be_changed():
    with simulated(HUMANOID, describe=True, publish_frequency=20.0) as (running, peer):

        def period_ns():
            stamps = [stamp_ns(m.transforms[0].header.stamp) for m in peer.wait_for("/tf", 4)[-3:]]
            return stamps[2] - stamps[1]

        peer.wait_for("/tf", 1)
        assert period_ns() == 50_000_000
        parameter = Parameter("publish_frequency", value=0.0)  # that of the joint states
        [result] = running.ros.node.set_parameters([parameter])
        assert result.successful
        peer.wait_until("more frames", lambda: period_ns() == 2_000_000)


ROVER = MODELS / "worlds" / "rover.yaml"
FIXED = {("base_footprint", "base_link"), ("base_link", "CHASSIS")}


def of_rover(peer):
    """Return the frames down to the root of the rover."""
    found = pairs(peer, "/tf") | pairs(peer, "/tf_static")
    names = {"map", "odom", "base_footprint", "base_link", "CHASSIS"}
    return {(parent, child) for parent, child in found if {parent, child} <= names}


@pytest.mark.parametrize("odometry", ["truth", "wheels", "none"])
def test_the_frame_of_odometry_hangs_between_the_world_and_a_robot(odometry):
    """Localization publishes its transform, unless it is true; another program all of them."""
    given = {"world_frame": "map", "base": "base_footprint", "odometry": odometry}
    given |= {"odom_frame": "odom", "odom_topic": "odom"} if odometry == "truth" else {}
    expected = {
        "truth": {("map", "odom"), ("odom", "base_footprint"), *FIXED},
        "wheels": {("odom", "base_footprint"), *FIXED},
        "none": FIXED,
    }[odometry]
    with simulated(ROVER, describe=True, **given) as (running, peer):
        peer.follow("odom", Odometry)
        peer.wait_until("the frames", lambda: of_rover(peer) == expected)
        true = peer.wait_for("ground_truth/odom", 20)[-1]
        assert of_rover(peer) == expected
        assert true.header.frame_id == "map"
        assert running.runner.simulation.sensors["odometry"].followed == odometry
        message = peer.first_after("odom", stamp_ns(true.header.stamp))
    assert (message.header.frame_id, message.child_frame_id) == ("odom", "base_footprint")
    deviation = message.pose.covariance[0] ** 0.5
    assert 0.0009 < deviation < 0.01  # at rest
    assert message.pose.pose.position.z == pytest.approx(0.0, abs=0.01)


def test_localization_gets_the_pose_at_the_start_and_after_a_reset():
    topic = "initialpose"
    with simulated(ROVER, world_frame="map", initial_pose_topic=topic) as (running, peer):
        peer.follow(topic, PoseWithCovarianceStamped)
        first, _ = peer.wait_for(topic, 2)
        assert first.header.frame_id == "map"
        assert first.pose.covariance[0] > 0.0
        simulation = running.runner.simulation
        elsewhere = simulation.placements.present("rover")
        elsewhere = replace(elsewhere, X_WL=Pose(p=[0.5, 0.0, 0.17]))
        running.runner.call(lambda: simulation.move(elsewhere))
        heard = peer.messages["ground_truth/odom"]
        peer.wait_until("the move", lambda: heard and heard[-1].pose.pose.position.x > 0.4)
        assert len(peer.messages[topic]) == 2
        assert peer.call("sim_node/reset", Trigger).success
        peer.wait_until("a third pose", lambda: len(peer.messages[topic]) > 2)
        again = peer.messages[topic][2].pose.pose.position
    assert (again.x, again.y) == pytest.approx(
        (first.pose.pose.position.x, first.pose.pose.position.y), abs=0.01
    )


def test_the_pose_for_localization_follows_the_transform_of_its_time(tmp_path):
    """So that AMCL, which looks up the transform of this time, finds it."""
    path, topic = tmp_path / "run.mcap", "initialpose"
    given = {"base": "base_footprint", "odometry": "wheels", "initial_pose_topic": topic}
    with simulated(ROVER, record=str(path), real_time_factor=3.0, **given) as (_, peer):
        peer.first_after("ground_truth/odom", 1_100_000_000)
    newest, poses = 0, 0
    for message in Recording(path).messages(["/tf", f"/{topic}"]):
        if message.topic == "/tf":
            stamps = [
                stamp_ns(x.header.stamp)
                for x in message.message.transforms
                if x.child_frame_id == "base_footprint"
            ]
            newest = max([newest, *stamps])
        else:
            poses += 1
            assert stamp_ns(message.message.header.stamp) == newest
    assert poses == 2
