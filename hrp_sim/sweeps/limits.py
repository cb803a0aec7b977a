"""Size limits of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..physics.array_file import MAX_SIZE

_MAX_CASE = MAX_SIZE // 2  # its file can be read again


@dataclass(frozen=True, kw_only=True)
class SweepLimits:
    """Size limits of a sweep.

    Attributes:
        cases: Maximum number of cases.
        case_bytes: Maximum size of the values of a case, in [byte].
        total_bytes: Maximum size of the values of all cases, in [byte].
        in_flight: Maximum number of cases that an executor holds at a time.

    Raises:
        ValueError: A limit is below 1, or ``case_bytes`` above 128 MiB.
    """

    cases: int = 1_000_000
    case_bytes: int = 1 << 26
    total_bytes: int = 1 << 32
    in_flight: int = 1000

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(f"the limit {field.name} must be at least 1")
        if self.case_bytes > _MAX_CASE:
            raise ValueError(f"the limit case_bytes must be at most {_MAX_CASE}")
