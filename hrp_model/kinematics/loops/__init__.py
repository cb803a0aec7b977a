"""Closed kinematic loops: postures that close them, and the mimic joints they imply."""

from ...body import Mimic
from .closure import Gap, LoopClosure, LoopError
from .mimic import loop_closures, loop_groups, mimic_joints

__all__ = [
    "Gap",
    "LoopClosure",
    "LoopError",
    "Mimic",
    "loop_closures",
    "loop_groups",
    "mimic_joints",
]
