"""POSIX extended regular expressions, against grep -E, an independent implementation."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrp_sim.simulator.posix_regex import matcher

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
    matches = matcher(expression)
    assert [name for name in NAMES if matches(name)] == grep(expression, NAMES)


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
    matches = matcher(whole)
    assert [name for name in names if matches(name)] == grep(whole, names)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("(a", "'(a': missing )"),
        ("a)", "unexpected )"),
        ("*a", "no argument for repetition operator: *"),
        ("(?:a)", "no argument for repetition operator: ?"),
        ("a{2", "'{' at character 2 begins no interval"),
        ("a{,3}", "'{' at character 2 begins no interval"),
        ("a{3,2}", "invalid repetition size: {3,2}"),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("[a", "missing ]"),
        ("[b-a]", "invalid character class range: b-a"),
        ("[[:foo:]]", "invalid character class range: [:foo:]"),
        (r"\d", r"invalid escape sequence: \d"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("a\\", "trailing \\"),
        ("x[[.a.]]", "collating elements ([.x.], [=x=]) are not supported, at character 2"),
        ("[[:alpha:][=a=]]", "collating elements"),
        ("a" * 1001, "1001 characters, more than 1000"),
        ("((a{99}){99}){99}", "invalid repetition size"),
        ("(((){255}){255}){255}", "invalid repetition size"),
        ("\udcff", "surrogates not allowed"),
    ],
)
def test_an_invalid_expression_is_refused_with_the_reason(expression, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        matcher(expression)


@pytest.mark.parametrize(
    ("expression", "text", "matched"),
    [
        (r"^[\.]$", "\\", True),  # a backslash is a plain character within brackets
        (r"^a\{1$", "a{1", True),
        ("[.]a[.]", ".a.", True),  # no collating element
        ("^b", "a\nb", False),
        ("a.b", "a\nb", True),
        ("[[:alpha:]]", "\N{GREEK SMALL LETTER ALPHA}", False),
        ("^.$", "\N{GREEK SMALL LETTER ALPHA}", True),
        ("^a", "a\udcff", True),  # a name that is not valid Unicode
    ],
)
def test_rules_of_posix_that_grep_cannot_show(expression, text, matched):
    assert matcher(expression)(text) is matched


def test_an_expression_made_to_take_exponential_time_does_not():
    assert not matcher("^(a+)+$")("a" * 5000 + "b")
    assert not matcher("^(a|aa)+$")("a" * 5000 + "b")
