"""Collect the results of cases, and keep them in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .case import Case, CaseResult
from .folder import CaseFolder
from .result import SweepResult


class Collector:
    """Collects the results of cases.

    Args:
        cases: The cases.
        folder: Keeps those that succeed; None for nowhere.
        total_bytes: Maximum size of all values, in [byte].
    """

    def __init__(self, cases: Sequence[Case], folder: CaseFolder | None, total_bytes: int) -> None:
        self._cases, self._folder, self._total_bytes = cases, folder, total_bytes
        self._results: dict[int, CaseResult] = {}
        self._size = 0

    @property
    def left(self) -> list[int]:
        """Indices of the cases without a result."""
        return [i for i in range(len(self._cases)) if i not in self._results]

    def resume(self) -> Iterator[int]:
        """Take the finished cases from the folder, and yield their indices.

        Raises:
            OSError: A file cannot be read.
            ValueError: A file is broken, or the values are too large.
        """
        if self._folder is None:
            return
        for index, case in enumerate(self._cases):
            found = self._folder.read(case)
            if found is not None:
                self._take(index, found)
                yield index

    def add(self, index: int, result: CaseResult) -> None:
        """Take the result of a case, after it was written to the folder if it succeeded.

        Raises:
            OSError: Its file cannot be written.
            ValueError: The values are too large.
        """
        if self._folder is not None and not result.error:
            self._folder.write(self._cases[index], result)
        self._take(index, result)

    def stacked(self) -> SweepResult:
        """Return the results, of which none may be missing."""
        return SweepResult.from_results(
            self._cases, [self._results[i] for i in range(len(self._cases))]
        )

    def _take(self, index: int, result: CaseResult) -> None:
        self._results[index] = result
        self._size += result.size
        if self._size > self._total_bytes:
            raise ValueError(
                f"the values of {len(self._results)} of {len(self._cases)} cases exceed "
                f"{self._total_bytes} bytes, the limit total_bytes; return less"
            )
