"""Closed loops: closing them, and the joints that follow others because of them."""

from ...body import Mimic
from .closure import LoopClosure, LoopError, Miss
from .mimic import loop_closures, loop_groups, mimic_joints

__all__ = [
    "LoopClosure",
    "LoopError",
    "Mimic",
    "Miss",
    "loop_closures",
    "loop_groups",
    "mimic_joints",
]
