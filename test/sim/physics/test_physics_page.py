"""The tables of the accuracy of the physics are what their script measures."""

import pytest
from page_tools import data_rows, same

pytest.importorskip("mujoco", reason="mujoco, which the motions are compared with, is missing")

from sim.physics.accuracy import CHECKS, check_row, free_row, motions

from hrp_sim.engine.engine import Solver


def test_free_motions_are_as_the_page_says():
    written = {(row[0], row[1]): row for row in data_rows("free_motion")}
    for motion in motions():
        found, page = free_row(motion, Solver.WORLD), written[motion.name, Solver.WORLD.value]
        assert all(map(same, found, page)), (found, page)
    assert len(written) == len(Solver) * sum(1 for _ in motions())


def test_quick_checks_are_as_the_page_says():
    written = {row[0]: row for row in data_rows("physics_checks")}
    for check in CHECKS:
        assert check.what in written
        if check.is_quick:
            found = check_row(check)
            assert all(map(same, found, written[check.what])), (found, written[check.what])
