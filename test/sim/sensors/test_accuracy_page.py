"""The tables of the accuracy of sensors are what their script measures."""

import pytest
from page_tools import data_rows, same

pytest.importorskip("pinocchio", reason="pinocchio, which wrenches are compared with, is missing")

from sim.render.scenes import needs_opengl
from sim.sensors.accuracy import STEPS, moving_row, still_rows, swinging


@pytest.fixture(scope="module")
def written():
    rows = [*data_rows("sensors_by_step"), *data_rows("sensors_at_any_step")]
    return {row[0]: row[1:] for row in rows}


def test_errors_of_what_moves_are_as_the_page_says_and_fall_with_the_step(written):
    for what, error in swinging():
        _, found = moving_row(what, error, STEPS[:1])
        at_1_ms, at_half, at_quarter = written[what]
        assert same(found, at_1_ms), what
        assert float(at_1_ms) > 1.5 * float(at_half) > 2.25 * float(at_quarter), what
        assert float(at_1_ms) < 1e-2


@needs_opengl
def test_other_errors_are_as_small_as_the_page_says(written):
    """Of pictures they depend on what draws."""
    for what, found in still_rows():
        assert same(found, written[what][0], negligible=1e-5), what
    assert written["pixels whose unlit colour is not exact, of 76800"] == ["0"]
