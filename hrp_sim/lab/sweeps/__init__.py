"""Sweeps: many runs of a world, one per case, on any ``concurrent.futures.Executor``."""

from .case import SweepResult
from .executors import InlineExecutor, WorkerError
from .sweep import MAX_TIMEOUT, SweepLimits, sweep

__all__ = ["MAX_TIMEOUT", "InlineExecutor", "SweepLimits", "SweepResult", "WorkerError", "sweep"]
