"""Where tests find models and reference data."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "models"
# Third parties' models and what an independent system computes for them; users do not have it.
SHARED = ROOT.parent / "shared"

needs_shared = pytest.mark.skipif(
    not (SHARED / "reference").is_dir(),
    reason="the reference data of real models is not beside this checkout",
)
