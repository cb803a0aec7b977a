"""Recorded messages on their topics again, heard by a node in another context."""

import signal
import time
from collections import defaultdict

import pytest
from motion_recordings import fail, record
from ros_peer import LATCHED, PATIENCE, RELIABLE, Peer, running
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, LaserScan
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from hrp_msgs.messages.definitions import serialize
from hrp_msgs.recording import Recorder, Recording
from hrp_msgs.topics.node_topics import installed_type
from hrp_sim.recording.replay import Playback, Replay
from hrp_sim.ros.replay import RosOutput

MS = 1_000_000


@pytest.fixture
def peer():
    made = Peer()
    yield made
    made.close()


def write(path, *, with_clock=False):
    """Write a recording of scans, inertial data and descriptions of 0.2 s."""
    recorder = Recorder(path, on_error=fail)
    for space in ("left", "right"):
        latched = recorder.channel("/tf_static", TFMessage, latched=True)
        latched.write(0, serialize(TFMessage()))
        text = recorder.channel(f"/{space}/robot_description", String, latched=True)
        text.write(0, serialize(String(data=f"<robot name='{space}'/>")))
    imu = recorder.channel("/imu", Imu, latched=False)
    scan = recorder.channel("/scan", LaserScan, latched=False)
    clock = recorder.channel("/clock", Clock, latched=False) if with_clock else None
    for i in range(200):
        message = Imu()
        message.header.frame_id, message.header.stamp.nanosec = "imu", i * MS
        message.angular_velocity.x = i / 7.0
        imu.write(i * MS, serialize(message))
        if i % 20 == 0:
            scan.write(i * MS, serialize(LaserScan(ranges=[float(i)] * 50)))
            if clock is not None:
                time_message = Clock()
                time_message.clock.nanosec = i * MS
                clock.write(i * MS, serialize(time_message))
    recorder.close()
    return Recording(path)


def _ns(clock):
    return clock.clock.sec * 10**9 + clock.clock.nanosec


def replayed(recording, peer):
    """Replay a recording; return the bytes that a listener heard by topic."""
    heard = defaultdict(list)
    output, subscriptions = RosOutput(recording), []

    def subscribe(*arguments, **options):
        subscriptions.append(peer.node.create_subscription(*arguments, **options))

    for name, topic in recording.topics.items():
        kind, profile = installed_type(topic.type_name), LATCHED if topic.latched else RELIABLE
        subscribe(kind, name, heard[name].append, profile, raw=True)
    clocks = []
    if "/clock" not in recording.topics:
        subscribe(Clock, "/clock", clocks.append, RELIABLE)
    publishers = output.publishers.values()

    def is_matched():  # a publisher may have found a subscription that has not found it yet
        found = [x.get_publisher_count() for x in subscriptions]
        return all(found) and all(x.get_subscription_count() for x in publishers)

    peer.wait_until("matched topics", is_matched)
    clock = Playback(recording.start_ns, recording.end_ns)
    run = Replay(recording, clock, [output], sleep=time.sleep, wall=time.monotonic)
    run.run(goes_on=lambda: not run.is_finished)
    peer.wait_until(
        "all messages",
        lambda: all(len(heard[x.name]) >= x.count for x in recording.topics.values()),
    )
    if "/clock" not in recording.topics:
        peer.wait_until("the end", lambda: clocks and _ns(clocks[-1]) >= recording.end_ns - 2 * MS)
    output.close()
    return heard, clocks


@pytest.mark.parametrize("with_clock", [False, True])
def test_a_listener_hears_the_recorded_bytes(tmp_path, peer, with_clock):
    recording = write(tmp_path / "a.mcap", with_clock=with_clock)
    heard, clocks = replayed(recording, peer)
    expected = defaultdict(list)
    for message in recording.messages():
        expected[message.topic].append(message.data)
    assert heard == expected
    if not with_clock:
        times = [_ns(x) for x in clocks]
        assert times == sorted(times)


def test_late_subscribers_receive_all_latched_messages(tmp_path, peer):
    recording = write(tmp_path / "a.mcap")
    output = RosOutput(recording)
    for message in recording.messages():
        output.take(message)
    peer.follow("/tf_static", TFMessage, LATCHED)
    peer.follow("/left/robot_description", String, LATCHED)
    assert peer.heard("/left/robot_description")[0].data == "<robot name='left'/>"
    peer.wait_until("both messages", lambda: len(peer.messages["/tf_static"]) == 2)
    output.close()


def test_topics_whose_types_are_not_installed_are_listed(tmp_path, monkeypatch):
    recording = write(tmp_path / "a.mcap")
    real = installed_type
    monkeypatch.setattr(
        "hrp_sim.ros.replay.installed_type", lambda x: None if x.endswith("/Imu") else real(x)
    )
    output = RosOutput(recording)
    assert output.left_out == {"/imu": "the type sensor_msgs/msg/Imu is not installed"}
    assert "/scan" in output.topics
    output.close()


@pytest.mark.parametrize(
    "name",
    [
        "antigravity/msg/X",
        "os/msg/path",
        "nope/msg/X",
        "std_msgs/msg/Nope",
        "../msg/X",
        "",
        "X",
        "std_msgs/String",
        "std_msgs/msg/String/x",
    ],
)
def test_only_packages_of_messages_are_imported(name):
    assert installed_type(name) is None


def test_the_command_replays_a_run(tmp_path, peer):
    record(tmp_path / "run.mcap", "arm", tmp_path / "meshes", duration=0.1).close()
    peer.follow("/tf", TFMessage)
    peer.follow("/robot_description", String, LATCHED)
    arguments = ["-m", "hrp_sim.cli.main", "replay", str(tmp_path / "run.mcap"), "--ros"]
    log = tmp_path / "log"
    # So slow that a listener on a loaded machine finds it.
    with running([*arguments, "--rtf", "0.01"], log) as process:
        assert "<robot" in peer.heard("/robot_description")[0].data
        peer.wait_until("frames", lambda: peer.messages["/tf"])
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert "publishing 4 topics" in log.read_text()
