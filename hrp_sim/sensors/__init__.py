"""Sensors: compute readings from the state of the world and their own memory. SI units."""

from .base import Observer, Reading, Sensor, StatefulSensor
from .camera import CameraSensor, ImageReading, RenderRequest
from .factory import make_sensors
from .force import ForceSensor, WrenchReading
from .imu import ImuReading, ImuSensor
from .joint import JointReading, JointSensor
from .light_beam import LightBeamReading, LightBeamSensor
from .odometry import OdometryReading, OdometrySensor
from .range import RangeImageReading, RangeSensor, RangeSensor3D, ScanReading
from .registry import Instrument, instruments
from .settings import IDEAL, SensorSettings
from .torque import TorqueReading, TorqueSensor

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
