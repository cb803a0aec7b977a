"""ThrottledWarnings and warnings about what the thread that steps was asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from ..physics.engine import PhysicsError
from ..physics.schedule import NS_PER_S
from ..running.runner import NotRunningError, RunStateError
from ..running.stepping import Stepping
from .results import Code, RequestError

_log = logging.getLogger(__name__)


@contextmanager
def request_errors(code: IntEnum = Code.OPERATION_FAILED) -> Iterator[None]:
    """Turn what physics and runner raise into a refusal with this code."""
    try:
        yield
    except (NotRunningError, PhysicsError, RunStateError) as error:
        raise RequestError(code, str(error)) from None


def check_steps(stepping: Stepping) -> None:
    """Check that all steps were taken that were asked for.

    Raises:
        RequestError: They were not; the message says why.
    """
    if stepping.done >= stepping.steps:
        return
    reason = "it was reset, or goes on"
    if stepping.error is not None:
        reason = f"the physics has failed: {stepping.error}"
    elif stepping.cancelled:
        reason = "they were cancelled"
    raise RequestError(Code.OPERATION_FAILED, f"only {stepping} were taken: {reason}")


def warn_time_reset(before_ns: int) -> str:
    """Log that time was put back to zero where controllers sleep by the clock.

    Args:
        before_ns: The time before, in [ns].

    Returns:
        The warning; empty if it was zero already.
    """
    if before_ns == 0:
        return ""
    warning = (
        f"time was put back from {before_ns / NS_PER_S:.9g} s to 0 s: controllers of ros2_control "
        "stand still until the clock has come there again; start their controller manager anew, "
        "and next time reset with scope 2 (STATE), which keeps time"
    )
    _log.warning(warning)
    return warning
