"""Controllers that run inside of a simulation, and forces that programs add to its steps."""

from .classes import Controller, ControllerEntry, ForceHook
from .io import ControllerIO, ForceState

__all__ = ["Controller", "ControllerEntry", "ControllerIO", "ForceHook", "ForceState"]
