"""Whatever numbers a model, a world file or a command holds, the process goes on.

The programs run in processes of their own, with memory and time bounded: an abort shows.
"""

import pytest
from sim.hostile.hostile_runs import run_program


@pytest.mark.parametrize(
    ("program", "count"),
    [
        ("hostile_bodies.py", 40),
        ("hostile_worlds.py", 15),
        pytest.param("hostile_bodies.py", 400, marks=pytest.mark.slow),
        pytest.param("hostile_worlds.py", 120, marks=pytest.mark.slow),
    ],
)
def test_hostile_numbers_are_refused_or_simulated(program, count):
    lived, refused = map(int, run_program(program, 0, count).split())
    assert lived + refused == count
    assert min(lived, refused) > count / 10


@pytest.mark.parametrize("count", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_hostile_sensors_lights_and_looks_are_left_out_or_simulated(count):
    lived, readings = map(int, run_program("hostile_sensors.py", 0, count).split())
    assert lived == count
    assert readings > 10 * lived


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_hostile_calls_of_services_are_refused_or_done(count):
    done, refused = map(int, run_program("hostile_services.py", 0, count).split())
    assert done + refused == 15 * count
    assert min(done, refused) > count
