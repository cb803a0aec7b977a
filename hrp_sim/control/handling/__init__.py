"""Devices that act on other bodies: holders and conveyors; and joints between bodies."""

from .handling import Handling
from .holders import GripError, grip_name
from .joint_entry import JointEntry

__all__ = ["GripError", "Handling", "JointEntry", "grip_name"]
