"""Models for the tests of the command."""

import pytest
from arm_model import ARM, write_model


@pytest.fixture
def model(tmp_path):
    """Return a function that writes a model, by default an arm, and returns its path."""

    def write(text=ARM, name="arm.body"):
        return write_model(tmp_path, text, name)

    return write
