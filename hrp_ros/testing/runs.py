"""Run the scenarios of a test, and report about them."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest._code.code import ExceptionRepr  # has no public name

from hrp_model import ModelError
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.printable import printable_lines
from hrp_sim import PhysicsError

from .artifacts import keep_artifacts
from .baseline_check import BaselineSettings
from .names import ARTIFACTS, COMPLETE, TOLERANCE, UPDATE, WRITTEN
from .scenario_test import ScenarioRun, load_scenario_test, run_scenario_test
from .stage import ScenarioError

_MAX_NAME = 100  # characters of a folder
_UNSAFE = re.compile(r"[^\w.-]+")
_DISTINCT = re.compile(r"[\w./:\[\]-]+")  # ids that stay different without unsafe characters


class ScenarioRunner:
    """Runs scenarios for a test.

    Args:
        node: The test.
    """

    def __init__(self, node: pytest.Item) -> None:
        self._node = node
        self._folder = node.path.parent
        self._run: ScenarioRun | None = None  # the last one

    def __call__(self, path: str | os.PathLike[str]) -> ScenarioRun:
        """Run a scenario file.

        Args:
            path: The file; relative to the folder of the test.

        Returns:
            The run, which has passed.

        Raises:
            ScenarioError: The file cannot be used, an expectation is not met, the run differs
                from its baseline, or the physics or a controller failed.
        """
        __tracebackhide__ = True
        self._run = None  # what is kept of a failure must not be of an earlier scenario
        config = self._node.config
        settings = BaselineSettings(
            update=config.getoption(UPDATE),
            tolerance=float(config.getini(TOLERANCE)),
            command=f"pytest {UPDATE} {shlex.quote(os.path.relpath(self._node.path))}",
        )
        file = os.path.relpath(self._folder / path)  # as messages show it
        try:
            run = run_scenario_test(load_scenario_test(file), settings)
        except (ModelError, PhysicsError, MissingLibraryError) as error:
            raise ScenarioError(printable_lines(str(error))) from None
        self._run = run
        if run.written:
            self._node.user_properties.append((WRITTEN, str(run.test.baseline)))
        run.check()
        return run

    def complete(self, report: pytest.TestReport) -> None:
        """Add to the report of a failed test which files were kept of its last run."""
        if not report.failed or self._run is None:
            return
        lines = keep_artifacts(self._run, self._artifact_folder())
        text = printable_lines("\n".join(lines))
        if isinstance(report.longrepr, ExceptionRepr):
            report.longrepr.addsection("scenario", text)
        else:
            report.longrepr = f"{report.longrepr}\n\n{text}"

    def _artifact_folder(self) -> Path:
        """Return the folder of this test for recordings and pictures."""
        config = self._node.config
        name = _folder_name(self._node.nodeid)
        given: str | None = config.getoption(ARTIFACTS)
        if given:
            return config.invocation_params.dir / given / name
        cache = getattr(config, "cache", None)  # the plugin of the cache may be switched off
        if cache is not None:
            with suppress(OSError):  # the folder of the tests cannot be written
                folder: Path = cache.mkdir("hrp_ros") / name
                return folder
        return Path(tempfile.mkdtemp(prefix="hrp_ros-")) / name


def _folder_name(nodeid: str) -> str:
    """Return the name of a folder for a test, which differs from those of other tests."""
    name = _UNSAFE.sub("_", nodeid)
    if len(name) <= _MAX_NAME and _DISTINCT.fullmatch(nodeid):
        return name
    return f"{name[-_MAX_NAME:]}_{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"


def runner_of(node: pytest.Item) -> ScenarioRunner:
    """Return a runner for a test, which completes its report."""
    runner = ScenarioRunner(node)
    node.stash[COMPLETE] = runner.complete
    return runner
