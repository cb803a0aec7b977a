"""Worlds that are hard to solve end in a finite state or an error, in bounded time."""

import json

import numpy as np
import pytest
from sim.hostile.hard_worlds import stiff_arm
from sim.hostile.hostile_runs import run_program
from sim.physics.scenes import world

from hrp_sim.engine.engine import PhysicsError, Solver

solvers = pytest.mark.parametrize("solver", list(Solver))


@solvers
def test_hard_worlds_live_or_are_refused(solver):
    endings = json.loads(run_program("hard_worlds.py", solver.value))
    assert list(endings.values()).count("lived") > len(endings) / 2, endings


@solvers
@pytest.mark.parametrize("field", ["q", "dq", "kp", "kd", "effort"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_command_that_is_not_finite_is_refused_and_changes_nothing(field, bad, solver):
    engine, arm = world(stiff_arm(), solver=solver)
    engine.step(5)
    before = arm.motion.copy()
    arm.drive.kp[:] = 10.0
    getattr(arm.drive, field)[1] = bad
    with pytest.raises(PhysicsError, match=r"link 'B': the drive of its joint .* must be finite"):
        engine.step()
    for quantity in ("p", "R", "v", "w", "q", "dq"):
        assert np.array_equal(getattr(arm.motion, quantity), getattr(before, quantity))
    getattr(arm.drive, field)[1] = 1.0
    engine.step(5)
    assert engine.state.time_ns == 10_000_000
    engine.close()
