"""Errors of workers."""

from __future__ import annotations


class WorkerError(RuntimeError):
    """Workers cannot be started, are gone, or cannot run the cases of this process."""
