"""POSIX extended regular expressions, against grep -E; distances of hulls, against scipy."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrp_model.rigid import rpy_matrix
from hrp_sim.run.requests.standard import hull_distance, posix_matcher

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
    matches = posix_matcher(expression)
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
    matches = posix_matcher(whole)
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
        posix_matcher(expression)


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
    assert posix_matcher(expression)(text) is matched


def test_an_expression_made_to_take_exponential_time_does_not():
    assert not posix_matcher("^(a+)+$")("a" * 5000 + "b")
    assert not posix_matcher("^(a|aa)+$")("a" * 5000 + "b")


CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


@pytest.mark.parametrize(
    ("offset", "distance"),
    [
        ((3, 0, 0), 1.0),
        ((3, 3, 0), np.sqrt(2)),
        ((3, -4, 3), np.sqrt(1 + 4 + 1)),
        ((2.0, 0, 0), 0.0),
        ((1.5, 1.5, 1.5), 0.0),
        ((0, 0, 0), 0.0),
        ((2.001, 0, 0), 0.001),
    ],
)
def test_cubes_are_as_far_apart_as_their_faces_edges_and_corners(offset, distance):
    assert hull_distance(CUBE, CUBE + offset) == pytest.approx(distance, abs=1e-7)


def test_a_point_is_its_own_hull():
    assert hull_distance(np.array([[0.0, 0.0, 5.0]]), CUBE) == pytest.approx(4.0)
    assert hull_distance(np.array([[0.2, 0.3, 0.4]]), CUBE) == 0.0


def test_flat_and_doubled_points_do_no_harm():
    square = CUBE[CUBE[:, 2] > 0] * [1, 1, 0]
    assert hull_distance(np.vstack([square, square]), CUBE + np.array([0, 0, 4])) == pytest.approx(
        3.0
    )


def test_random_hulls_are_as_far_apart_as_quadratic_programming_says():
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(7)
    for _ in range(25):
        a = rng.normal(size=(rng.integers(1, 9), 3))
        b = rng.normal(size=(rng.integers(1, 9), 3)) @ rpy_matrix(*rng.normal(size=3)).T
        b += rng.normal(size=3) * 3

        def square(weights, a=a, b=b):
            gap = weights[: len(a)] @ a - weights[len(a) :] @ b
            return gap @ gap

        n = len(a), len(b)
        ones = [np.r_[np.ones(n[0]), np.zeros(n[1])], np.r_[np.zeros(n[0]), np.ones(n[1])]]
        found = optimize.minimize(
            square,
            np.r_[np.full(n[0], 1 / n[0]), np.full(n[1], 1 / n[1])],
            bounds=[(0, 1)] * sum(n),
            constraints=[{"type": "eq", "fun": lambda w, o=o: o @ w - 1} for o in ones],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert hull_distance(a, b) == pytest.approx(np.sqrt(max(found.fun, 0.0)), abs=2e-4)
