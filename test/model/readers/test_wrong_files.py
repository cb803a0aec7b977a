"""Files that are no models, given by mistake: one message that says what they are."""

import pytest

from hrp_model import ModelError, load_body
from hrp_model.diagnostics import Diagnostics


def refusal(path):
    found = Diagnostics.silent()
    with pytest.raises(ModelError):
        load_body(path, found)
    [only] = found.found
    return only


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("arm.cnoid", "name one of the models that it lists"),
        ("arm.world", "a world of Gazebo: run it with hrp-sim"),
        ("arm.dae", "links of a model can refer to it"),
        (
            "arm.doc",
            "models are read from .body, .dae, .mjcf, .sdf, .urdf, .wrl, .xacro, .xml, .yaml, "
            ".yml files",
        ),
    ],
)
def test_files_of_other_kinds_are_called_by_their_kind(name, words, tmp_path):
    (tmp_path / name).touch()
    found = refusal(tmp_path / name)
    assert words in found.message
    assert found.code == "unknown-suffix"


@pytest.mark.parametrize("name", ["robot", "robot.body"])
def test_a_folder_is_no_model(name, tmp_path):
    (tmp_path / name).mkdir()
    assert refusal(tmp_path / name).message.endswith("is a folder; name a model file in it")


@pytest.mark.parametrize("name", ["robot", "robot.wlr", "robot.wrl", "robot.dae"])
def test_a_missing_file_is_missing_whatever_its_suffix(name, tmp_path):
    found = refusal(tmp_path / name)
    assert found.code == "unreadable-file"
    assert found.message == f"cannot read '{tmp_path / name}': No such file or directory"


def test_a_world_is_called_a_world(tmp_path):
    world = tmp_path / "world.yaml"
    world.write_text("bodies: [{ model: arm.body }]\n", encoding="utf-8")
    assert refusal(world).message.startswith("this is a world, not a model: give it to hrp-sim")


@pytest.mark.parametrize("suffix", ["wrl", "body", "yaml"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<!DOCTYPE html>\n<html><body>404</body></html>\n", "this is a web page"),
        ('<?xml version="1.0"?>\n<robot name="a"/>\n', "this is URDF"),
        ("\n <X3D></X3D>\n", "this is XML"),
    ],
)
def test_markup_is_one_message_whatever_the_suffix(suffix, text, words, tmp_path):
    path = tmp_path / f"a.{suffix}"
    path.write_text(text, encoding="utf-8")
    found = refusal(path)
    assert words in found.message
    assert found.code == "not-a-model"


def test_a_merge_key_at_the_top_is_no_markup(tmp_path):
    path = tmp_path / "a.body"
    path.write_text("<<: { format: ChoreonoidBody }\nlinks: [ { name: A } ]\n", encoding="utf-8")
    found = Diagnostics.silent()
    assert [link.name for link in load_body(path, found).links] == ["A"]
