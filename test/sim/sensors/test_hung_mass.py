"""Force sensors of an off-centre mass that hangs on each kind of joint, against pinocchio."""

import pytest

pytest.importorskip("pinocchio", reason="pinocchio, which wrenches are compared with, is missing")

from sim.sensors.hung_mass import HOLDERS, wrench_errors

EACH = pytest.mark.parametrize("holder", HOLDERS)


@EACH
def test_a_mass_that_hangs_still_weighs_what_pinocchio_says(holder):
    assert max(wrench_errors(holder, 1e-3, swings=False)) < 1e-8


@EACH
def test_a_mass_that_swings_pulls_as_pinocchio_says_of_the_step(holder):
    _, acting = wrench_errors(holder, 1e-3, swings=True)
    assert acting < 1e-3


@EACH
def test_a_swing_is_told_to_first_order_in_the_step(holder):
    coarse, middle, fine = (wrench_errors(holder, h, swings=True)[0] for h in (1e-3, 5e-4, 2.5e-4))
    assert coarse < 1e-2
    assert 1.8 < coarse / middle < 2.2
    assert 1.8 < middle / fine < 2.2
