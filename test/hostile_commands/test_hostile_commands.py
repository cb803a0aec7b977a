"""Hundreds of hostile commands: no traceback, no signal, bounded, nothing written unasked."""

import pytest
from each_case import check_each

from hostile_commands import arguments, models, projects, snapshots, terminals, worlds
from hostile_commands.case import check
from hostile_commands.runner import command_runner

# The first command of each model; others read the same, so that they are slow tests.
FIRST_OF_MODELS = {case.name.split(": ")[0]: case for case in reversed(models.CASES)}.values()
FAMILIES = {
    "models": [*FIRST_OF_MODELS],
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


@pytest.mark.timeout(1800)  # hundreds of processes
@pytest.mark.parametrize(
    "cases",
    [*FAMILIES.values(), pytest.param(models.CASES, marks=pytest.mark.slow)],
    ids=[*FAMILIES, "models with all commands"],
)
def test_hostile_input_ends_in_words_within_bounds(cases, runner):
    check_each(cases, lambda case: check(case, runner.run(case)))
