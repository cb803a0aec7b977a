"""Recordings of runs, read by rosbags and mcap, independently of our own reader."""

import resource
from collections import defaultdict
from contextlib import contextmanager

from mcap.reader import make_reader
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_JAZZY)


def channels(path):
    """Return the bytes of the messages by topic and type; the file must have its index."""
    found = defaultdict(list)
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert reader.get_summary() is not None
        for schema, channel, message in reader.iter_messages(log_time_order=False):
            found[channel.topic, schema.name].append(message.data)
    return dict(found)


def contents(path):
    """Return the messages by topic and type, as bytes whose padding is zero."""
    return {
        (topic, kind): [plain(data, kind) for data in messages]
        for (topic, kind), messages in channels(path).items()
    }


def plain(data, kind):
    """Return a serialised message with a padding of zeros, which ROS 2 leaves to chance."""
    return bytes(STORE.serialize_cdr(STORE.deserialize_cdr(data, kind), kind))


def decoded(path, topic):
    """Return the messages of one topic."""
    [(kind, messages)] = [(k, m) for (name, k), m in channels(path).items() if name == topic]
    return [STORE.deserialize_cdr(data, kind) for data in messages]


def log_times(path):
    """Return the log times by topic, in [ns]."""
    found = defaultdict(list)
    with path.open("rb") as file:
        for _, channel, message in make_reader(file).iter_messages(log_time_order=False):
            found[channel.topic].append(message.log_time)
    return dict(found)


def attachments(path):
    """Return the attachments by name."""
    with path.open("rb") as file:
        return {found.name: found.data for found in make_reader(file).iter_attachments()}


@contextmanager
def small_files(size):
    """Let files of this process have so many bytes at most, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
