"""The table of codes, and that it knows every code that the package gives."""

import csv
import re
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from code_tools import check_rule, emitted, tree_of
from each_case import check_each

import hrp_model
from hrp_model.cli.main import _parser
from hrp_model.program.report import CODES, SHOWN_NOTES
from hrp_sim.world.reporting import CODES as OF_WORLDS

PACKAGE = Path(hrp_model.__file__).parent
# Spelled with an f-string, "frame" or "joint" and what they have in common, or without a
# hyphen in a table.
COMPOSED = {"frame-name-collision", "joint-name-collision", "x3d"}


@cache
def emitted_anywhere():
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        found |= emitted(tree_of(path))
    return found


def test_every_code_of_a_reader_or_rule_is_explained():
    of_worlds = SHOWN_NOTES & set(OF_WORLDS)  # which hrp_sim reports and explains
    assert sorted(emitted_anywhere() - set(CODES) - of_worlds) == []


def test_every_code_that_is_explained_exists():
    assert sorted(set(CODES) - emitted_anywhere() - COMPOSED) == []


def rows():
    with (PACKAGE / "program" / "codes.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_no_code_is_explained_twice():
    codes = [row["code"] for row in rows()]
    assert len(set(codes)) == len(codes)


def test_the_codes_of_a_topic_are_together_and_in_order():
    for _, group in groupby(rows(), key=itemgetter("topic")):
        codes = [row["code"] for row in group]
        assert codes == sorted(codes)
    topics = [topic for topic, _ in groupby(rows(), key=itemgetter("topic"))]
    assert len(set(topics)) == len(topics)


def test_every_topic_is_listed_by_a_program():
    assert len(CODES) + len(OF_WORLDS) == len(rows())


def test_a_code_has_a_meaning_and_a_hint_of_one_line():
    check_each(CODES.values(), check_rule)


def test_hints_name_options_that_the_program_has():
    commands = _parser().commands.values()
    for command in commands:
        command.add_late_arguments()
    options = {name for command in commands for name in command._option_string_actions}
    hints = [re.sub(r"'gz [^']*'", "", rule.hint) for rule in CODES.values()]
    named = {name for hint in hints for name in re.findall(r"--[a-z-]+", hint)}
    assert named - options == set()
