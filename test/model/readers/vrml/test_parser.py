"""Syntax tree: what was written, where, and what was wrong with it."""

import numpy as np
import pytest

from hrp_model.diagnostics import Diagnostics, Source
from hrp_model.readers.vrml.fields import known_types
from hrp_model.readers.vrml.nodes import Is, Use
from hrp_model.readers.vrml.parser import MAX_DEPTH, parse


def document(text, diagnostics):
    return parse(Source("m.wrl", text), diagnostics, known_types())


def node(text, diagnostics):
    (only,) = document(text, diagnostics).nodes
    return only


def test_every_known_node_parses_with_its_defaults(diagnostics):
    for name, declared in known_types().items():
        if name == "Script":
            continue
        made = node(f"{name} {{ }}", diagnostics)
        assert made.type is declared
        assert made.values == {}
        assert set(map(type, map(made.get, declared.fields))) <= {
            *(bool, int, float, str, tuple, np.ndarray, type(None))
        }


def test_a_tree_keeps_words_and_places(diagnostics):
    made = node("\n DEF A-1.x Transform {\n  translation 1 2 3 children Group{} }", diagnostics)
    assert (made.type_name, made.name) == ("Transform", "A-1.x")
    assert made.values["translation"] == (1.0, 2.0, 3.0)
    assert str(made.span) == "m.wrl:2:12"
    assert str(made.at("translation")) == "m.wrl:3:3"
    assert str(made.at("center")) == "m.wrl:2:12"
    (child,) = made.values["children"]
    assert child.type_name == "Group"


def test_absent_and_written_are_told_apart(diagnostics):
    made = node("Box { }", diagnostics)
    assert "size" not in made.values
    assert made.get("size") == (2.0, 2.0, 2.0)
    assert made.get("sise") is None


@pytest.mark.parametrize(
    ("text", "shape"),
    [("[ ]", (0, 3)), ("[0 0 0, 1 1 1]", (2, 3)), ("1 2 3", (1, 3)), ("[1 2 3 # x\n]", (1, 3))],
)
def test_lists_of_vectors_become_arrays(text, shape, diagnostics):
    value = node(f"Coordinate {{ point {text} }}", diagnostics).values["point"]
    assert value.shape == shape
    assert not value.flags.writeable


def test_mf_values_need_no_brackets(diagnostics):
    made = node('Inline { url "a.wrl" }', diagnostics)
    assert made.values["url"] == ("a.wrl",)
    joint = node("Joint { llimit -1.5 ulimit [1.5] }", diagnostics)
    assert joint.values["llimit"].tolist() == [-1.5]
    assert joint.values["ulimit"].tolist() == [1.5]


def test_null_is_no_node(diagnostics):
    made = node("Group { children [ NULL Shape { geometry NULL } NULL ] }", diagnostics)
    (shape,) = made.values["children"]
    assert shape.values["geometry"] is None


def test_integers_may_be_written_as_floats_or_hex(diagnostics):
    assert node("Joint { jointId 3.0 }", diagnostics).values["jointId"] == 3
    assert node("Joint { jointId 0x1F }", diagnostics).values["jointId"] == 31
    assert node("Joint { jointId 010 }", diagnostics).values["jointId"] == 10


def test_the_files_own_proto_decides_type_and_default(diagnostics):
    text = 'PROTO Joint [ field SFString jointAxis "Y" field SFFloat gearRatio 7 ] { } '
    made = node(text + 'Joint { jointAxis "X" }', diagnostics)
    assert made.values["jointAxis"] == "X"
    assert made.get("gearRatio") == 7.0
    assert made.get("rotorInertia") == 0.0


def test_use_means_the_latest_node_above(diagnostics):
    text = "DEF A Box {} DEF A Sphere {} USE A DEF A Cone {}"
    _, sphere, use, _ = document(text, diagnostics).nodes
    assert isinstance(use, Use)
    assert use.target is sphere
    assert use.first.type_name == "Box"


def test_equal_nodes_of_one_name_are_not_ambiguous(diagnostics):
    use = document("DEF A Box {} DEF A Box {} USE A", diagnostics).nodes[2]
    assert use.first is None


def test_names_in_a_proto_are_its_own(diagnostics):
    text = "PROTO P [] { DEF A Box {} } USE A"
    (use,) = document(text, diagnostics).nodes
    assert use.target is None


def test_is_is_kept_in_the_body(diagnostics):
    text = "PROTO P [ field SFVec3f s 1 1 1 ] { Box { size IS s } } P { }"
    (body,) = node(text, diagnostics).type.body
    assert isinstance(body.values["size"], Is)


def test_an_unknown_node_keeps_its_fields_as_they_are(diagnostics):
    made = node('Trafo { a 1 2 b "x" c [ "y" TRUE ] children Box {} }', diagnostics)
    children = made.values.pop("children")
    assert made.values == {"a": (1.0, 2.0), "b": "x", "c": ("y", True)}
    assert [child.type_name for child in children] == ["Box"]
    assert "only its pose and children are read" in diagnostics.take("unknown-node").message


def test_a_binary_file_is_refused_in_one_message(diagnostics):
    assert document("\x89\0\x1a' {", diagnostics).nodes == ()
    assert "binary" in diagnostics.take("not-text").message


def test_many_errors_end_the_reading(diagnostics):
    document("} " * 1000, diagnostics)
    assert len(diagnostics.found) == 21
    assert diagnostics.found[-1].code == "too-many-errors"
    diagnostics.found.clear()


@pytest.mark.parametrize(
    "text", ["[" * 5000, "Group { x " * 5000, "Group{x[" * 5000, "X{a " * 5000]
)
def test_bottomless_texts_are_errors_and_no_crash(text):
    found = Diagnostics.silent()
    document(text, found)
    assert found.has_errors


def test_the_deepest_tree_allowed_is_read_in_a_deep_caller(diagnostics):
    def call(levels):
        if levels:
            return call(levels - 1)
        text = "Group { children [" * MAX_DEPTH + "] }" * MAX_DEPTH
        return node(text, diagnostics)

    assert call(200).type_name == "Group"
