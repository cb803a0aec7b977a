"""Worlds of very many parts: simulated, or refused before they take all memory."""

import pytest
from sim.hostile.hostile_runs import run_program


@pytest.mark.parametrize(
    ("case", "ending"),
    [
        ("heap_quick", "lived"),
        ("heap_world", "lived"),
        ("heap_dense", "constraint rows at 0 s (step 0), too many for solver: dense"),
        ("one_place_quick", "more than 200000 contacts at 0 s (step 0)"),
        ("one_place_world", "lived"),
        ("one_place_dense", "too many for solver: dense"),
        ("scattered_world", "lived"),
        ("chain_quick", "lived"),
        ("chain_world", "lived"),
        (
            "chain_dense",
            "body 'chain', link 'B1': its joints and contacts and those of all connected bodies",
        ),
        ("too_many_links", "body 'chain': it has 5001 links, more than the 5000"),
        ("fine_mesh", "lived"),
        ("own_shapes", "pairs of its 10000 collision shapes may collide, more than"),
        ("bad_mesh", "body 'grid', link 'BASE': a collision mesh refers to vertices that do not"),
    ],
)
def test_a_crowd_lives_or_is_refused(case, ending):
    assert ending in run_program("crowded_worlds.py", case)
