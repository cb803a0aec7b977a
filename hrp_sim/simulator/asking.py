"""What goes wrong between a request and the thread that steps, in the words of the services."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from ..engine import PhysicsError
from ..runner import NotRunningError, StandingError
from .results import Code, RefusedError


@contextmanager
def refusing(code: IntEnum = Code.OPERATION_FAILED) -> Iterator[None]:
    """Turn what physics and runner raise into a refusal with this code."""
    try:
        yield
    except (NotRunningError, PhysicsError, StandingError) as error:
        raise RefusedError(code, str(error)) from None
