"""Fixtures shared by all tests."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import hypothesis
import pytest
from browser_tools import chromium, pages, shared_pages
from paths import ROOT

# colcon keeps compiled extensions beside the tree, from which tests import.
if not list(ROOT.glob("hrp_sim/engine/ode/_core.*.so")):
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, cwd=ROOT, check=True)

from hrp_model.diagnostics import Diagnostic, Diagnostics

__all__ = ["chromium", "pages", "shared_pages"]  # fixtures for all tests

# The same examples on every machine and in every run; how long one takes says nothing.
for profile, examples in (("some", 30), ("all", 200)):
    hypothesis.settings.register_profile(
        profile, max_examples=examples, derandomize=True, deadline=None
    )


def pytest_configure(config: pytest.Config) -> None:
    """Try more examples with slow tests, ``-m ""``."""
    hypothesis.settings.load_profile("some" if config.option.markexpr else "all")


def pytest_sessionstart() -> None:
    """Make the environment active."""
    # So that the commands of pages and workflows find `python` and `hrp-sim`, as those of users do.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])


# Unit tests come first, since they find most mistakes; then those that run whole programs.
_UNITS = ("model", "models", "msgs", "sim")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests: unit tests first."""
    items.sort(key=lambda item: _folder(item) not in _UNITS)


def pytest_report_collectionfinish(items: list[pytest.Item]) -> str:
    """Return how many tests follow and about how long they take."""
    seconds = sum(_SECONDS.get(_folder(item), _OTHER_SECONDS) for item in items)
    length = f"{seconds / 60.0:.0f} min" if seconds > 90.0 else f"{seconds:.0f} s"
    return f"{len(items)} tests, about {length} in one process"


# Average time of a test, in [s], by folder.
_SECONDS = {"model": 0.04, "models": 0.1, "msgs": 0.02, "sim": 0.06, "ros": 0.5}
_OTHER_SECONDS = 0.3


def _folder(item: pytest.Item) -> str:
    """Return the name of the folder or file in test/ that has a test."""
    return [*item.nodeid.split("/"), ""][1]


@pytest.fixture(autouse=True)
def _heeds_ctrl_c() -> Iterator[None]:
    """Have programs heed SIGINT, which is ignored in the background jobs of scripts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def only_own_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have runs of pytest that a test starts load our plugin, which need not be installed, alone.

    Those of a sourced ROS 2 up to Kilted do not load in pytest 9.
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "hrp_ros.testing.plugin")


@pytest.fixture(scope="module")
def quick_compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile without optimization, which takes a third of the time."""
    compiler = tmp_path_factory.mktemp("compiler") / "cc"
    compiler.write_text('#!/bin/sh\nexec cc "$@" -O0\n')
    compiler.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", str(compiler))
        yield


class RecordedDiagnostics(Diagnostics):
    """Diagnostics whose every warning and error the test must take."""

    def take(self, code: str) -> Diagnostic:
        """Remove and return the first diagnostic with this code."""
        for diagnostic in self.found:
            if diagnostic.code == code:
                self.found.remove(diagnostic)
                return diagnostic
        pytest.fail(f"no '{code}' among {[str(d) for d in self.found]}")


@pytest.fixture
def diagnostics() -> Iterator[RecordedDiagnostics]:
    recorded = RecordedDiagnostics.silent()
    yield recorded
    # A loaded machine may stop any controller for a second.
    left = [str(d) for d in recorded.found if d.code != "controller-blocks"]
    assert not left, left
