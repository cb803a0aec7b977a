"""The world of a test of physics."""

import pytest
from sim.physics import scenes


@pytest.fixture
def world():
    """Return a function that makes a world, as ``scenes.world`` does."""
    return scenes.world
