"""Sensors: compute readings from the state of the world and their own memory. SI units."""

from hrp_msgs.readings import (
    ImageReading,
    ImuReading,
    JointReading,
    LightBeamReading,
    OdometryReading,
    RangeImageReading,
    Reading,
    ScanReading,
    TorqueReading,
    WrenchReading,
)

from .base import Observer, Sensor, StatefulSensor
from .camera import CameraSensor, RenderRequest
from .factory import make_sensors
from .force import ForceSensor
from .imu import ImuSensor
from .joint import JointSensor
from .light_beam import LightBeamSensor
from .odometry import OdometrySensor
from .range import RangeSensor, RangeSensor3D
from .registry import Instrument, instruments
from .settings import IDEAL, SensorSettings
from .torque import TorqueSensor

__all__ = [
    "IDEAL",
    "CameraSensor",
    "ForceSensor",
    "ImageReading",
    "ImuReading",
    "ImuSensor",
    "Instrument",
    "JointReading",
    "JointSensor",
    "LightBeamReading",
    "LightBeamSensor",
    "Observer",
    "OdometryReading",
    "OdometrySensor",
    "RangeImageReading",
    "RangeSensor",
    "RangeSensor3D",
    "Reading",
    "RenderRequest",
    "ScanReading",
    "Sensor",
    "SensorSettings",
    "StatefulSensor",
    "TorqueReading",
    "TorqueSensor",
    "WrenchReading",
    "instruments",
    "make_sensors",
]
