"""What a run records, as our reader and those of others find it."""

import errno
import subprocess
import sys
import threading
import time
from pathlib import Path

import mcap.reader
import numpy as np
import pytest
from message_samples import TYPES
from paths import ROOT
from recording_tools import (
    STRING,
    mcap_messages,
    our_class,
    record_all_types,
    text_bytes,
    values,
)
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability

from hrp_msgs import qos
from hrp_msgs.messages.definitions import type_name, typestore
from hrp_msgs.recording import Recorder, Recording
from hrp_msgs.topics.recorded import RecordedTopics, TopicRecording

S = 1_000_000_000
LATCHED = QosDurability.TRANSIENT_LOCAL
ENV = {"PYTHONPATH": f"{ROOT}:{ROOT / 'test' / 'support'}"}


@pytest.fixture(scope="module")
def all_types(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "all.mcap"
    return path, record_all_types(path)


def test_every_type_is_read_as_it_was_recorded(all_types):
    path, messages = all_types
    recording = Recording(path)
    assert not recording.truncated
    assert (recording.start_ns, recording.end_ns) == (0, 1_000_000 * (len(TYPES) - 1))
    assert recording.attachments == {"world.yaml": b"bodies: []"}
    assert {t.name: t.type_name for t in recording.topics.values()} == {
        topic: type_name(type(message)) for topic, message in messages.items()
    }
    assert all(t.readable and t.count == 1 for t in recording.topics.values())
    read = {m.topic: m.message for m in recording.messages()}
    assert {topic: values(m) for topic, m in read.items()} == {
        topic: values(m) for topic, m in messages.items()
    }


def test_every_type_is_read_by_rosbags(all_types):
    path, messages = all_types
    with AnyReader([path]) as reader:
        read = {
            c.topic: (c.msgtype, reader.deserialize(d, c.msgtype)) for c, _, d in reader.messages()
        }
        durabilities = {
            c.topic: c.ext.offered_qos_profiles[0].durability for c in reader.connections
        }
    assert {topic: (kind, values(m)) for topic, (kind, m) in read.items()} == {
        topic: (type_name(type(m)), values(m)) for topic, m in messages.items()
    }
    topics = Recording(path).topics
    for topic, durability in durabilities.items():
        latched = "tf" in topic.lower()
        assert topics[topic].latched == latched
        assert durability == (LATCHED if latched else QosDurability.VOLATILE)


def test_every_type_is_read_by_mcap(all_types):
    path, messages = all_types
    assert [(topic, time_ns) for topic, time_ns, _ in mcap_messages(path)] == [
        (topic, 1_000_000 * n) for n, topic in enumerate(messages)
    ]
    for topic, _, data in mcap_messages(path):
        name = type_name(type(messages[topic]))
        assert values(typestore().deserialize_cdr(data, name)) == values(messages[topic])
    with path.open("rb") as file:
        reader = mcap.reader.make_reader(file)
        summary = reader.get_summary()
        assert reader.get_header().profile == "ros2"
        assert [a.data for a in reader.iter_attachments()] == [b"bodies: []"]
    assert summary.statistics.message_count == len(TYPES)
    assert {c.message_encoding for c in summary.channels.values()} == {"cdr"}
    assert {s.encoding for s in summary.schemas.values()} == {"ros2msg"}
    assert {c.compression for c in summary.chunk_indexes} == {"zstd"}


def test_log_times_go_on_after_a_reset(tmp_path):
    path = tmp_path / "a.mcap"
    recorder = Recorder(path, on_error=lambda error: None)
    recording = TopicRecording(recorder)
    topics = RecordedTopics(recording)
    topic = topics.create(our_class(STRING), "one", qos.IMAGE)
    for seconds in (1, 2, 0, 1, 0, 3):  # twice set back
        recording.time_ns = seconds * S
        topic.publish(text_bytes("x"))
    recorder.close()
    found = mcap_messages(path)
    assert [(topic, t / S) for topic, t, _ in found] == [("/one", t) for t in (1, 2, 2, 3, 3, 6)]
    assert topic.count == recording.count == 6


def test_messages_of_any_length_are_found_by_the_index_of_a_chunk(tmp_path):
    path = tmp_path / "a.mcap"
    recorder = Recorder(path, on_error=lambda error: None)
    channels = [recorder.channel(f"/{k}", our_class(STRING), latched=False) for k in range(3)]
    rng, expected = np.random.default_rng(5), []
    for number in range(500):
        channel, size = channels[rng.integers(3)], int(rng.integers(3000))
        data = text_bytes(f"{number} ".ljust(size) if number > 250 else f"{number:9d}")
        channel.write(number, data)
        expected.append((channel.topic, number, data))
    recorder.close()
    assert mcap_messages(path) == expected
    with path.open("rb") as file:
        found = mcap.reader.make_reader(file).iter_messages(
            ["/1"], starting_at=100, ending_before=400
        )
        part = [(channel.topic, m.log_time, m.data) for _, channel, m in found]
    assert part == [x for x in expected if x[0] == "/1" and 100 <= x[1] < 400]


def test_a_topic_has_one_type(tmp_path):
    recorder = Recorder(tmp_path / "a.mcap", on_error=lambda error: None)
    channel = recorder.channel("/a", our_class(STRING), latched=False)
    assert recorder.channel("/a", our_class(STRING), latched=False) is channel
    with pytest.raises(ValueError, match="topic /a has the type std_msgs/msg/String, not sensor"):
        recorder.channel("/a", our_class("sensor_msgs/msg/Imu"), latched=False)
    unknown = type("Unknown", (), {"__module__": "x_msgs.msg"})
    with pytest.raises(ValueError, match="the message type x_msgs/msg/Unknown is unknown"):
        recorder.channel("/b", unknown, latched=False)
    recorder.close()


def test_an_open_recording_is_readable_but_for_its_last_second(tmp_path):
    path = tmp_path / "a.mcap"
    recorder = Recorder(path, on_error=lambda error: None)
    recorder.channel("/a", our_class(STRING), latched=False).write(5, text_bytes("hello"))
    deadline = time.monotonic() + 300.0
    while "/a" not in (recording := Recording(path)).topics:
        assert time.monotonic() < deadline, "nothing was written"
        time.sleep(0.01)
    assert recording.truncated
    assert [m.message.data for m in recording.messages()] == ["hello"]
    recorder.close()
    assert not Recording(path).truncated


def test_messages_of_many_threads_are_all_recorded(tmp_path):
    path = tmp_path / "a.mcap"
    recorder = Recorder(path, on_error=lambda error: None)
    count, size = 200, 40_000  # more than the queue of a batch

    def write(number):
        channel = recorder.channel(f"/{number}", our_class(STRING), latched=False)
        for k in range(count):
            channel.write(k, text_bytes(f"{k} {number}".ljust(size)))

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    for number in range(4):
        read = [m.message.data for m in Recording(path).messages([f"/{number}"])]
        assert read == [f"{k} {number}".ljust(size) for k in range(count)]


def test_closing_twice_and_writing_after_it_do_nothing(tmp_path):
    path = tmp_path / "a.mcap"
    recorder = Recorder(path, on_error=lambda error: None)
    channel = recorder.channel("/a", our_class(STRING), latched=False)
    recorder.close()
    size = path.stat().st_size
    channel.write(0, text_bytes("late"))
    recorder.attach("late", "text/plain", b"late")
    recorder.close()
    assert path.stat().st_size == size
    assert Recording(path).topics["/a"].count == 0


LIMITED = """
import os, resource, signal, sys
from pathlib import Path
from recording_tools import STRING, our_class, text_bytes
from hrp_msgs.recording import Recorder

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
errors = []
recorder = Recorder(Path(sys.argv[1]), on_error=errors.append)
channel = recorder.channel("/a", our_class(STRING), latched=False)
for number in range(5000):
    channel.write(number, text_bytes(f"{number} {os.urandom(1000).hex()}"))
data = text_bytes("x" * 30_000)
for number in range(20_000):  # more than the queue could hold
    channel.write(number, data)
recorder.close()
print(*(error.errno for error in errors))
"""


def test_a_full_disk_is_one_error_and_what_was_written_is_kept(tmp_path):
    path = tmp_path / "a.mcap"
    command = [sys.executable, "-c", LIMITED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, timeout=300)
    assert (done.stdout, done.stderr) == (f"{errno.EFBIG}\n", "")
    recording = Recording(path)
    assert recording.truncated
    numbers = [int(m.message.data.split()[0]) for m in recording.messages()]
    assert numbers == list(range(len(numbers)))
    assert 1000 < len(numbers) < 5000


def test_a_disk_that_is_full_at_the_start_is_an_error_at_once():
    with pytest.raises(OSError, match="No space left"):
        Recorder(Path("/dev/full"), on_error=lambda error: None)


def test_a_file_that_cannot_be_created_is_an_error_at_once(tmp_path):
    with pytest.raises(FileNotFoundError):
        Recorder(tmp_path / "no" / "a.mcap", on_error=lambda error: None)


def test_what_cannot_be_written_ends_the_recording_with_one_error(tmp_path):
    path, errors = tmp_path / "a.mcap", []
    recorder = Recorder(path, on_error=errors.append)
    channel = recorder.channel("/a", our_class(STRING), latched=False)
    channel.write(0, text_bytes("before"))
    recorder.attach("\udcff", "text/plain", b"")  # a name that is no text
    channel.write(1, text_bytes("after"))
    recorder.close()
    assert [type(error) for error in errors] == [UnicodeEncodeError]
    recorder.attach("later", "text/plain", b"")  # is ignored
