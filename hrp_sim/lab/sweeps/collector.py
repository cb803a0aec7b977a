"""Collect the results of cases, and keep them in a folder."""

from __future__ import annotations

import errno
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from hrp_model.printable import printable

from .case import Case, CaseResult, described
from .folder import CaseFolder
from .result import SweepResult
from .worlds import Task, Worlds

_log = logging.getLogger("hrp_sim")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Collector:
    """Collects the results of cases.

    Args:
        cases: The cases.
        worlds: Their worlds.
        folder: Keeps those that succeed; None for nowhere.
        total_bytes: Maximum size of all values, in [byte].
        listener: Called with each result.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        worlds: Worlds,
        folder: CaseFolder | None,
        total_bytes: int,
        listener: Callable[[CaseResult], None],
    ) -> None:
        self._cases, self._worlds, self._folder = cases, worlds, folder
        self._total_bytes, self._listener = total_bytes, listener
        self._results: dict[int, CaseResult] = {}
        self._size = 0
        self._fingerprint = ""  # of the first result
        self._warned = False  # that others differ

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make the folder, and log how to continue if a ``with`` block is left with an exception.

        Raises:
            OSError: The folder cannot be made or written.
        """
        if self._folder is not None:
            self._folder.prepare_writing()
        try:
            yield
        except BaseException:
            if self._folder is not None:
                _log.warning(
                    "the sweep has ended early; %d of %d cases are finished; those that succeeded "
                    "are in '%s', and the same call continues",
                    *(len(self._results), len(self._cases), printable(str(self._folder.path))),
                )
            raise

    def tasks(self) -> Iterator[Task]:
        """Yield the cases to run: not those in the folder, nor those whose world cannot be made.

        Raises:
            OSError: A file cannot be read.
            ValueError: A file is broken, or the values are too large.
        """
        for index, case in enumerate(self._cases):
            try:
                world = self._worlds.of(case)
            except Exception as error:
                self._take(index, CaseResult(error=f"world: {described(error)}"))
                continue
            found = None if self._folder is None else self._folder.read(world.key, case)
            if found is None:
                yield Task(index, case, world)
            else:
                self._take(index, found)

    def add(self, task: Task, result: CaseResult) -> None:
        """Take the result of a case, after it was written to the folder if it succeeded.

        Raises:
            OSError: Its file cannot be written.
            ValueError: The values are too large.
        """
        if self._folder is not None and not result.error:
            try:
                self._folder.write(task.world.key, task.case, result)
            except OSError as error:
                if error.errno in _FULL:
                    error.strerror = f"{error.strerror}; free space, then repeat the call"
                raise
        self._take(task.index, result)

    def stacked(self) -> SweepResult:
        """Return the results, of which none may be missing."""
        return SweepResult.from_results(
            self._cases, [self._results[i] for i in range(len(self._cases))]
        )

    def _take(self, index: int, result: CaseResult) -> None:
        # Texts from workers are not shared, and a million of the same text need 0.2 GB.
        result = replace(result, fingerprint=sys.intern(result.fingerprint))
        self._results[index] = result
        self._check_fingerprint(result.fingerprint)
        self._size += result.size
        if self._size > self._total_bytes:
            raise ValueError(
                f"the values of {len(self._results)} of {len(self._cases)} cases exceed "
                f"{self._total_bytes} bytes, the limit total_bytes; return less"
            )
        self._listener(result)

    def _check_fingerprint(self, fingerprint: str) -> None:
        """Warn once if results were not all computed alike."""
        self._fingerprint = self._fingerprint or fingerprint
        if fingerprint not in ("", self._fingerprint) and not self._warned:
            self._warned = True
            _log.warning(
                "the last bits and state hashes of cases cannot be compared, since some were "
                "computed with %s, and some with %s",
                *(printable(self._fingerprint), printable(fingerprint)),
            )
