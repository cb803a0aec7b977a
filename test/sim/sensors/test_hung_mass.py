"""Force sensors of an off-centre mass that hangs on each kind of joint, against pinocchio."""

import pytest

pytest.importorskip("pinocchio", reason="pinocchio, which wrenches are compared with, is missing")

from sim.sensors.hung_mass import HOLDERS, wrench_errors


@pytest.mark.parametrize("holder", HOLDERS)
def test_the_wrench_of_a_swing_is_exact_to_first_order_in_the_step(holder):
    """Its other errors are those of the table of accuracy."""
    coarse, middle, fine = (wrench_errors(holder, h, swings=True)[0] for h in (1e-3, 5e-4, 2.5e-4))
    assert coarse < 1e-2
    assert 1.8 < coarse / middle < 2.2
    assert 1.8 < middle / fine < 2.2
