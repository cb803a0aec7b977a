"""Fixtures shared by all tests."""

import subprocess
import sys
from collections.abc import Iterator

import hypothesis
import pytest
from browser_tools import chromium, pages, shared_pages
from paths import ROOT

from hrp_model.diagnostics import Diagnostic, Diagnostics

__all__ = ["chromium", "pages", "shared_pages"]  # fixtures for all tests

# The same examples on every machine and in every run; how long one takes says nothing.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


def pytest_sessionstart() -> None:
    """Compile the extensions into a tree that has none: colcon keeps them beside it."""
    extensions = "ode/_core", "sensors/_probe"
    if not all(list((ROOT / "hrp_sim").glob(f"{name}.*.so")) for name in extensions):
        subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=ROOT)


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
    recorded = RecordedDiagnostics(listener=lambda _: None)
    yield recorded
    assert not recorded.found, [str(d) for d in recorded.found]
