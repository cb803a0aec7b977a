"""Sensors: from the state of the world, and what they remember, to readings. SI units, radians."""

from .base import Observer, Reading, Remembering, Sensor
from .camera import CameraSensor, Exposure, ImageReading
from .factory import make_sensors
from .force import ForceSensor, WrenchReading
from .imu import ImuReading, ImuSensor
from .joint import JointReading, JointSensor
from .odometry import OdometryReading, OdometrySensor
from .range import RangeImageReading, RangeSensor, RangeSensor3D, ScanReading
from .registry import Instrument, instruments
from .settings import IDEAL, SensorSettings

__all__ = [
    "IDEAL",
    "CameraSensor",
    "Exposure",
    "ForceSensor",
    "ImageReading",
    "ImuReading",
    "ImuSensor",
    "Instrument",
    "JointReading",
    "JointSensor",
    "Observer",
    "OdometryReading",
    "OdometrySensor",
    "RangeImageReading",
    "RangeSensor",
    "RangeSensor3D",
    "Reading",
    "Remembering",
    "ScanReading",
    "Sensor",
    "SensorSettings",
    "WrenchReading",
    "instruments",
    "make_sensors",
]
