"""Sensors: pure functions from the state of the world to readings. SI units and radians."""

from .base import Reading, Sensor
from .camera import CameraSensor, Exposure, ImageReading
from .factory import make_sensors
from .force import ForceSensor, WrenchReading
from .imu import ImuReading, ImuSensor
from .joint import JointReading, JointSensor
from .odometry import OdometryReading, OdometrySensor
from .range import RangeSensor, ScanReading
from .settings import IDEAL, SensorSettings

__all__ = [
    "IDEAL",
    "CameraSensor",
    "Exposure",
    "ForceSensor",
    "ImageReading",
    "ImuReading",
    "ImuSensor",
    "JointReading",
    "JointSensor",
    "OdometryReading",
    "OdometrySensor",
    "RangeSensor",
    "Reading",
    "ScanReading",
    "Sensor",
    "SensorSettings",
    "WrenchReading",
    "make_sensors",
]
