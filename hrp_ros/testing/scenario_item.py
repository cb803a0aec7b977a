"""Scenario files as tests that pytest collects."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr

_SUFFIX = ".scenario"


class ScenarioFile(pytest.File):
    """A scenario file, which is one test."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the test, which is named like the file."""
        yield ScenarioItem.from_parent(self, name=self.path.stem.removesuffix(_SUFFIX))


class ScenarioItem(pytest.Item):
    """A scenario that is to pass."""

    def runtest(self) -> None:
        """Run the scenario."""
        from .runs import runner_of

        runner_of(self)(self.path)

    def repr_failure(  # type: ignore[override]
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> str | TerminalRepr:
        """Return the message of a failed scenario or an invalid file, without a traceback."""
        from .problems import ScenarioError

        is_ours = isinstance(excinfo.value, ScenarioError)
        return str(excinfo.value) if is_ours else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return what reports show of this test."""
        return self.path, None, self.name
