"""Recordings of known contents, and what other readers find in them."""

import resource
from contextlib import contextmanager, suppress
from pathlib import Path

import mcap.reader
from mcap.records import Channel, Message
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer
from message_samples import TYPES, as_ros, filled, ros_class

from hrp_msgs.messages import HAS_ROS
from hrp_msgs.messages.definitions import message_class, serialize, type_name, typestore
from hrp_msgs.recording import Recorder

STRING = "std_msgs/msg/String"


def our_class(name):
    return ros_class(name) if HAS_ROS else message_class(name)


def our_bytes(message):
    """Return what the simulation records for a stand-in."""
    return serialize(as_ros(message) if HAS_ROS else message)


def values(message):
    """Return what a message contains, of whichever class, as bytes without padding."""
    name = getattr(message, "__msgtype__", None) or type_name(type(message))
    return bytes(typestore().serialize_cdr(message, name))


def text_bytes(text):
    return bytes(typestore().serialize_cdr(message_class(STRING)(data=text), STRING))


def record(path, texts, topic="/text", start_ns=0, step_ns=1_000_000):
    """Record texts on one topic."""
    errors = []
    recorder = Recorder(path, on_error=errors.append)
    channel = recorder.channel(topic, our_class(STRING), latched=False)
    for number, text in enumerate(texts):
        channel.write(start_ns + number * step_ns, text_bytes(text))
    recorder.close()
    assert not errors
    return path


def record_all_types(path):
    """Record a message of every type on a topic of its name; return the messages by topic."""
    messages = {f"/{name.replace('/', '_')}": filled(name) for name in TYPES}
    recorder = Recorder(path, on_error=lambda error: None)
    for time_ns, (topic, message) in enumerate(messages.items()):
        kind = our_class(type_name(type(message)))
        channel = recorder.channel(topic, kind, latched="tf" in topic.lower())
        channel.write(1_000_000 * time_ns, our_bytes(message))
    recorder.attach("world.yaml", "application/yaml", b"bodies: []")
    recorder.close()
    return messages


def foreign(path, channels, *, profile="", compression=CompressionType.NONE, chunks=True):
    """Write an MCAP file as another program might.

    Args:
        path: The file.
        channels: Topic, encoding of messages, name and encoding of the schema, its data, and the
            messages with their times, one tuple each.
        profile: Of the file.
        compression: Of chunks.
        chunks: Whether messages lie in chunks.
    """
    with path.open("wb") as file:
        writer = Writer(file, compression=compression, use_chunking=chunks)
        writer.start(profile)
        for topic, encoding, schema, schema_encoding, data, messages in channels:
            number = writer.register_schema(schema, schema_encoding, data) if schema else 0
            channel = writer.register_channel(topic, encoding, number)
            for time_ns, content in messages:
                writer.add_message(channel, time_ns, content, time_ns)
        writer.finish()
    return path


def mcap_messages(path):
    """Return topic, time and data of all messages, as mcap's own reader finds them."""
    with path.open("rb") as file:
        found = mcap.reader.make_reader(file, validate_crcs=True).iter_messages()
        return [(channel.topic, message.log_time, message.data) for _, channel, message in found]


def streamed(path):
    """Return topic and data of all messages before the first damage, as mcap streams them."""
    found, channels = [], {}
    with path.open("rb") as file, suppress(Exception):
        for entry in StreamReader(file, validate_crcs=True).records:
            if isinstance(entry, Channel):
                channels[entry.id] = entry.topic
            elif isinstance(entry, Message):
                found.append((channels[entry.channel_id], entry.data))
    return found


@contextmanager
def limited_memory(mib):
    """Let this process take only so much more address space in a block [MiB]."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + mib * 2**20, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def record_messages(path, topics):
    """Record messages, given by topic and type as times in [ns] and values of fields."""
    recorder = Recorder(path, on_error=lambda error: None)
    timed = []
    for (topic, name), messages in topics.items():
        channel = recorder.channel(topic, our_class(name), latched=False)
        timed += ((time_ns, channel, name, fields) for time_ns, fields in messages)
    for time_ns, channel, name, fields in sorted(timed, key=lambda entry: entry[0]):
        message = message_class(name)()
        _set(message, fields)
        channel.write(time_ns, values(message))
    recorder.close()
    return path


def _set(message, fields):
    for name, value in fields.items():
        if isinstance(value, dict):
            _set(getattr(message, name), value)
        else:
            setattr(message, name, value)
