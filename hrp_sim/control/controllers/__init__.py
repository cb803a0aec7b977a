"""Controllers that run inside of a simulation, and forces that programs add to its steps."""

from .base import Controller, ForceHook
from .classes import ControllerEntry
from .io import ControllerIO, ForceState

__all__ = ["Controller", "ControllerEntry", "ControllerIO", "ForceHook", "ForceState"]
