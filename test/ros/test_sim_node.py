"""A humanoid in a room, seen from another process over real DDS."""

from __future__ import annotations

import math
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from ros_peer import LATCHED, PATIENCE, Peer, matrix_of, node_and_peer, running, stamp_ns
from sensor_msgs.msg import CameraInfo, Image, Imu, JointState, LaserScan
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from urdf_parser_py.urdf import URDF

from hrp_model import load_body
from hrp_sim import Simulation, load_world

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "humanoid_in_room.yaml"
SETTLED_NS = 500_000_000
GRAVITY = 9.80665
FEET = ("left_foot_force/wrench", "right_foot_force/wrench")
# Topic, type, rate in the model or in the documentation [Hz].
STREAMS = (
    ("joint_states", JointState, 500),
    ("imu/data_raw", Imu, 500),
    (FEET[0], WrenchStamped, 500),
    (FEET[1], WrenchStamped, 500),
    ("scan", LaserScan, 20),
    ("head_camera/image_raw", Image, 30),
    ("head_camera/camera_info", CameraInfo, 30),
    ("ground_truth/odom", Odometry, 100),
)


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    """A running demonstration, and a peer that follows everything it publishes."""
    log = tmp_path_factory.mktemp("sim") / "log.txt"
    arguments = ["-m", "hrp_sim.cli.main", "run", str(WORLD), "--ros", "--rtf", "0.25"]
    with node_and_peer(arguments, log) as (peer, process):
        for topic, message_type, _ in STREAMS:
            peer.follow(topic, message_type)
        peer.follow("/tf", TFMessage)
        peer.follow("/tf_static", TFMessage, LATCHED)
        peer.follow("robot_description", String, LATCHED)
        peer.first_after("imu/data_raw", SETTLED_NS)
        yield peer, process


@pytest.fixture
def peer(robot) -> Peer:
    return robot[0]


def share_at_rate(messages, rate):
    """Return which share of the samples of a topic has come, from the first to the last."""
    stamps = np.array([stamp_ns(message.header.stamp) for message in messages])
    # Sample k is taken at the first 1 ms step at or after k / rate, and never twice.
    samples = stamps * rate / 1e9
    numbers = np.floor(samples + 1e-6)
    assert np.all(samples - numbers < rate * 1e-3)
    steps = np.diff(numbers)
    assert steps.min() >= 1
    return len(steps) / steps.sum()


def test_each_topic_comes_at_its_rate(peer):
    # At a quarter of real time, a queue of five holds 40 ms of a 500 Hz topic, and a loaded machine
    # may stall for longer: of the windows, one must be as good as complete.
    best = {topic: 0.0 for topic, _, _ in STREAMS}
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        starts = {topic: len(peer.messages[topic]) for topic in best}
        for topic, _, rate in STREAMS:
            known, enough = peer.messages[topic], starts[topic] + max(8, rate // 4)
            peer.wait_until(topic, lambda known=known, enough=enough: len(known) >= enough)
        for topic, _, rate in STREAMS:
            share = share_at_rate(peer.messages[topic][starts[topic] :], rate)
            best[topic] = max(best[topic], share)
        if min(best.values()) > 0.95:
            return
    pytest.fail(f"the greatest shares of messages that arrived: {best}")


def test_at_rest_the_accelerometer_reads_gravity_upward_and_the_gyro_nothing(peer):
    message = peer.first_after("imu/data_raw", SETTLED_NS)
    a, w = message.linear_acceleration, message.angular_velocity
    assert a.z == pytest.approx(GRAVITY, abs=0.02)
    assert math.hypot(a.x, a.y) < 0.1
    assert math.hypot(w.x, w.y, w.z) < 0.01
    assert message.orientation_covariance[0] == -1.0


def test_the_feet_together_carry_the_weight(peer):
    weight = load_body(MODELS / "humanoid" / "humanoid.wrl").total_mass * GRAVITY
    left, right = (peer.first_after(topic, SETTLED_NS).wrench.force.z for topic in FEET)
    # The soles push what stands on them upward.
    assert left > 0
    assert right > 0
    assert left + right == pytest.approx(weight, rel=0.01)


def range_at(scan: LaserScan, degrees: float) -> float:
    index = round((math.radians(degrees) - scan.angle_min) / scan.angle_increment)
    return scan.ranges[index]


def test_the_scan_sees_the_unlike_walls_and_left_is_left(peer):
    scan = peer.first_after("scan", SETTLED_NS)
    assert scan.header.frame_id == "scanner_frame"
    # The scanner is 0.12 m ahead of the origin; walls at x = 3, y = 2 and y = -1.5.
    assert range_at(scan, 0) == pytest.approx(2.88, abs=0.01)
    assert range_at(scan, 90) == pytest.approx(2.0, abs=0.01)
    assert range_at(scan, -90) == pytest.approx(1.5, abs=0.01)


def pixels_of(image: Image) -> np.ndarray:
    assert image.encoding == "rgb8"
    assert image.step == image.width * 3
    return np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3).astype(int)


def mean_column(mask: np.ndarray) -> float:
    assert mask.sum() > 100
    return float(np.nonzero(mask)[1].mean())


def test_the_image_shows_red_on_the_left_and_green_on_the_right(peer):
    image = peer.first_after("head_camera/image_raw", SETTLED_NS)
    assert image.header.frame_id == "head_camera_optical_frame"
    r, g, b = np.moveaxis(pixels_of(image), 2, 0)
    red = (r > 1.6 * g) & (r > 1.6 * b)
    green = (g > 1.3 * r) & (g > 1.3 * b)
    assert mean_column(red) < image.width / 2 < mean_column(green)


def test_the_description_is_a_urdf_that_others_accept(peer, tmp_path):
    peer.wait_until("robot_description", lambda: peer.messages["robot_description"])
    urdf = peer.messages["robot_description"][0].data
    robot = URDF.from_xml_string(urdf.encode())
    body = load_body(MODELS / "humanoid" / "humanoid.wrl")
    assert {link.name for link in body.links} <= {link.name for link in robot.links}
    if shutil.which("check_urdf") is None:
        pytest.skip("check_urdf is not installed")
    path = tmp_path / "robot.urdf"
    path.write_text(urdf, encoding="utf-8")
    done = subprocess.run(["check_urdf", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def pose_from_tf(peer: Peer, frame: str, time_ns: int) -> np.ndarray | None:
    """Return the pose of a frame in the world from transforms of exactly this time, if told."""
    latched = [t for message in peer.messages["/tf_static"] for t in message.transforms]
    moving = [t for message in peer.messages["/tf"] for t in message.transforms]
    then = [t for t in moving if stamp_ns(t.header.stamp) == time_ns]
    parents = {
        t.child_frame_id: (t.header.frame_id, matrix_of(t.transform)) for t in [*latched, *then]
    }
    T = np.eye(4)
    while frame != "world":
        if frame not in parents:
            return None
        frame, T_parent = parents[frame]
        T = T_parent @ T
    return T


def test_tf_puts_a_foot_where_the_engine_has_it(peer):
    def common_time():
        stamps = {"world": set(), "PELVIS": set()}
        for message in list(peer.messages["/tf"]):
            for t in message.transforms:
                stamps.get(t.header.frame_id, set()).add(stamp_ns(t.header.stamp))
        both = stamps["world"] & stamps["PELVIS"]
        return min((t for t in both if t >= SETTLED_NS), default=0)

    peer.wait_until("transforms of the root and the joints at one time", common_time)
    time_ns = common_time()
    whole = lambda: pose_from_tf(peer, "LLEG_SOLE", time_ns) is not None  # noqa: E731
    peer.wait_until("fixed frames, too", whole)
    # The run repeats bit by bit, so the engine's own pose is that of a second run.
    simulation = Simulation(load_world(WORLD), defer_images=True)
    simulation.wanted = lambda name: False
    while simulation.state.time_ns < time_ns:
        simulation.step()
    simulated = simulation.bodies["humanoid"]
    index = simulated.body.link_index("LLEG_SOLE")
    T = pose_from_tf(peer, "LLEG_SOLE", time_ns)
    np.testing.assert_allclose(T[:3, 3], simulated.motion.p[index], atol=1e-6)
    np.testing.assert_allclose(T[:3, :3], simulated.motion.R[index], atol=1e-6)


def test_ctrl_c_ends_it_cleanly(robot):
    _, process = robot
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0


def test_a_run_ends_well_when_another_process_heard_everything(tmp_path):
    log = tmp_path / "log.txt"
    words = ["run", str(WORLD), "--ros", "--listen", "--duration", "0.5", "--rtf", "0.2"]
    with running(["-m", "hrp_sim.cli.main", *words], log) as process:
        status = process.wait(PATIENCE)
    said = log.read_text(encoding="utf-8")
    assert status == 0, said
    assert "/head_camera/image_raw" in said
    assert "real-time factor" in said
