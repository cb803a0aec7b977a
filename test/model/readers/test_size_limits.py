"""Sizes that no model has are refused before they take memory or time."""

import os
import random
from pathlib import Path

import pytest
from bounded_reading import outcome, read_or_refused
from hostile import BODY, WRL, shown, write
from silent_diagnostics import silent

from hrp_model import ModelError, load_body
from hrp_model.cli.dump import PostureError, read_postures
from hrp_model.diagnostics import MAX_PER_CODE, Source
from hrp_model.files.resources import read_file
from hrp_model.readers.mesh import wavefront_text
from hrp_model.readers.vrml import tokens
from hrp_model.readers.yaml import tree

HUGE = 2**30  # [B], of sparse files: they take no room


@pytest.mark.parametrize("suffix", ["body", "wrl", "urdf", "yaml"])
def test_a_huge_model_is_refused_unread(suffix, tmp_path):
    path = write(tmp_path, **{f"huge_{suffix}": "x"})
    os.truncate(path, HUGE)
    assert outcome(path, memory_mib=50, cpu_seconds=2).codes == ["unreadable-file"]


@pytest.mark.parametrize("suffix", ["stl", "dae", "obj", "ply", "gltf", "glb", "wrl"])
def test_a_huge_mesh_is_left_out_unread(suffix, tmp_path):
    path = write(tmp_path, a_body=shown(f"huge.{suffix}"))
    mesh = write(tmp_path, **{f"huge_{suffix}": "x"})
    os.truncate(mesh, HUGE)
    found = outcome(path, memory_mib=150, cpu_seconds=3)
    assert "unreadable-resource" in found.codes


def test_a_limit_is_a_size_that_is_still_read(tmp_path):
    path = write(tmp_path, a_txt="x" * 10)
    assert len(read_file(path, 10)) == 10
    with pytest.raises(OSError, match="Larger than"):
        read_file(path, 9)


def test_files_that_do_not_tell_their_size_are_read():
    assert read_file(Path("/proc/self/status"))


@pytest.mark.parametrize("name", ["/dev/zero", "huge.json"])
def test_postures_are_not_read_from_what_has_no_end(name, tmp_path):
    huge = write(tmp_path, huge_json="[")
    os.truncate(huge, HUGE)
    with pytest.raises(PostureError, match="cannot read"):
        read_postures(tmp_path / name)


@pytest.mark.parametrize("count", [9_000, 30_000])
def test_a_tag_of_many_attributes_takes_little_time(count, tmp_path):
    attributes = " ".join(f'a{i}="1"' for i in range(count))
    path = write(tmp_path, a_urdf=f'<robot name="r" {attributes}><link name="l"/></robot>')
    found = read_or_refused(path, cpu_seconds=6)
    assert found.codes.count("unknown-attribute") == (count if count < 10_000 else 0)
    assert ("too-large" in found.codes) == (count > 10_000)


def test_equal_keys_far_apart_take_little_time(tmp_path):
    keys = "".join(f"a{i}: 1\n" for i in range(50_000))
    found = read_or_refused(write(tmp_path, a_body=BODY + keys + keys), cpu_seconds=6)
    assert found.codes.count("duplicate-key") == MAX_PER_CODE


def test_only_so_many_problems_of_a_kind_are_reported():
    diagnostics = silent()
    for _ in range(MAX_PER_CODE + 5):
        diagnostics.warn("one", "odd")
    diagnostics.error("one", "wrong")
    assert len(diagnostics.found) == MAX_PER_CODE + 1
    assert "further ones" in diagnostics.found[-2].message
    assert diagnostics.has_errors


@pytest.mark.parametrize("line_length", [3, 70, 20_000])
def test_places_are_right_in_whatever_order_they_are_asked_for(line_length):
    rng = random.Random(1)
    text = "".join(rng.choices("x\n", [line_length, 1], k=30_000))
    source = Source("m", text)
    offsets = [0, len(text), 4095, 4096, 4097, *rng.choices(range(len(text) + 1), k=300)]
    for offset in offsets:
        before = text[:offset]
        line, column = 1 + before.count("\n"), offset - before.rfind("\n")
        assert source.line_column(offset) == (line, column)


def test_a_text_of_too_many_words_is_given_up(tmp_path, monkeypatch, diagnostics):
    monkeypatch.setattr(tokens, "_MAX_TOKENS", 1000)
    path = write(tmp_path, a_wrl=WRL + "Group { }\n" * 1000)
    with pytest.raises(ModelError, match="more than 1000 tokens"):
        load_body(path, diagnostics)
    diagnostics.found.clear()


@pytest.mark.parametrize("text", ["- {}\n" * 1000, "a: 1\n" * 1000, "- a\n" * 1000])
def test_values_of_yaml_are_counted(text, monkeypatch):
    monkeypatch.setattr(tree, "_MAX_EVENTS", 500)
    diagnostics = silent()
    assert tree.parse(Source("m", text), diagnostics) is None
    assert diagnostics.found[-1].code == "too-large"


def test_a_mapping_of_very_many_keys_comes_in_parts():
    text = "".join(f"a{i}: {i}\n" for i in range(25_000))
    root = tree.parse(Source("m", text), silent())
    assert [node.text for _, node in root.entries().values()] == [str(i) for i in range(25_000)]


def test_many_comments_take_little_memory(tmp_path):
    path = write(tmp_path, a_wrl=WRL + "# a\n" * 1_000_000 + "Group { }")
    assert outcome(path, memory_mib=60).kind in ("body", "refused")


def test_corners_of_an_obj_file_are_counted(monkeypatch):
    monkeypatch.setattr(wavefront_text, "_MAX_CORNERS", 5)
    with pytest.raises(ValueError, match="more than 5 corners"):
        wavefront_text.parse_obj(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2 3\n")
