"""Extrapolation to steps of zero length, of functions whose limits are known."""

import numpy as np
import pytest

from hrp_sim.lab.certificate.extrapolation import limit

STEPS = [0.1 / 2**i for i in range(6)]


def sampled(function):
    """Return a function's values at the steps, as those of one case."""
    return [np.array([[function(h)]]) for h in STEPS]


@pytest.mark.parametrize(
    ("function", "order", "error"),
    [
        (lambda h: 3.0 + 2.0 * h - 5.0 * h**2, 1, 1e-13),
        (lambda h: 3.0 - 5.0 * h**2 + h**3, 2, 1e-13),
        (lambda h: 3.0 * np.exp(h), 1, 1e-10),
    ],
)
def test_a_smooth_error_vanishes(function, order, error):
    found = limit(sampled(function), np.ones(1), order)
    assert abs(found.value[0, 0] - 3.0) < error
    assert found.error[0] < 100.0 * error


def test_rounding_errors_of_short_steps_are_avoided():
    noise = iter(np.random.default_rng(1).uniform(-1.0, 1.0, len(STEPS)))
    values = sampled(lambda h: 3.0 + 2.0 * h + next(noise) * 1e-14 / h**4)
    found = limit(values, np.ones(1))
    assert abs(found.value[0, 0] - 3.0) < 1e-6 < abs(values[-1][0, 0] - 2.0 * STEPS[-1] - 3.0)
    assert abs(found.value[0, 0] - 3.0) < 10.0 * found.error[0]


def test_every_case_has_its_own_entry():
    values = [np.array([[1.0 + h], [2.0 + h**2]]) for h in STEPS]
    found = limit(values, np.ones(1))
    np.testing.assert_allclose(found.value[:, 0], [1.0, 2.0], atol=1e-13)
    assert found.error.shape == (2,)
