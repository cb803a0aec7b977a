"""Sweeps: many runs of a world, one per case, on any ``concurrent.futures.Executor``."""

from .executors import InlineExecutor, WorkerError
from .result import SweepResult
from .sweep import MAX_TIMEOUT, SweepLimits, sweep

__all__ = ["MAX_TIMEOUT", "InlineExecutor", "SweepLimits", "SweepResult", "WorkerError", "sweep"]
