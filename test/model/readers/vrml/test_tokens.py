"""Tokens: places, surprises, and never a crash."""

import numpy as np
import pytest
from each_case import all_cases
from hypothesis import given
from hypothesis import strategies as st

from hrp_model.diagnostics import Diagnostics, Source
from hrp_model.readers.vrml.tokens import Lexer, TokenKind

SOUP = "{}[].,#\"'\\ \n\r\tabzAZ_-+019eExXnNiIfF\u3042\ufeff"


def tokens(text, diagnostics):
    lexer = Lexer(Source("m.wrl", text), diagnostics)
    while lexer.kind is not TokenKind.END:
        yield lexer.kind, lexer.text, lexer.start, lexer.end
        lexer.advance()


def texts(text, diagnostics):
    return [t[1] for t in tokens(text, diagnostics)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[1,-.5e-3 ,2.]", "[ 1 -.5e-3 2. ]", id="commas are white space"),
        pytest.param("LARM-JOINT0 Joint", "LARM-JOINT0 Joint", id="a hyphen in a name"),
        pytest.param("Box{x[Shape{}]}", "Box { x [ Shape { } ] }", id="braces without space"),
        pytest.param("info nano inf0", "info nano inf0", id="names begin like infinity"),
        pytest.param('a # b "c\n"d#e"#f\r#g\r\nh #', 'a "d#e" h', id="comments end with lines"),
    ],
)
def test_text_is_parted_into_words(text, expected, diagnostics):
    assert texts(text, diagnostics) == expected.split()


@all_cases("text", ["nan", "-nan", "+NaN", "inf", "-Infinity", "0x1F", "5.", "+1"])
def test_what_strtod_reads_is_a_number(text, diagnostics):
    assert [(kind, t) for kind, t, _, _ in tokens(f"{text} x", diagnostics)] == [
        (TokenKind.NUMBER, text),
        (TokenKind.NAME, "x"),
    ]


def test_strings_may_hold_lines_and_escaped_quotes(diagnostics):
    lexer = Lexer(Source("m.wrl", '"a\nb \\"c\\" C:\\\\d \\e"'), diagnostics)
    assert lexer.string() == 'a\nb "c" C:\\d \\e'


def test_words_after_def_may_be_nearly_anything(diagnostics):
    lexer = Lexer(Source("m.wrl", "DEF 0a.b/c-(d)'\u8098{"), diagnostics)
    lexer.advance_word()
    assert (lexer.kind, lexer.text) == (TokenKind.NAME, "0a.b/c-(d)'\u8098")


def numbers(text, integer=False):
    lexer = Lexer(Source("m.wrl", text), Diagnostics.silent())
    return lexer.take_numbers(integer), lexer


def test_a_list_of_numbers_is_taken_in_one_go():
    taken, lexer = numbers("[ 1, -2.5e1,.5\r\n+4 5.]rest")
    np.testing.assert_array_equal(taken, [1.0, -25.0, 0.5, 4.0, 5.0])
    assert lexer.text == "rest"


def test_decimals_are_read_to_the_last_digit():
    written = [0.1, 1 / 3, 2.2250738585072014e-308, 1.7976931348623157e308, 5e-324]
    assert numbers(f"[{written}]"[1:])[0].tolist() == written


@all_cases(
    "text",
    ["[1 # see [3]", "[nan]", "[0x10]", "[1 2", "[1 . 2]", "[1 e 2]", "[\u0661]", '["1"]'],
)
def test_lists_that_are_not_plain_are_left_to_the_tokens(text):
    taken, lexer = numbers(text)
    assert taken is None
    assert lexer.text == "["


@pytest.mark.parametrize("text", ["[]", "[ ]", "[,\n]"])
def test_an_empty_list_has_no_numbers(text):
    assert numbers(text)[0].shape == numbers(text, integer=True)[0].shape == (0,)


@pytest.mark.parametrize(
    "text",
    [
        *(n.join(("[ 1, 2, # point 0", "# 肘", "3 4 # 1", "]rest")) for n in ("\n", "\r\n", "\r")),
        "[1 2 # see [3]\n 3 4] rest # ]",
    ],
)
def test_comments_in_a_list_are_passed_over(text):
    taken, lexer = numbers(text, integer=True)
    assert taken.tolist() == [1, 2, 3, 4]
    assert lexer.text == "rest"


def test_integers_too_large_for_the_format_become_the_largest_there_are():
    assert numbers("[3000000000 -3000000000]", integer=True)[0].tolist() == [2**31 - 1, -(2**31)]


def test_integers_with_a_fraction_are_left_to_the_tokens():
    assert numbers("[1 2.0]", integer=True)[0] is None
    assert numbers("[010 -1]", integer=True)[0].tolist() == [10, -1]


@given(st.text(alphabet=SOUP))
def test_any_text_yields_tokens_that_match_it(text):
    last = 0
    for kind, token, start, end in tokens(text, Diagnostics.silent()):
        assert kind is not TokenKind.END
        assert text[start:end] == token
        assert last <= start < end
        last = end


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_both_ways_to_read_numbers_agree(values):
    text = "[" + " ".join(map(repr, values)) + "]"
    taken, _ = numbers(text)
    assert taken is not None
    one_by_one = [float(t) for t in texts(text, Diagnostics()) if t not in "[]"]
    np.testing.assert_array_equal(taken, one_by_one)
