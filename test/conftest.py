"""Fixtures shared by all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hrp_model.diagnostics import Diagnostic, Diagnostics

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "models"
# Third parties' models and what an independent system computes for them; users do not have it.
SHARED = ROOT.parent / "shared"

needs_shared = pytest.mark.skipif(
    not (SHARED / "reference").is_dir(),
    reason="the reference data of real models is not beside this checkout",
)


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
