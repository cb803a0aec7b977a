"""Messages from their bytes, as ROS and an independent library read them."""

import numpy as np

from hrp_msgs.messages import HAS_ROS
from hrp_msgs.messages.definitions import type_name, typestore


def read(data, message_type):
    """Return the message of these bytes, as ROS reads them where there is ROS, else rosbags.

    Its bytes must be those that rosbags makes of it, with zeros between the fields.
    """
    name = type_name(message_type)
    assert type(data) is bytes
    message = typestore().deserialize_cdr(data, name)
    assert bytes(typestore().serialize_cdr(message, name)) == data
    if not HAS_ROS:
        return message
    from rclpy.serialization import deserialize_message

    of_ros = deserialize_message(data, message_type)
    assert_same_values(of_ros, message)
    return of_ros


def converted(converter, reading):
    """Return the message of a reading."""
    return read(converter.convert(reading), converter.message_type)


def assert_same_values(of_ros, other):
    """Compare a message of ROS with one of another class."""
    for name in of_ros.get_fields_and_field_types():
        ours, theirs = getattr(of_ros, name), getattr(other, name)
        if isinstance(ours, bytes):
            assert ours == bytes([theirs])
        elif isinstance(ours, list) and ours and not isinstance(ours[0], str):
            assert len(ours) == len(theirs)
            for pair in zip(ours, theirs, strict=True):
                assert_same_values(*pair)
        elif hasattr(ours, "get_fields_and_field_types"):
            assert_same_values(ours, theirs)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
