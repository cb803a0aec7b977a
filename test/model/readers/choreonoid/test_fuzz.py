"""No text crashes the reader: it gives a body, or an error."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from body_tools import HEADER, read_text
from hypothesis import given
from hypothesis import strategies as st
from paths import ROOT

from hrp_model.diagnostics import Diagnostics
from hrp_model.readers.choreonoid import elements, geometries, links, to_body
from hrp_model.readers.choreonoid.devices import GENERIC, READERS
from hrp_model.readers.choreonoid.scope import word_set

SAMPLE = (ROOT / "test/data/choreonoid/valid/kitchen_sink.body").read_text(encoding="utf-8")
TYPES = [*elements._NODES, *READERS, *sorted(GENERIC), *geometries.READERS, "SubBody", "Link"]
KEYS = sorted(
    set(links._READ_KEYS)
    | set(to_body._READ_KEYS) - {"format"}
    | word_set(
        """
        type geometry appearance material shape resource size radius height vertices faces scale
        spine crossSection orientation coordIndex normals texture url uri node metadata id on
        format width field_of_view optical_frame collision_detection_rules disabled_links
        x_dimension z_dimension numJoints jointOffset texCoord yaw_range direction <<
        """
    )
)
WORDS = [*links.JOINT_TYPES, "unlimited", "-Y", "true", "COLOR", "x.stl", "a.yaml", "all", ""]
SCALARS = st.sampled_from(WORDS + TYPES) | st.floats() | st.integers(-3, 5) | st.text(max_size=4)
NUMBERS = st.lists(st.floats(-2, 2, allow_nan=False) | st.integers(-2, 9), max_size=9)
NODES = st.recursive(
    SCALARS | NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS + TYPES), inner, max_size=5)
    ),
    max_leaves=20,
)
LINKS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("ABC")},
        optional={"parent": st.sampled_from("ABC"), "elements": NODES}
        | dict.fromkeys(sorted(links._READ_KEYS - {"name", "parent", "elements"}), NODES),
    ),
    max_size=3,
)


def read(text, header=HEADER):
    diagnostics = Diagnostics.silent()
    body = read_text(text, diagnostics, ROOT / "test", header)
    assert body is not None or diagnostics.has_errors
    for found in diagnostics.found:
        assert str(found)


def dumped(value):
    return yaml.dump(value, Dumper=yaml.CSafeDumper, allow_unicode=True)


@given(LINKS, NODES, NODES)
def test_no_tree_of_known_words_crashes(entries, rules, loops):
    top = {"links": entries, "collision_detection_rules": rules, "extra_joints": loops}
    read(dumped(top))


@given(NODES)
def test_no_scene_of_known_words_crashes(nodes):
    with TemporaryDirectory() as folder:
        scene = dumped({"format_version": 1.0, "scene": nodes})
        (Path(folder) / "x.scen").write_text(scene, encoding="utf-8")
        diagnostics = Diagnostics.silent()
        text = "links: [{name: A, elements: {Resource: {uri: x.scen}}}]"
        assert read_text(text, diagnostics, Path(folder)) is not None


@given(st.text(max_size=40))
def test_no_text_crashes(text):
    read(text)
    read(text, header="")


@pytest.mark.parametrize("seed", range(4))
def test_no_damage_to_a_real_file_crashes(seed):
    rng = random.Random(seed)
    for _ in range(40):
        text = SAMPLE
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text))
            damage = rng.choice(["", "\n", "  ", "[", "}", ": ", "- ", "&a ", "*PAINT", "1e999"])
            text = text[:at] + damage + text[at + rng.randint(0, 3) :]
        read(text, header="")


def test_a_file_may_end_anywhere():
    for end in range(0, len(SAMPLE), 29):
        read(SAMPLE[:end], header="")
