"""Sample clocks, counted exactly."""

from fractions import Fraction
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrp_sim.engine.schedule import NS_PER_S, SampleClock

MS = 1_000_000


def due_times(clock, step_ns, count):
    return [t for t in range(step_ns, (count + 1) * step_ns, step_ns) if clock.is_due(t)]


@pytest.mark.parametrize(
    ("rate", "step_ns", "seconds", "samples"),
    [
        (30.0, MS, 10, 300),
        (400.0, MS, 10, 4000),
        (500.0, MS, 2, 1000),
        (1000.0, MS, 1, 1000),
        (7.0, MS, 11, 77),
        (100.0 / 3.0, MS, 30, 1000),
        (0.1, MS, 30, 3),
        (59.94, MS, 50, 2997),
        (30.0, 2 * MS + 1, 0, 0),
        (5000.0, MS, 1, 1000),
        (1e-4, MS, 10, 0),
    ],
)
def test_the_number_of_samples_is_exact(rate, step_ns, seconds, samples):
    steps = seconds * NS_PER_S // step_ns
    assert len(due_times(SampleClock(rate), step_ns, steps)) == samples


def test_samples_come_at_the_first_step_at_or_after_their_time():
    assert due_times(SampleClock(400.0), MS, 11) == [3 * MS, 5 * MS, 8 * MS, 10 * MS]
    assert due_times(SampleClock(30.0), MS, 134) == [34 * MS, 67 * MS, 100 * MS, 134 * MS]


@given(
    rate=st.fractions(Fraction(1, 10), 1000, max_denominator=1000),
    step_ns=st.integers(1000, 20 * MS),
)
def test_any_rate_falls_due_where_the_definition_says(rate, step_ns):
    steps = range(1, 200)
    at = [
        k
        for k in steps
        if (k * step_ns * rate) // NS_PER_S > ((k - 1) * step_ns * rate) // NS_PER_S
    ]
    assert due_times(SampleClock(float(rate)), step_ns, 199) == [k * step_ns for k in at]


def test_nothing_is_due_at_the_start_nor_twice_at_one_time():
    clock = SampleClock(1000.0)
    assert not clock.is_due(0)
    assert clock.is_due(MS)
    assert not clock.is_due(MS)


def test_samples_that_were_missed_are_not_made_up_for():
    clock = SampleClock(100.0)
    assert clock.is_due(95 * MS)
    assert due_times(clock, MS, 99) == []
    assert clock.is_due(100 * MS)


def test_a_reset_starts_again():
    clock = SampleClock(100.0)
    first = due_times(clock, MS, 50)
    clock.reset()
    assert due_times(clock, MS, 50) == first


def test_a_rate_so_low_that_no_fraction_is_near_still_falls_due():
    clock = SampleClock(1e-5)
    assert not clock.is_due(99_999 * NS_PER_S)
    assert clock.is_due(100_000 * NS_PER_S + 1)


@pytest.mark.parametrize("rate", [0.0, -1.0, inf, nan])
def test_a_rate_must_be_positive_and_finite(rate):
    with pytest.raises(ValueError, match="positive and finite"):
        SampleClock(rate)


def test_samples_count_from_the_origin_and_waiting_finds_the_next_one():
    clock = SampleClock(400.0, origin_ns=3 * MS)
    assert [t for t in range(4 * MS, 14 * MS, MS) if clock.is_due(t)] == [
        6 * MS,
        8 * MS,
        11 * MS,
        13 * MS,
    ]
    for start in range(3, 20):
        skipped = SampleClock(400.0, origin_ns=3 * MS)
        skipped.wait(start * MS)
        stepped = SampleClock(400.0, origin_ns=3 * MS)
        for t in range(4 * MS, (start + 1) * MS, MS):
            stepped.is_due(t)
        later = range((start + 1) * MS, 40 * MS, MS)
        assert [skipped.is_due(t) for t in later] == [stepped.is_due(t) for t in later]
