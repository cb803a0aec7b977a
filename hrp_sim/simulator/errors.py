"""Errors of simulation requests, with the result codes of simulation_interfaces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from hrp_msgs.sanitize import shortened

from ..engine.engine import PhysicsError
from ..run.runner import NotRunningError, RunStateError
from .results import Code


class RequestError(Exception):
    """A request was rejected; the message states why, and what would be right.

    Attributes:
        code: A code of ``results``, for the service that was called.
    """

    def __init__(self, code: IntEnum, message: str) -> None:
        super().__init__(shortened(message))
        self.code = code


@contextmanager
def request_errors(code: IntEnum = Code.OPERATION_FAILED) -> Iterator[None]:
    """Convert errors of physics and runner to a RequestError with this code."""
    try:
        yield
    except (NotRunningError, PhysicsError, RunStateError) as error:
        raise RequestError(code, str(error)) from None
