"""Kinematics and dynamics of a Body, in numpy arrays over all its links."""

from .joint_path import IkResult, JointPath
from .link_state import LinkState, Sensor, SensorType
from .state import BodyState

__all__ = ["BodyState", "IkResult", "JointPath", "LinkState", "Sensor", "SensorType"]
