"""The table of friction is what its script measures, near the closed forms."""

import pytest
from page_tools import data_rows, same

pytest.importorskip("mujoco", reason="mujoco, which friction is compared with, is missing")

from sim.physics.sliding import rows


@pytest.mark.slow
def test_friction_is_as_the_page_says():
    written = data_rows("friction")
    found = list(rows())
    assert len(found) == len(written)
    for row, on_page in zip(found, written, strict=True):
        assert all(map(same, row, on_page)), (row, on_page)
        assert float(row[2]) == pytest.approx(float(row[1]), rel=0.01)
