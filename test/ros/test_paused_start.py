"""A paused simulation publishes its state, for subscribers that join: the robot stands."""

from contextlib import closing

import numpy as np
import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not importable")

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from recorded_runs import contents
from ros_peer import Peer, matrix_of, stamp_ns
from ros_session import session
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image, Imu, JointState, LaserScan
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

ROVER = str(MODELS / "worlds" / "rover.yaml")
ARM = str(MODELS / "arm" / "arm.body")
START_NS = 1  # of /clock, whose zero means that it has not started
PAUSED = {"start_paused": True, "describe": True}
TOPICS = {
    "/clock": Clock,
    "/joint_states": JointState,
    "/ground_truth/odom": Odometry,
    "/tf": TFMessage,
    "/imu/data_raw": Imu,
    "/scan": LaserScan,
}


@pytest.fixture
def peer(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with closing(Peer()) as made:
        yield made


def follow(peer, topics):
    for topic, kind in topics.items():
        peer.follow(topic, kind)


def newest(peer, topic, time_ns):
    """Return the newest message of a topic once it is of a time."""

    def stamp():
        message = peer.messages[topic][-1]
        stamped = message.transforms[0] if topic == "/tf" else message
        return stamp_ns(stamped.clock if topic == "/clock" else stamped.header.stamp)

    peer.wait_until(f"{topic} of {time_ns} ns", lambda: peer.messages[topic] and stamp() == time_ns)
    return peer.messages[topic][-1]


def paused_at(running, steps):
    """Take steps of a paused run; return its time then, in [ns]."""
    assert running.runner.step(steps).wait(300.0)
    return running.runner.simulation.state.time_ns


def assert_stands(peer, running, time_ns):
    """Check the newest messages: all of them show the present state of the rover."""
    simulated = running.runner.simulation.bodies["rover"]
    joints = newest(peer, "/joint_states", time_ns)
    found = dict(zip(joints.name, joints.position, strict=True))
    for link, q in zip(simulated.body.moving_links, simulated.motion.q, strict=True):
        assert found[link.joint.name] == q
    frames = {t.child_frame_id: t for t in newest(peer, "/tf", time_ns).transforms}
    assert frames.keys() == {"base_link", *(x.name for x in simulated.body.moving_links)}
    X = matrix_of(frames["base_link"].transform)
    np.testing.assert_allclose(X[:3, 3], simulated.motion.p[0], atol=1e-12)
    position = newest(peer, "/ground_truth/odom", time_ns).pose.pose.position
    np.testing.assert_array_equal([position.x, position.y, position.z], simulated.motion.p[0])


def test_a_robot_stands_before_the_first_step_and_in_each_pause(peer):
    with session({"world": ROVER, **PAUSED}) as running:
        follow(peer, TOPICS)
        assert_stands(peer, running, START_NS)
        for topic in TOPICS:
            newest(peer, topic, START_NS)
        assert newest(peer, "/imu/data_raw", START_NS).linear_acceleration.z == pytest.approx(
            9.81, abs=0.01
        )
        # Off the rate of the sensors, for those that join now.
        time_ns = paused_at(running, 137)
        with closing(Peer("late_peer")) as late:
            follow(late, TOPICS)
            assert_stands(late, running, time_ns)
        running.runner.reset()
        assert_stands(peer, running, START_NS)


def test_what_steps_measure_and_images_are_not_repeated_at_the_start(peer):
    world = str(MODELS / "worlds" / "humanoid_in_room.yaml")
    with session({"world": world, **PAUSED}) as running:
        wrench, image = "/left_foot_force/wrench", "/head_camera/image_raw"
        follow(peer, {wrench: WrenchStamped, image: Image, "/joint_states": JointState})
        peer.wait_for("/joint_states", 2)
        assert not peer.messages[wrench]
        time_ns = paused_at(running, 3)
        newest(peer, wrench, time_ns)
        assert not peer.messages[image]


def test_controllers_in_lock_step_get_frames_only(peer):
    """They would respond to readings, and a response is taken for that to the next boundary."""
    given = {"world": ARM, "lock_step": "joint_commands", "lock_step_rate": 100.0}
    with session({**given, **PAUSED}) as running:
        follow(peer, {"/joint_states": JointState, "/tf": TFMessage})
        peer.wait_for("/tf", 2)
        assert not peer.messages["/joint_states"]
        assert running.runner.gate.counts.dropped == 0


def test_recordings_and_the_motion_are_those_of_a_run_without_pauses(peer, tmp_path):
    recorded, hashes = [], []
    for is_observed in (False, True):
        path = tmp_path / f"{is_observed}.mcap"
        options = {"encoders": True, "record": str(path)}
        with session({"world": ARM, **options, **PAUSED}) as running:
            if is_observed:
                follow(peer, {"/joint_states": JointState, "/tf": TFMessage})
            for _ in range(2):
                if is_observed:
                    peer.wait_for("/joint_states")
                    peer.wait_for("/tf")
                paused_at(running, 33)
            hashes.append(running.runner.simulation.state_hash())
        found = contents(path)
        recorded.append({k: x for k, x in found.items() if k[0] not in ("/clock", "/diagnostics")})
    assert hashes[0] == hashes[1]
    assert recorded[0] == recorded[1]
    assert len(recorded[0]["/joint_states", "sensor_msgs/msg/JointState"]) >= 30
