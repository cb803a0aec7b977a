"""Places, severities, and what becomes of a diagnostic."""

import logging
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrp_model.diagnostics import (
    Diagnostic,
    Diagnostics,
    ModelError,
    Severity,
    Source,
    Span,
    did_you_mean,
    did_you_mean_or_all,
    number_text,
    out_of_range,
)

SOURCE = Source("robot.body", "name: arm\nlinks:\n  - mass: x\n")


@given(st.text(alphabet="ab\n\r "), st.data())
def test_line_and_column_lead_back_to_the_offset(text, data):
    offset = data.draw(st.integers(0, len(text)))
    line, column = Source("x", text).line_column(offset)
    lines = text.split("\n")
    assert sum(len(before) + 1 for before in lines[: line - 1]) + column - 1 == offset
    assert column <= len(lines[line - 1]) + 1


def test_a_diagnostic_reads_as_compilers_write_it():
    start = SOURCE.text.index("x")
    found = Diagnostic(
        Severity.ERROR, "wrong-type", "expected a number", Span(SOURCE, start, start)
    )
    assert str(found) == "robot.body:3:11: error: expected a number [wrong-type]"


def test_a_diagnostic_without_a_place_says_only_what_it_knows():
    assert str(Diagnostic(Severity.NOTE, "left-out", "no sound")) == "note: no sound [left-out]"


def test_a_source_is_shown_without_its_text():
    assert "links" not in repr(SOURCE)


def test_errors_end_a_stage_all_at_once_and_without_the_warnings():
    diagnostics = Diagnostics.silent()
    diagnostics.error("first", "one")
    diagnostics.warn("second", "two")
    diagnostics.note("third", "three")
    diagnostics.error("fourth", "four")
    with pytest.raises(ModelError) as caught:
        diagnostics.raise_errors()
    assert [d.code for d in caught.value.diagnostics] == ["first", "fourth"]
    assert str(caught.value) == "error: one [first]\nerror: four [fourth]"
    assert [d.code for d in diagnostics.found] == ["first", "second", "third", "fourth"]


def test_warnings_and_notes_let_a_stage_pass():
    diagnostics = Diagnostics.silent()
    diagnostics.warn("warning", "")
    diagnostics.note("note", "")
    assert not diagnostics.has_errors
    diagnostics.raise_errors()


def test_strict_mode_makes_errors_of_warnings_but_not_of_notes():
    diagnostics = Diagnostics.silent(strict=True)
    diagnostics.note("note", "")
    assert not diagnostics.has_errors
    diagnostics.warn("warning", "")
    assert diagnostics.has_errors
    assert [d.severity for d in diagnostics.found] == [Severity.NOTE, Severity.ERROR]


def test_what_one_collection_hears_another_can_keep_and_judge_by_its_own_strictness():
    strict = Diagnostics.silent(strict=True)
    inner = Diagnostics(listener=strict.add)
    inner.warn("warning", "of a part", Span(SOURCE, 0, 1))
    assert not inner.has_errors
    assert str(strict.found[0]) == "robot.body:1:1: error: of a part [warning]"


def test_a_listener_hears_everything_in_order():
    heard = []
    diagnostics = Diagnostics(listener=heard.append)
    diagnostics.note("a", "")
    diagnostics.error("b", "")
    assert [d.code for d in heard] == ["a", "b"]


def test_without_a_listener_each_severity_is_logged_at_its_level(caplog):
    caplog.set_level(logging.INFO, logger="hrp_model")
    diagnostics = Diagnostics()
    diagnostics.note("a", "one")
    diagnostics.warn("b", "two")
    diagnostics.error("c", "three")
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "note: one [a]"),
        ("WARNING", "warning: two [b]"),
        ("ERROR", "error: three [c]"),
    ]


def test_a_near_miss_is_suggested_and_a_wild_guess_is_not():
    assert did_you_mean("joint_rnage", ["joint_type", "joint_range"]) == (
        " Did you mean 'joint_range'?"
    )
    assert did_you_mean("colour", iter(["mass"])) == ""
    assert did_you_mean("mass", []) == ""


def test_without_a_near_miss_all_choices_are_listed():
    assert did_you_mean_or_all("blu", ["red", "blue"]) == " Did you mean 'blue'?"
    assert did_you_mean_or_all("mass", ["red", "blue"]) == " It is one of red, blue."
    assert did_you_mean_or_all("mass", ["red", "blue"], 1) == " It is one of red and 1 more."
    assert did_you_mean_or_all("mass", []) == " There is none."


def test_numbers_are_rounded_without_exponents():
    shown = [number_text(x) for x in (4210.3847, -12_345_678.0, 39.66, 0.01, 0.000123, 0.0, inf)]
    assert shown == ["4,210", "-12,300,000", "39.7", "0.01", "0.000123", "0", "inf"]
    assert number_text(4210.3847, 6) == "4,210.38"


def test_a_number_beyond_a_limit_differs_from_it():
    assert (
        out_of_range(1_000_000.4, 0, 1e6, "m") == "must be from 0 to 1,000,000 m, not 1,000,000.4 m"
    )
    assert out_of_range(-1e-9, 0, 1.0) == "must be from 0 to 1, not -1e-09"
    assert out_of_range(0.5, 1.0, inf) == "must be at least 1, not 0.5"


def test_a_long_message_keeps_its_remedy():
    diagnostics = Diagnostics.silent()
    diagnostics.warn("x", f"there is no joint '{'x' * 100_000}'; it is one of J1 and J2")
    message = diagnostics.found[0].message
    assert len(message) < 5000
    assert message.endswith("it is one of J1 and J2")


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_number_is_on_the_same_side_of_a_bound_as_its_text(value, bound):
    shown = float(number_text(value, bound=bound).replace(",", ""))
    assert shown == pytest.approx(value, rel=5e-3)
    if abs(value - bound) > 1e-12 * abs(bound) + 1e-300:
        assert (shown > bound, shown < bound) == (value > bound, value < bound)
