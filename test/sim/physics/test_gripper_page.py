"""The table of grippers is what its script measures, near the closed forms."""

import pytest
from page_tools import data_rows, same

pytest.importorskip("mujoco", reason="mujoco, which grippers are compared with, is missing")

from sim.physics.grippers import rows


def test_grippers_are_as_the_page_says():
    written = data_rows("grippers")
    found = list(rows())
    assert len(found) == len(written)
    for row, on_page in zip(found, written, strict=True):
        assert all(map(same, row, on_page)), (row, on_page)
        exact, here = float(row[1]), float(row[2])
        assert here == pytest.approx(exact, rel=6e-3, abs=0.01)  # surface_layer: 0.1 mm in 20 mm
