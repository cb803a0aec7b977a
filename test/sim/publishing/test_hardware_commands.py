"""Which of several command interfaces of a joint acts, as controllers write them."""

from math import isnan, nan, sin

import pytest

from hrp_sim.topics.hardware import HardwareCommands

KINDS = ("position", "velocity", "effort")


@pytest.fixture
def sent():
    """Send values some times; return those of the last message that act."""
    hardware = HardwareCommands({"a": KINDS, "b": ["velocity"]})

    def send(*values, times=20):
        for _ in range(times):
            found = hardware.read(["a", "c", "b"], values[:1], [values[1], 0.5], values[2:])
        assert [column[2] for column in found][1] == 0.5
        assert all(isnan(column[1]) for column in found)
        return [None if isnan(column[0]) else column[0] for column in found]

    return send


def test_the_only_value_acts(sent):
    assert sent(nan, nan, nan) == [None, None, None]
    assert sent(nan, nan, 2.0) == [None, None, 2.0]
    assert sent(nan, 0.0, nan) == [None, 0.0, None]


def test_after_a_switch_the_old_value_does_not_act(sent):
    """Controllers that are deactivated leave their last value."""
    assert sent(0.4, nan, nan) == [0.4, None, None]
    assert sent(0.4, 0.1, nan) == [None, 0.1, None]
    assert sent(0.4, 0.0, nan) == [None, 0.0, None]  # it stops, and does not go back
    assert sent(0.5, 0.0, nan) == [0.5, None, None]
    assert sent(0.5, 0.3, nan) == [None, 0.3, None]
    assert sent(0.6, 0.3, nan) == [0.6, None, None]  # without the old velocity
    sent(0.6, 0.3, 1.0, times=1)
    sent(0.6, 0.3, 2.0, times=1)
    assert sent(0.6, 0.3, 2.5, times=1) == [None, None, 2.5]
    assert sent(0.6, -0.3, 2.5) == [None, -0.3, None]


def test_a_trajectory_of_positions_and_velocities_has_both(sent):
    for k in range(200):
        q, dq = sin(0.01 * k), 0.01 * (k % 3)
        assert sent(q, dq, nan, times=1) == [q, dq, None]
    assert sent(q, 0.0, nan) == [q, 0.0, None]


def test_an_effort_beside_a_trajectory_is_feed_forward(sent):
    for k in range(20):
        assert sent(0.1 * k, nan, 3.0 + k, times=1) == [0.1 * k, None, 3.0 + k]
    assert sent(1.9, nan, 22.0) == [1.9, None, 22.0]


def test_what_does_not_fit_the_interfaces_is_left_to_others():
    hardware = HardwareCommands({"a": KINDS, "b": ["velocity"]})
    assert hardware.read(["a", "b"], [1.0, 2.0, 3.0], [], []) == ([1.0, 2.0, 3.0], [], [])
