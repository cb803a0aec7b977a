"""Folders of models and reference data for tests."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# PYTHONPATH of processes that run modules of the tests.
PYTHONPATH = os.pathsep.join(map(str, (ROOT, ROOT / "test", ROOT / "test" / "support")))
MODELS = ROOT / "models"
# Third-party models and reference results of an independent system; not distributed to users.
SHARED = ROOT.parent / "shared"

needs_shared = pytest.mark.skipif(
    not (SHARED / "reference").is_dir(),
    reason="the reference data of real models is not beside this checkout",
)
