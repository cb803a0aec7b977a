"""Limits of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ...engine.array_file import MAX_SIZE

MAX_TIMEOUT = 86_400.0  # [s], of a case
_MAX_CASE = MAX_SIZE // 2  # its file can be read again


@dataclass(frozen=True, kw_only=True)
class SweepLimits:
    """Limits of a sweep.

    Attributes:
        cases: Maximum number of cases.
        case_bytes: Maximum size of the values of a case, in [byte].
        total_bytes: Maximum size of the values of all cases, in [byte].
        in_flight: Maximum number of chunks of cases that an executor holds at a time.
        chunk_seconds: How long the cases should take that a worker is given at once, in [s]. A
            case that takes longer is given alone.

    Raises:
        ValueError: A number is below 1, the time not positive, or ``case_bytes`` above 128 MiB.
    """

    cases: int = 1_000_000
    case_bytes: int = 1 << 26
    total_bytes: int = 1 << 32
    in_flight: int = 1000
    chunk_seconds: float = 0.5

    def __post_init__(self) -> None:
        for name in ("cases", "case_bytes", "total_bytes", "in_flight"):
            if getattr(self, name) < 1:
                raise ValueError(f"the limit {name} must be at least 1")
        if not 0.0 < self.chunk_seconds < inf:
            raise ValueError(f"chunk_seconds is {self.chunk_seconds} s; it must be positive")
        if self.case_bytes > _MAX_CASE:
            raise ValueError(f"the limit case_bytes must be at most {_MAX_CASE}")
