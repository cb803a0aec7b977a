"""What sim_node records is what it publishes, and what a run without ROS records."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager

import pytest
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from recorded_runs import channels, contents, decoded, log_times, small_files
from ros_peer import ENVIRONMENT, PATIENCE, programs
from ros_session import ended, session

from hrp_model import load_body
from hrp_sim import BodyEntry, Placement
from hrp_sim.run.run import Run
from hrp_sim.topics.run_recording import RunRecording

pytestmark = pytest.mark.ros

ARM = MODELS / "arm" / "arm.body"
HUMANOID = str(MODELS / "worlds" / "humanoid_in_room.yaml")
LATCHED = ("/robot_description", "/devices", "/tf_static")
COMPRESSED = ("/compressed", "/compressedDepth")  # of images that are recorded as they are
# A slow listener may lose messages of topics with a short history: of cameras, clock and contacts.
SHORT = ("camera", "/clock", "/contacts")
# Published while the run is paused, too, also before the listener is there.
WHILE_PAUSED = ("/clock", "/diagnostics")


class RawListener:
    """A process that receives the bytes of topics; see ``raw_listener.py``."""

    def __init__(self, topics):
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "test" / "support" / "raw_listener.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ENVIRONMENT},
        )
        self._write(json.dumps(topics))

    def wait_until_connected(self):
        assert self._process.stdout.readline() == "connected\n"

    def heard(self):
        """Return the hashes of all messages so far, by topic."""
        self._write("now")
        return json.loads(self._process.stdout.readline())

    def _write(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def close(self):
        self._process.kill()
        self._process.communicate()


@contextmanager
def listening(topics):
    listener = RawListener(topics)
    try:
        yield listener
    finally:
        listener.close()


def wait_until(what, condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(0.05)


def types(running):
    """Return name, type and durability of all topics that are published."""
    published = {
        name: kind.replace("/", "/msg/") for name, (kind, _) in running.published().items()
    }
    published["/devices"] = "diagnostic_msgs/msg/DiagnosticStatus"
    return [[name, kind, name.endswith(LATCHED)] for name, kind in published.items()]


def identified(heard, recorded):
    """Return the hash of each message that was heard, or "" if it was not recorded.

    The state of a paused run is not recorded; at its end it equals the last message.
    """
    known = set(recorded)
    found = [next((one for one in hashes if one in known), "") for hashes in heard]
    while found and not found[0]:
        found.pop(0)
    while found and (not found[-1] or found[-1] in found[:-1]):
        found.pop()
    return found


def is_short(topic):
    """Return whether a topic has a short history."""
    return any(name in topic for name in SHORT)


def is_subsequence(part, whole):
    """Return whether a list contains the elements of another one in this order."""
    rest = iter(whole)
    return all(element in rest for element in part)


@pytest.mark.parametrize("seconds", [0.4, pytest.param(3.0, marks=pytest.mark.slow)])
def test_a_recording_equals_what_a_listener_heard_message_by_message(seconds, tmp_path):
    path = tmp_path / "run.mcap"
    parameters = {"world": HUMANOID, "describe": True, "start_paused": True, "record": str(path)}
    with session({**parameters, "contact_rate": 50.0}) as running:
        runner, ros = running.runner, running.ros
        topics = types(ros)
        with listening(topics) as listener:
            listener.wait_until_connected()
            volatile = [t for t in ros.node.topics if not t.name.endswith(LATCHED)]
            wait_until(
                "subscriptions",
                lambda: all(t._publisher.get_subscription_count() for t in volatile),
            )
            runner.resume()
            wait_until("the run", lambda: runner.simulation.state.time_ns >= seconds * 1e9)
            runner.pause()
            runner.call(lambda: None)

            def is_complete():
                sent, heard = ros.published(), listener.heard()
                steady = (t for t in sent if t not in WHILE_PAUSED and not is_short(t))
                return all(t in heard for t in WHILE_PAUSED) and all(
                    len(heard.get(t, ())) == sent[t][1] for t in steady
                )

            wait_until("all messages", is_complete)
            heard = listener.heard()
    recorded = {
        topic: [hashlib.sha256(data).hexdigest() for data in messages]
        for (topic, _), messages in channels(path).items()
    }
    compressed = {name for name, _, _ in topics if name.endswith(COMPRESSED)}
    assert len(compressed) == 2
    assert recorded.keys() == {name for name, _, _ in topics} - compressed
    heard = {topic: identified(heard[topic], recorded[topic]) for topic in recorded}
    for topic, messages in recorded.items():
        if topic == "/diagnostics":
            assert heard[topic]
            assert not Counter(heard[topic]) - Counter(messages)
        elif (
            topic.endswith(LATCHED) or topic == "/tf"
        ):  # the last of each node, and what is published at the end
            assert set(heard[topic]) == set(messages)
        elif is_short(topic):
            assert heard[topic]
            assert is_subsequence(heard[topic], messages)
        else:
            assert heard[topic] == messages
    assert len(recorded["/joint_states"]) >= seconds * 500
    lost = {t: len(m) - len(heard[t]) for t, m in recorded.items()}
    print(f"{sum(map(len, recorded.values()))} messages; lost by the listener: {lost}")


def test_with_ros_and_without_the_recordings_are_equal(tmp_path):
    """Except for diagnostics, which are of wall time, and images that were skipped."""
    saved = str(tmp_path / "state.npz")

    def run(*options):
        subprocess.run(
            [programs() / "hrp-sim", "run", "humanoid_in_room", *options],
            env={**os.environ, **ENVIRONMENT}, check=True, timeout=PATIENCE,
        )  # fmt: skip

    def recorded(name, *options):
        path = tmp_path / name
        run("--duration", "0.2", "--record", path, "--restore", saved, *options)
        return contents(path), log_times(path)

    run("--duration", "0.1", "--save", saved)
    alone, times_alone = recorded("alone.mcap")
    ros, times = recorded("ros.mcap", "--ros", "--rtf", "0")
    ros.pop(("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"), None)
    assert ros.keys() == alone.keys()
    for (topic, kind), messages in ros.items():
        if "camera" in topic:
            assert messages
            assert set(messages) <= set(alone[topic, kind])
        else:
            assert messages == alone[topic, kind]
            assert times[topic] == times_alone[topic]
    assert times["/robot_description"] == [100_000_000]


def test_bodies_that_come_later_are_added_to_the_recording(tmp_path):
    path = tmp_path / "run.mcap"
    with session({"world": str(ARM), "describe": True, "record": str(path)}) as running:
        guest = BodyEntry(placement=Placement(name="guest", body=load_body(ARM)))
        running.change(lambda: running.runner.simulation.spawn(guest))
        [joints] = (t for t in running.ros.node.topics if t.name == "/guest/joint_states")
        wait_until("its joints", lambda: joints.count > 5)
    assert len(decoded(path, "/guest/joint_states")) > 5
    assert len(decoded(path, "/guest/robot_description")) == 1


def test_an_existing_file_is_not_replaced(tmp_path, monkeypatch, capfd):
    path = tmp_path / "run.mcap"
    path.write_text("dear")
    arguments = ["--ros-args", "-p", f"world:={ARM}", "-p", f"record:={path}"]
    status, told = ended(arguments, monkeypatch, capfd)
    assert status == 2
    assert f"error: record: '{path}' exists already" in told
    assert path.read_text() == "dear"


def test_a_file_that_cannot_be_written_is_reported_before_the_run(monkeypatch, capfd):
    arguments = ["--ros-args", "-p", f"world:={ARM}", "-p", "record:=/proc/run.mcap"]
    status, told = ended(arguments, monkeypatch, capfd)
    assert status == 2
    assert "error: record: cannot write '/proc/run.mcap'" in told


def test_a_full_disk_ends_the_recording_but_not_the_run(tmp_path, capfd):
    path = tmp_path / "run.mcap"
    with session({"world": HUMANOID, "record": str(path)}) as running:
        recording, runner = running.ros.node.recording, running.runner
        with small_files(path.stat().st_size + 100_000):
            wait_until("the end of the recording", lambda: recording.error)
        before = runner.simulation.state.time_ns
        wait_until("more steps", lambda: runner.simulation.state.time_ns > before + 10_000_000)
    assert "".join(capfd.readouterr()).count("File too large") == 1


def test_the_exit_status_tells_of_an_incomplete_recording(tmp_path, monkeypatch, capfd):
    def fail(recording):
        recording.error = "the disk is full"

    monkeypatch.setattr(Run, "run", lambda _: None)
    monkeypatch.setattr(RunRecording, "close", fail)
    path = tmp_path / "run.mcap"
    arguments = ["--ros-args", "-p", f"world:={ARM}", "-p", f"record:={path}"]
    assert ended(arguments, monkeypatch, capfd)[0] == 1
