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
    WheelOdometryReading,
    WrenchReading,
)

from .base import Sensor
from .body_state import JointSensor, OdometrySensor
from .camera import CameraSensor, RenderRequest
from .force import ForceSensor, TorqueSensor
from .imu import ImuSensor
from .kinds import Instrument, instruments
from .range import LightBeamSensor, RangeSensor, RangeSensor3D
from .settings import IDEAL, SensorSettings
from .wheel_odometry import WheelOdometrySensor
from .world_sensors import make_sensors

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
    "TorqueReading",
    "TorqueSensor",
    "WheelOdometryReading",
    "WheelOdometrySensor",
    "WrenchReading",
    "instruments",
    "make_sensors",
]
