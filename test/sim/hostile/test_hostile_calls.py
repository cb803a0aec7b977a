"""Whatever is asked of a running world, by commands and services, is done or refused in words."""

import pytest
from sim.hostile.hostile_runs import run_program


@pytest.mark.parametrize("count", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_hostile_commands_and_services_are_refused_or_done(count):
    refused, done = map(int, run_program("hostile_calls.py", 0, count).split())
    assert refused + done == count * 40
    assert min(refused, done) > count * 10
