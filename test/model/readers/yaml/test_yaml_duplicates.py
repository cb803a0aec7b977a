"""Equal keys and equal anchors in YAML: what is lost is a warning, what is kept a note."""

import pytest

from hrp_model.diagnostics import Source
from hrp_model.readers.yaml.tree import parse


def tree(text, diagnostics):
    return parse(Source("m.yaml", text), diagnostics)


def test_equal_keys_at_the_top_that_only_hold_anchors_are_a_note(diagnostics):
    root = tree("a: &x {n: 1}\na: &y {<<: *x, m: 2}\nb: *x\nc: *y\n", diagnostics)
    assert root.mapping("b").number("n", default=0.0) == 1.0
    assert root.mapping("c").number("m", default=0.0) == 2.0
    found = diagnostics.take("duplicate-key")
    assert found.severity.value == "note"
    assert found.message.endswith("; aliases of both still work")


@pytest.mark.parametrize("text", ["a: &x 1\na: 2\n", "a: 1\na: &x 2\n", "a: {b: &x 1, b: &y 2}\n"])
def test_equal_keys_of_which_one_is_lost_are_a_warning(text, diagnostics):
    tree(text, diagnostics)
    assert diagnostics.take("duplicate-key").severity.value == "warning"


def test_the_last_of_equal_anchors_wins_with_a_warning(diagnostics):
    root = tree("t: {a: &x 1, b: &x 2}\nc: *x\n", diagnostics)
    assert root.number("c", default=0.0) == 2.0
    found = diagnostics.take("duplicate-anchor")
    assert (str(found.at), found.severity.value) == ("m.yaml:1:17", "warning")


def test_an_anchor_that_the_top_of_a_file_uses_again_is_a_note(diagnostics):
    root = tree("a: &x 1\nb: &x 2\nc: *x\n", diagnostics)
    assert root.number("c", default=0.0) == 2.0
    found = diagnostics.take("duplicate-anchor")
    assert (str(found.at), found.severity.value) == ("m.yaml:2:4", "note")
