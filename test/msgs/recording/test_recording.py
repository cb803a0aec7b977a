"""Recordings of other programs, damaged ones, and files that are none."""

import struct

import pytest
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.records import Chunk, ChunkIndex, Footer, Header, Statistics
from mcap.writer import CompressionType
from motion_recordings import fail
from recording_tools import STRING, foreign, limited_memory, record, text_bytes

from hrp_msgs.messages.definitions import definition
from hrp_msgs.recording import Recorder, Recording, RecordingError

MAGIC = b"\x89MCAP0\r\n"
DATA_END = b"\x0f\x04" + bytes(11)
TEXTS = [f"text {number}" for number in range(1000)]
TEXT = definition(STRING).encode()
# A type of nobody's, with comments, defaults, bounds, constants and a nested type.
OWN = b"""# A gripper.
uint8 OPEN=1
string NAME="left hand"
builtin_interfaces/Time stamp
Finger[2] fingers
float32[<=3] forces
string<=9 label "none"  # at most 9
bool[] contacts
================================================================================
MSG: gripper_msgs/Finger
float64 angle
int16 id -1
"""
OWN_MESSAGE = b"\0\1\0\0" + b"".join(
    [
        struct.pack("<iI", 7, 8),
        struct.pack("<dh6x dh2x", 0.5, 3, 1.5, 4),
        struct.pack("<I2f", 2, 0.25, 0.75),
        struct.pack("<I3sx", 3, b"ab"),
        struct.pack("<I2?", 2, True, False),
    ]
)


def texts(recording, **choice):
    return [m.message.data for m in recording.messages(**choice)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return record(tmp_path_factory.mktemp("recorded") / "a.mcap", TEXTS)


def test_a_part_of_the_time_is_read(recorded):
    recording = Recording(recorded)
    assert (recording.start_ns, recording.end_ns) == (0, 999_000_000)
    assert texts(recording, start_ns=5_000_000, end_ns=7_000_000) == TEXTS[5:8]
    assert texts(recording, start_ns=998_500_000) == TEXTS[999:]
    assert texts(recording, end_ns=-1) == []


def test_a_topic_that_does_not_exist_is_an_error(recorded):
    with pytest.raises(RecordingError, match="has no topic '/txt'"):
        Recording(recorded).messages(["/txt"])


@pytest.mark.parametrize("compression", CompressionType)
def test_recordings_of_other_programs_are_read(tmp_path, compression):
    messages = [(k * 10, text_bytes(text)) for k, text in enumerate(TEXTS)]
    path = foreign(
        tmp_path / "a.mcap",
        [
            ("/text", "cdr", STRING, "ros2msg", TEXT, messages),
            ("/own", "cdr", "gripper_msgs/msg/Gripper", "ros2msg", OWN, [(15, OWN_MESSAGE)]),
            ("/json", "json", "a.B", "jsonschema", b"{}", [(16, b"{}")]),
            ("/idl", "cdr", "x_msgs/msg/X", "ros2idl", b"module x {};", [(17, b"\0\1\0\0")]),
            ("/bare", "cdr", None, None, None, [(18, b"anything")]),
        ],
        compression=compression,
    )
    recording = Recording(path)
    assert [(t.name, t.type_name, t.count, t.readable) for t in recording.topics.values()] == [
        ("/text", STRING, 1000, True),
        ("/own", "gripper_msgs/msg/Gripper", 1, True),
        ("/json", "a.B", 1, False),
        ("/idl", "x_msgs/msg/X", 1, False),
        ("/bare", "", 1, False),
    ]
    with pytest.raises(RecordingError, match="topic '/json' cannot be decoded"):
        recording.messages(["/json"])
    read = list(recording.messages())
    assert [m.time_ns for m in read] == sorted(m.time_ns for m in read)
    assert [m.message.data for m in read if m.topic == "/text"] == TEXTS
    (own,) = (m.message for m in read if m.topic == "/own")
    assert (own.stamp.sec, own.stamp.nanosec, own.label) == (7, 8, "ab")
    assert [(f.angle, f.id) for f in own.fingers] == [(0.5, 3), (1.5, 4)]
    assert (own.forces.tolist(), own.contacts.tolist()) == ([0.25, 0.75], [True, False])
    assert (own.OPEN, own.NAME) == (1, "left hand")


def test_messages_without_chunks_and_out_of_order_are_read_in_order(tmp_path):
    times = [30, 10, 20, 10, 0]
    messages = [(t, text_bytes(f"{t} {k}")) for k, t in enumerate(times)]
    path = tmp_path / "a.mcap"
    for chunks in (False, True):
        foreign(path, [("/text", "cdr", STRING, "ros2msg", TEXT, messages)], chunks=chunks)
        assert texts(Recording(path)) == ["0 4", "10 1", "10 3", "20 2", "30 0"]
        assert Recording(path).topics["/text"].count == 5


def test_a_truncated_recording_is_read_as_far_as_it_goes(recorded, tmp_path):
    data = recorded.read_bytes()
    data_end = data.rindex(DATA_END) + len(DATA_END)
    path = tmp_path / "a.mcap"
    for size in [8, 20, *range(40, len(data), 499), len(data) - 1]:
        path.write_bytes(data[:size])
        recording = Recording(path)
        assert recording.truncated == (size < data_end)
        assert texts(recording) in ([], TEXTS)
    assert texts(Recording(path)) == TEXTS  # only the footer is missing


def test_damaged_bytes_are_errors_that_name_the_file(recorded, tmp_path):
    data = bytearray(recorded.read_bytes())
    data[300] ^= 0xFF  # in the only chunk
    path = tmp_path / "a.mcap"
    path.write_bytes(data)
    with pytest.raises(RecordingError, match=r"a\.mcap is damaged at byte"):
        texts(Recording(path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"SQLite format 3\0", "is not an MCAP file"),
        (b"\x89MCAP", "is not an MCAP file"),
    ],
)
def test_other_files_are_no_recordings(tmp_path, content, reason):
    path = tmp_path / "a.mcap"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=reason):
        Recording(path)


def test_folders_and_missing_files_are_errors(tmp_path):
    with pytest.raises(RecordingError, match=r"is a folder; give the \.mcap file in it"):
        Recording(tmp_path)
    with pytest.raises(FileNotFoundError):
        Recording(tmp_path / "a.mcap")


def test_a_message_that_does_not_fit_its_definition_is_an_error(tmp_path):
    wrong = [(1_500_000_000, b"\0\1\0\0\xff\xff\xff\x7f"), (2_000_000_000, b"?")]
    path = foreign(tmp_path / "a.mcap", [("/text", "cdr", STRING, "ros2msg", TEXT, wrong)])
    for message, place in zip(Recording(path).messages(), ("1.500 s", "2.000 s"), strict=True):
        with pytest.raises(RecordingError, match=f"message on /text at {place} cannot be decoded"):
            _ = message.message


BAD_DEFINITIONS = {
    "code in the name": ("x_msgs/msg/X:\n  import os", b"int8 a\n"),
    "no name": ("", b"int8 a\n"),
    "a missing type": ("x_msgs/msg/X", b"y_msgs/Y y\n"),
    "a type that contains itself": ("x_msgs/msg/X", b"x_msgs/X x\n"),
    "a huge array of texts": ("x_msgs/msg/X", b"string[2000000000] a\n"),
    "no text": ("x_msgs/msg/X", b"\xff\xfe"),
    "no definition": ("x_msgs/msg/X", b"int8 a = = \n\n%%"),
    "a long text": ("x_msgs/msg/X", b"# " + b"x" * 1_000_000 + b"\nint8 a\n"),
    "unknown numbers": ("x_msgs/msg/X", b"wstring a\nfloat128 b\n"),
}


@pytest.mark.parametrize("reason", BAD_DEFINITIONS)
def test_topics_with_unusable_definitions_are_listed(tmp_path, reason):
    name, text = BAD_DEFINITIONS[reason]
    channels = [
        ("/bad", "cdr", name or "-", "ros2msg", text, [(1, b"\0\1\0\0\0")]),
        ("/text", "cdr", STRING, "ros2msg", TEXT, [(2, text_bytes("good"))]),
    ]
    recording = Recording(foreign(tmp_path / "a.mcap", channels))
    assert (recording.topics["/bad"].count, recording.topics["/bad"].readable) == (1, False)
    assert texts(recording) == ["good"]


def built(*records):
    builder = RecordBuilder()
    for entry in (Header("ros2", ""), *records):
        entry.write(builder)
    return builder.end()


def chunk(data, size, compression="zstd"):
    return Chunk(compression, data, 1, 0, 0, size)


HUGE = 100 << 30
ENDLESS = zstandard.ZstdCompressor(write_content_size=False)
HOSTILE = {
    "a record of 100 GB": built() + struct.pack("<BQ", 6, HUGE) + bytes(1000),
    "a chunk of 100 GB": built(chunk(zstandard.compress(b"x"), HUGE)),
    "a chunk that states less": built(chunk(zstandard.compress(bytes(1 << 30)), 100)),
    "a chunk without end": built(chunk(ENDLESS.compress(bytes(1 << 30)), 100)),
    "an lz4 chunk without end": built(chunk(b"\x04\x22\x4d\x18", HUGE, "lz4")),
    "an unknown compression": built(chunk(b"x", 1, "rar")),
    "a message longer than its chunk": built(chunk(struct.pack("<BQ", 5, HUGE), 9, "")),
    "no message": built(chunk(struct.pack("<BQ", 5, 3) + b"abc", 12, "")),
}


@pytest.mark.parametrize("reason", HOSTILE)
def test_sizes_are_checked_before_memory_is_taken(tmp_path, reason):
    path = tmp_path / "a.mcap"
    path.write_bytes(MAGIC + HOSTILE[reason])
    with limited_memory(300):
        recording = Recording(path)
        assert recording.truncated
        assert list(recording.messages()) == []


def test_an_index_to_nowhere_is_rebuilt(tmp_path):
    head = MAGIC + built()
    index = ChunkIndex(HUGE, 1 << 40, "", 1, 1, 0, {}, 0, 1)
    summary = built(Statistics(0, 0, {}, 1, 1, 0, 1, 0, 0), index)[len(built()) :]
    foot = built(Footer(len(head), 0, 0))[len(built()) :]
    path = tmp_path / "a.mcap"
    path.write_bytes(head + summary + foot + MAGIC)
    assert list(Recording(path).messages()) == []


def many_messages(count):
    """A chunk of so many messages without data: few bytes, but many objects."""
    data = struct.pack("<BQHIQQ", 5, 22, 1, 0, 7, 7) * count
    return built(chunk(zstandard.compress(data), len(data)))


def test_messages_are_counted_without_holding_them(tmp_path):
    path = tmp_path / "a.mcap"
    path.write_bytes(MAGIC + many_messages(150_000))
    with limited_memory(30):
        assert (Recording(path).start_ns, Recording(path).end_ns) == (7, 7)


def test_too_many_messages_of_one_time_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("hrp_msgs.recording.recording._MAX_UNORDERED_BYTES", 1 << 20)
    messages = [(7, text_bytes(""))] * 10_000
    path = foreign(tmp_path / "a.mcap", [("/text", "cdr", STRING, "ros2msg", TEXT, messages)])
    with pytest.raises(RecordingError, match="too many of them"):
        list(Recording(path).messages())


def test_attachments_are_read_one_by_one(tmp_path):
    count, size = 20, 8 << 20
    path = tmp_path / "a.mcap"
    recorder = Recorder(path, on_error=fail)
    for number in range(count):
        recorder.attach(f"file:///{number}", "", bytes([number]) * size)
    recorder.close()
    recording = Recording(path)
    with limited_memory(60):
        assert len(recording.attachments) == count
        for number, (name, data) in enumerate(recording.attachments.items()):
            assert (name, data) == (f"file:///{number}", bytes([number]) * size)
