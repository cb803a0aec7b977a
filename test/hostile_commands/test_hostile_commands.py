"""Hundreds of hostile commands: no traceback, no signal, bounded, nothing written unasked."""

from collections import Counter

import pytest
from each_case import check_each

from hostile_commands import arguments, models, projects, snapshots, terminals, worlds
from hostile_commands.case import check
from hostile_commands.runner import command_runner

FAMILIES = {
    "models": models.CASES,
    "worlds": worlds.CASES,
    "projects": projects.CASES,
    "arguments": arguments.CASES,
    "snapshots": snapshots.CASES,
    "terminals": terminals.CASES,
}


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    with command_runner(tmp_path_factory.mktemp("hostile")) as runner:
        yield runner


@pytest.mark.timeout(600)  # hundreds of processes
@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_input_ends_in_words_within_bounds(family, runner):
    check_each(FAMILIES[family], lambda case: check(case, runner.run(case)))


def test_the_set_is_as_large_as_it_claims():
    names = Counter((family, case.name) for family, cases in FAMILIES.items() for case in cases)
    assert len(names) == names.total() >= 200
