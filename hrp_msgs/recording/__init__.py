"""Recordings: MCAP files of ROS 2 messages, written and read without ROS."""

from .mcap_file import RecordingError
from .recorder import Channel, Recorder
from .recording import RecordedMessage, RecordedTopic, Recording

__all__ = [
    "Channel",
    "RecordedMessage",
    "RecordedTopic",
    "Recorder",
    "Recording",
    "RecordingError",
]
