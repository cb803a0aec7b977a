"""Models for the tests of the command."""

import pytest
from arm_model import ARM, write_model

from hrp_model.program import console


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """No line about long computations, which a busy machine makes of short ones."""
    monkeypatch.setattr(console, "_DELAY", 1e6)


@pytest.fixture
def model(tmp_path):
    """Return a function that writes a model, by default an arm, and returns its path."""

    def write(text=ARM, name="arm.body"):
        return write_model(tmp_path, text, name)

    return write
