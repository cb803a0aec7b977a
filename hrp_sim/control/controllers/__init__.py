"""Controllers that run inside of a simulation, and forces that programs add to its steps."""

from .base import Controller, ForceHook
from .classes import ControllerEntry
from .force_state import ForceState
from .io import ControllerIO

__all__ = ["Controller", "ControllerEntry", "ControllerIO", "ForceHook", "ForceState"]
