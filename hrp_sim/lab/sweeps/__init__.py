"""Sweeps: many runs of a world, one per case, on any ``concurrent.futures.Executor``."""

from .errors import WorkerError
from .inline import InlineExecutor
from .limits import SweepLimits
from .result import SweepResult
from .sweep import sweep

__all__ = ["InlineExecutor", "SweepLimits", "SweepResult", "WorkerError", "sweep"]
