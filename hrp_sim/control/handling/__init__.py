"""Devices that act on other bodies: holders and conveyors; and joints between bodies."""

from .handling import Handling, JointEntry
from .holders import GripError, grip_name

__all__ = ["GripError", "Handling", "JointEntry", "grip_name"]
