"""VRML files that are compressed by gzip, as VRML97 allows."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from hrp_model import ModelError, load_body
from hrp_model.files import model_file, resources
from hrp_model.files.model_file import unpacked
from hrp_model.readers.file_kind import FileKind, file_kind
from hrp_sim.world.load import load_world

BOX = "#VRML V2.0 utf8\nShape { geometry Box { size 1 2 3 } }\n"
ROBOT = (
    '#VRML V2.0 utf8\nHumanoid { humanoidBody [ DEF BASE Joint { jointType "free" children [ '
    "Segment { mass 2 momentsOfInertia [1 0 0 0 1 0 0 0 1] "
    'children [ Inline { url "part.wrz" } ] } ] } ] }\n'
)


def packed(path, text):
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.mark.parametrize("name", ["arm.wrz", "arm.wrl.gz", "arm.wrl", "arm.WRL.GZ"])
def test_a_compressed_robot_is_unpacked(tmp_path, name, diagnostics):
    packed(tmp_path / "part.wrz", BOX)
    path = packed(tmp_path / name, ROBOT)
    body = load_body(path, diagnostics)
    assert (body.name, body.root.name, body.root.mass) == ("arm", "BASE", 2.0)
    np.testing.assert_array_equal(body.root.visual[0].geometry.size, (1, 2, 3))
    assert file_kind(path) is FileKind.MODEL
    assert file_kind(tmp_path / "part.wrz") is FileKind.OTHER
    assert "arm" in [x.placement.name for x in load_world(path, diagnostics).bodies]
    diagnostics.found.clear()


def test_parts_that_follow_each_other_are_one_text():
    data = gzip.compress(b"#VRML") + gzip.compress(b" V2.0")
    assert unpacked(data, Path("a.wrl"), 100) == b"#VRML V2.0"


@pytest.mark.parametrize("change", [lambda x: x[:-12], lambda x: x[:12] + b"\xff\xff" + x[14:]])
def test_damaged_data_is_an_error(tmp_path, change):
    path = tmp_path / "arm.wrz"
    path.write_bytes(change(gzip.compress(BOX.encode() * 100)))
    with pytest.raises(ModelError) as error:
        load_body(path)
    assert [d.code for d in error.value.diagnostics] == ["unreadable-file"]


def test_the_content_is_bounded(tmp_path):
    path = tmp_path / "bomb.wrl"
    path.write_bytes(gzip.compress(bytes(resources.MAX_FILE_SIZE + 1)))
    assert path.stat().st_size < 200_000
    with pytest.raises(ModelError, match="128 MiB"):
        load_body(path)


def test_a_suffix_selects_the_reader():
    names = ["a.wrz", "a.wrl.gz", "a.stl", "a.tar.gz", "a"]
    suffixes = [model_file.format_suffix(Path(x)) for x in names]
    assert suffixes == [".wrl", ".wrl", ".stl", ".gz", ""]
