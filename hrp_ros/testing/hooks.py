"""The hooks of pytest. They import the rest only for scenarios, so that others pay nothing."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from .names import ARTIFACTS, COMPLETE, FILES, TOLERANCE, UPDATE, WRITTEN

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr

    from .runs import ScenarioRunner


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
        from .stage import ScenarioError

        is_ours = isinstance(excinfo.value, ScenarioError)
        return str(excinfo.value) if is_ours else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return what reports show of this test."""
        return self.path, None, self.name


class _Result(Protocol):
    """What pluggy gives to wrappers."""

    def get_result(self) -> pytest.TestReport: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options and settings."""
    group = parser.getgroup("hrp_ros", "scenarios of robots (hrp_ros)")
    group.addoption(
        UPDATE,
        action="store_true",
        help="write the baselines of passing scenarios where they are missing or differ",
    )
    group.addoption(
        ARTIFACTS,
        metavar="DIR",
        help="folder for recordings and pictures of failed scenarios (default: in the cache)",
    )
    parser.addini(FILES, "patterns of scenario files", type="args", default=["*.scenario.yaml"])
    parser.addini(
        TOLERANCE, "factor of the tolerances between baselines of different machines", default="1"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check options before anything runs.

    Raises:
        UsageError: One cannot be used.
    """
    folder = config.getoption(ARTIFACTS)
    if folder and (place := config.invocation_params.dir / folder).exists() and not place.is_dir():
        raise pytest.UsageError(f"{ARTIFACTS}: '{folder}' is not a folder")
    written = config.getini(TOLERANCE)
    try:
        is_valid = 0.0 <= float(written) < inf
    except ValueError:
        is_valid = False
    if not is_valid:
        raise pytest.UsageError(f"{TOLERANCE} must be a number of at least 0, not '{written}'")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect scenario files; they are not read before their test runs."""
    patterns = parent.config.getini(FILES)
    if not any(fnmatchcase(file_path.name, pattern) for pattern in patterns):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


@pytest.fixture
def hrp_scenario(request: pytest.FixtureRequest) -> ScenarioRunner:
    """Return a function that runs scenario files.

    It takes the path of a file, relative to the folder of the test, and returns the
    ``ScenarioRun``. It fails if an expectation is not met or the run differs from its baseline.
    """
    from .runs import runner_of

    return runner_of(request.node)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, _Result, None]:
    """Keep a recording and a picture of a failed run, and name them in the report."""
    result = yield
    complete = item.stash.get(COMPLETE, None)
    if complete is not None and call.when == "call":
        complete(result.get_result())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the baselines that were written."""
    if not terminalreporter.config.getoption(UPDATE):
        return
    # A test in Python may fail after a scenario that has passed.
    reports = [r for key in ("passed", "failed") for r in terminalreporter.getreports(key)]
    written = [value for r in reports for name, value in r.user_properties if name == WRITTEN]
    for path in sorted(set(map(str, written))):
        terminalreporter.write_line(f"wrote the baseline {path}")
