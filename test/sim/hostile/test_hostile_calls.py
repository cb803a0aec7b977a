"""Whatever is asked of a running world, by commands and services, is done or refused in words."""

from sim.hostile.hostile_runs import run_program


def test_hostile_commands_and_services_are_refused_or_done():
    refused, done = map(int, run_program("hostile_calls.py", 0, 60).split())
    assert refused + done == 60 * 40
    assert min(refused, done) > 60 * 10
