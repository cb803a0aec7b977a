"""Hundreds of hostile commands: no traceback, no signal, bounded, nothing written unasked."""

import pytest
from each_case import check_each, spread

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


def some_and_rest():
    """Yield a tenth of the cases of each family, of all kinds, and the rest, which is slow."""
    for name, cases in FAMILIES.items():
        some = spread(cases, max(5, len(cases) // 10))
        chosen = {id(case) for case in some}
        rest = [case for case in cases if id(case) not in chosen]
        yield pytest.param(some, id=name)
        yield pytest.param(rest, id=f"rest of {name}", marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    with command_runner(tmp_path_factory.mktemp("hostile")) as runner:
        yield runner


@pytest.mark.timeout(1800)  # hundreds of processes
@pytest.mark.parametrize("cases", [*some_and_rest()])
def test_hostile_input_ends_in_words_within_bounds(cases, runner):
    check_each(cases, lambda case: check(case, runner.run(case)))
