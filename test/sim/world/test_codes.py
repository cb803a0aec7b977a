"""The table of codes of worlds, and that it knows every code that the simulation gives."""

import ast
from functools import cache
from pathlib import Path

from code_tools import SLUG, check_rule, emitted
from each_case import check_each

import hrp_sim
from hrp_model.program.report import CODES as OF_MODELS
from hrp_sim.cli.main import main
from hrp_sim.world.reporting import CODES

PACKAGE = Path(hrp_sim.__file__).parent
NO_CODES = ("health.py",)  # labels of numbers


@cache
def emitted_anywhere():
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name not in NO_CODES:
            found |= emitted(ast.parse(path.read_text(encoding="utf-8")))
    return {code for code in found if SLUG.fullmatch(code)}


def test_every_code_is_explained_here_or_among_those_of_models():
    assert sorted(emitted_anywhere() - set(CODES) - set(OF_MODELS)) == []


def test_every_code_that_is_explained_exists_and_once():
    assert sorted(set(CODES) - emitted_anywhere()) == []
    assert not set(CODES) & set(OF_MODELS)


def test_a_code_has_a_meaning_and_a_hint_of_one_line():
    check_each(CODES.values(), check_rule)


def test_the_command_lists_them(capsys):
    assert main(["run", "--list-codes"]) == 0
    out = capsys.readouterr().out
    for code, rule in CODES.items():
        assert f"{code}\n    {rule.meaning}\n    {rule.hint}\n" in out
