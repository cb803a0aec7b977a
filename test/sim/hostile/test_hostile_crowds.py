"""Worlds of very many parts: simulated, or refused before they take all memory."""

import pytest
from sim.hostile.hostile_runs import run_program


@pytest.mark.parametrize(
    ("case", "ending"),
    [
        pytest.param("heap_quick", "lived", marks=pytest.mark.slow),
        ("heap_world", "lived"),
        ("one_place_quick", "more than 200000 contacts at 0 s (step 0)"),
        pytest.param("one_place_world", "lived", marks=pytest.mark.slow),
        pytest.param("scattered_world", "lived", marks=pytest.mark.slow),
        pytest.param("chain_quick", "lived", marks=pytest.mark.slow),
        ("chain_world", "lived"),
        ("too_many_links", "body 'chain': it has 5001 links, more than the 5000"),
        pytest.param("fine_mesh", "lived", marks=pytest.mark.slow),
        ("own_shapes", "pairs of its 10000 collision shapes may collide, more than"),
        ("bad_mesh", "body 'grid', link 'BASE': a collision mesh refers to vertices that do not"),
    ],
)
def test_a_crowd_lives_or_is_refused(case, ending):
    assert ending in run_program("crowded_worlds.py", case)
