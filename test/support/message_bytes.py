"""Messages from their bytes, as ROS and an independent library read them."""

from hrp_msgs.messages import HAS_ROS
from hrp_msgs.messages.definitions import type_name, typestore


def read(data, message_type):
    """Return the message of these bytes, of ROS's class where there is ROS.

    Its bytes must be those that rosbags makes of it, with zeros between the fields.
    """
    name = type_name(message_type)
    assert type(data) is bytes
    message = typestore().deserialize_cdr(data, name)
    assert bytes(typestore().serialize_cdr(message, name)) == data
    if HAS_ROS:
        from rclpy.serialization import deserialize_message

        message = deserialize_message(data, message_type)
        assert bytes(typestore().serialize_cdr(message, name)) == data
    return message


def converted(converter, reading):
    """Return the message of a reading."""
    return read(converter.convert(reading), converter.message_type)
