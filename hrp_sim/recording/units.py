"""Units of the numbers in messages, by the definitions of their types."""

from __future__ import annotations

from collections.abc import Iterable

_METRES_OR_RADIANS = {"position": "rad or m", "velocity": "rad/s or m/s", "effort": "N m or N"}
_DISTANCES = dict.fromkeys(("ranges", "range_min", "range_max", "range"), "m")
_ANGLES = dict.fromkeys(("angle_min", "angle_max", "angle_increment", "field_of_view"), "rad")
# By type of the message that contains the field, and the field.
_UNITS = {
    "geometry_msgs/msg/Accel": {"linear": "m/s²", "angular": "rad/s²"},
    "geometry_msgs/msg/Inertia": {"m": "kg", "com": "m"},
    "geometry_msgs/msg/Pose": {"position": "m"},
    "geometry_msgs/msg/PointStamped": {"point": "m"},
    "geometry_msgs/msg/Pose2D": {"x": "m", "y": "m", "theta": "rad"},
    "geometry_msgs/msg/Transform": {"translation": "m"},
    "geometry_msgs/msg/Twist": {"linear": "m/s", "angular": "rad/s"},
    "geometry_msgs/msg/Wrench": {"force": "N", "torque": "N m"},
    "sensor_msgs/msg/BatteryState": {
        "voltage": "V",
        "temperature": "°C",
        "current": "A",
        **dict.fromkeys(("charge", "capacity", "design_capacity"), "A h"),
    },
    "sensor_msgs/msg/FluidPressure": {"fluid_pressure": "Pa"},
    "sensor_msgs/msg/Illuminance": {"illuminance": "lx"},
    "sensor_msgs/msg/Imu": {"angular_velocity": "rad/s", "linear_acceleration": "m/s²"},
    "sensor_msgs/msg/JointState": _METRES_OR_RADIANS,
    "sensor_msgs/msg/LaserScan": {
        **_DISTANCES,
        **_ANGLES,
        "time_increment": "s",
        "scan_time": "s",
    },
    "sensor_msgs/msg/MagneticField": {"magnetic_field": "T"},
    "sensor_msgs/msg/NavSatFix": {"latitude": "°", "longitude": "°", "altitude": "m"},
    "sensor_msgs/msg/Range": {**_DISTANCES, **_ANGLES},
    "sensor_msgs/msg/Temperature": {"temperature": "°C"},
}


def unit(path: Iterable[tuple[str, str]]) -> str:
    """Return the unit of a number, or "" if it has none or an unknown one.

    Args:
        path: From the message to the number: the type of each message, and its field.
    """
    known = (_UNITS.get(type_name, {}).get(field, "") for type_name, field in path)
    return next(filter(None, known), "")
