"""No text crashes the reader: it gives a body, or an error with a place."""

from hypothesis import given
from hypothesis import strategies as st
from paths import ROOT
from vrml_tools import body_of

from hrp_model.diagnostics import Diagnostics
from hrp_model.readers.vrml.fields import known_types

VALID = ROOT / "test" / "data" / "vrml" / "valid"
KITCHEN_SINK = (VALID / "kitchen_sink.wrl").read_text(encoding="utf-8")
WORDS = [
    *known_types(),
    *sorted({name for proto in known_types().values() for name in proto.fields}),
    *("{", "}", "[", "]", "{", "}", "[", "]", "DEF", "USE", "IS", "NULL", "TRUE", "FALSE"),
    *("PROTO", "EXTERNPROTO", "ROUTE", "TO", ".", "field", "eventIn", "SFVec3f", "MFNode"),
    *("A", "B", "0", "1", "-1", "1e308", "nan", "0x10", "0", "1", "2", "3"),
    *('"X"', '"rotate"', '"', "#", "\n", "'", "\\"),
]


def assert_read_or_refused(text):
    found = Diagnostics.silent()
    body = body_of(text, found)
    assert body is not None or found.has_errors
    for diagnostic in found.found:
        str(diagnostic)


@given(st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_words_are_read_or_refused(text):
    assert_read_or_refused(text)


@given(st.text())
def test_any_text_is_read_or_refused(text):
    assert_read_or_refused(text)


@given(st.integers(0, len(KITCHEN_SINK)))
def test_a_truncated_file_is_read_or_refused(length):
    assert_read_or_refused(KITCHEN_SINK[:length])


@given(st.integers(0, len(KITCHEN_SINK)), st.integers(0, 40), st.sampled_from(WORDS))
def test_a_damaged_file_is_read_or_refused(at, length, word):
    assert_read_or_refused(f"{KITCHEN_SINK[:at]} {word} {KITCHEN_SINK[at + length :]}")
