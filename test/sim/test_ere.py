"""POSIX extended regular expressions, against grep -E, which is another implementation."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrp_sim.simulator.ere import Expression

NAMES = ["", "box", "box_1", "box_12", "Box 3", "arm", "aaa", "ab", "abab", "a.b", "x]", "-", "^"]


def grep(expression: str, names: list[str]) -> list[str]:
    done = subprocess.run(
        ["grep", "-E", "-e", expression],
        input="".join(f"{name}\n" for name in names),
        capture_output=True,
        text=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


needs_grep = pytest.mark.skipif(shutil.which("grep") is None, reason="there is no grep")


@needs_grep
@pytest.mark.parametrize(
    "expression",
    [
        "", "box", "^box", "_[0-9]+$", "^box_[[:digit:]]{2}$", "^(arm|ab)$", "^(ab)*$", "^(ab){2}$",
        "a{2,}", "^a{1,2}$", "^$",
        "[[:upper:]]", "[^[:alnum:]_]", "[]]", "[^]a]", "[a-]", r"\.", ".",
        "x|", "(a|b)+", "^(a?b?)+$", r"\^", "o.*1", "[x-z]", "^[^_]*$", "(^a|x$)", "b(o|x){2}",
        "(a*)*", "(a*)+b", "a**", "[.]", "[[:space:]]",
    ],
)  # fmt: skip
def test_it_finds_what_grep_finds(expression):
    found = Expression(expression)
    assert [name for name in NAMES if found.is_in(name)] == grep(expression, NAMES)


def plain():
    """Expressions that POSIX and grep agree on."""
    atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "c"])
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda p: f"({p[0]}|{p[1]})"),
            st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}"])).map(
                lambda p: f"({p[0]}){p[1]}"
            ),
        ),
        max_leaves=6,
    )


@needs_grep
@settings(max_examples=60, deadline=None, derandomize=True)
@given(plain(), st.lists(st.text(alphabet="abc", max_size=6), min_size=1, max_size=8))
def test_random_expressions_find_what_grep_finds(expression, names):
    whole = f"^({expression})$"
    found = Expression(whole)
    assert [name for name in names if found.is_in(name)] == grep(whole, names)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("(a", "'(' without its ')'"),
        ("a)", "')' without its '('"),
        ("*a", "'*' has nothing to repeat, at character 1"),
        ("a{2", "'{' is followed by"),
        ("a{3,2}", "numbers of repeats go up"),
        ("a{999}", "to 255 at most"),
        ("[a", "'[' without its ']'"),
        ("[b-a]", "wrong way round"),
        ("[[:word:]]", "a class is one of alnum"),
        (r"\d", "special character only"),
        ("a" * 1001, "more than 1000"),
        ("(" * 60 + ")" * 60, "too many '('"),
        ("((a{99}){99}){99}", "repeats too much"),
        ("(((){255}){255}){255}", "repeats too much"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_reason(expression, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        Expression(expression)


def test_an_expression_made_to_take_for_ever_does_not():
    assert not Expression("^(a+)+$").is_in("a" * 5000 + "b")
    assert not Expression("^(a|aa)+$").is_in("a" * 5000 + "b")
