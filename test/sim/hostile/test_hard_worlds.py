"""Worlds that are hard to solve end in a finite state or an error, in bounded time."""

import json

import pytest
from sim.hostile.hostile_runs import run_program

from hrp_sim.engine.engine import Solver

solvers = pytest.mark.parametrize("solver", list(Solver))


@solvers
def test_hard_worlds_live_or_are_refused(solver):
    endings = json.loads(run_program("hard_worlds.py", solver.value))
    assert list(endings.values()).count("lived") > len(endings) / 2, endings
