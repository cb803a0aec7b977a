"""Long lists of numbers: the extension, numpy and float() say the same."""

import re

import numpy as np
import numpy_numbers
import pytest
from each_case import all_cases
from hypothesis import example, given
from hypothesis import strategies as st

from hrp_model.diagnostics import Diagnostics, Source
from hrp_model.readers import number_list as module
from hrp_model.readers.number_list import number_list
from hrp_model.readers.vrml.fields import known_types
from hrp_model.readers.vrml.parser import parse


def numbers(text, integer=False):
    found = number_list(text, 0, integer)
    return None if found is None else found[0].tolist()


@pytest.mark.parametrize("before", ["", "é", "肘", "😀"])
def test_a_list_may_begin_anywhere_in_text_of_any_width(before):
    found, end = number_list(f"{before} [ 1,2.5 # {before}]\n-3e-2 ] 4", len(before) + 2, False)
    assert found.tolist() == [1.0, 2.5, -0.03]
    assert end == len(before) * 2 + len(" [ 1,2.5 # ]\n-3e-2 ")
    assert not found.flags.writeable


@all_cases("text", ["1 x]", "1 é]", "1 肘 2]", "1", "1 # ]", "", "nan]", "0x1]", "1e]", "+]"])
def test_what_needs_a_closer_look_is_left_alone(text):
    assert numbers(text) is None
    assert numbers(text, integer=True) is None


def test_integers_are_whole_and_fit():
    assert numbers("1 -1,0 99999999999 -99999999999]", True) == [1, -1, 0, 2**31 - 1, -(2**31)]
    assert numbers("1.0]", True) is None
    assert numbers("1e3]", True) is None


def test_a_start_outside_of_the_text_is_refused():
    with pytest.raises(IndexError):
        number_list("1]", 3, False)


# Fewer and more digits than a double has, near its limits and on the border of two values.
DECIMALS = st.from_regex(
    re.compile(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", re.ASCII),
    fullmatch=True,
)


@given(st.lists(DECIMALS | st.floats(allow_nan=False, allow_infinity=False).map(repr), max_size=5))
@example(["9007199254740993", "9007199254740993e22", "1e23", "8.5e22", "4.35", "0.3e-22"])
@example(["2.2250738585072011e-308", "1.7976931348623159e308", "5e-325", "-0", "-0.0", "1e999"])
def test_every_number_is_what_float_makes_of_it(texts):
    found, _ = number_list(" ".join([*texts, "]"]), 0, False)
    expected = np.array([float(text) for text in texts])
    np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))


@given(st.text(alphabet="0123456789+-.eE, \n#]é肘", max_size=30), st.booleans())
@example("1.e5 1.]", False)
@example("-]", True)
def test_what_numpy_takes_the_extension_takes_too(text, integer):
    expected = numpy_numbers.number_list(text, 0, integer)
    if expected is not None:
        found = number_list(text, 0, integer)
        assert found[1] == expected[1]
        assert found[0].dtype == (np.int32 if integer else np.float64)
        assert found[0].tobytes() == expected[0]


SOUP = "0123456789+-.eE, \n#]é肘"


@given(st.text(alphabet=SOUP, max_size=30), st.sampled_from(["point", "coordIndex"]))
@example("1-2+.5.5", "point")
def test_a_file_reads_the_same_whoever_takes_its_lists(text, field):
    node = {"point": "Coordinate", "coordIndex": "IndexedFaceSet"}[field]
    source = Source("m.wrl", f"#VRML V2.0 utf8\n{node} {{ {field} [{text}] }}")
    read = []
    for numbers in (module._numbers, numpy_numbers):
        diagnostics = Diagnostics.silent()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_numbers", numbers)
            (node,) = parse(source, diagnostics, known_types()).nodes or (None,)
        value = node.get(field) if node else None
        read.append((np.asarray(value).tolist(), [str(found) for found in diagnostics.found]))
    assert read[0] == read[1]
