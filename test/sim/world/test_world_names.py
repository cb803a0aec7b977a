"""The names of worlds: those of this package, and the files that hide them."""

import pytest

from hrp_model import Diagnostics, ModelError
from hrp_sim import load_world
from hrp_sim.world.world_names import DEFAULT_WORLD, bundled_worlds, world_path

MODEL = """\
format: ChoreonoidBody
format_version: 2.0
name: mine
links: [ { name: BASE, joint_type: fixed, mass: 1 } ]
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def bodies(world):
    found = load_world(world, Diagnostics.silent()).bodies
    return [entry.placement.name for entry in found]


def error_of(world):
    with pytest.raises(ModelError) as caught:
        load_world(world, Diagnostics.silent())
    [found] = caught.value.diagnostics
    return found.code, found.message


def test_worlds_of_this_package_are_taken_by_name_anywhere():
    assert DEFAULT_WORLD in bundled_worlds()
    for name, path in bundled_worlds().items():
        assert world_path(name) == path
    assert bodies("rover") == ["Room", "rover"]


def test_a_file_of_the_working_directory_goes_first_and_a_folder_does_not(tmp_path):
    (tmp_path / "rover").mkdir()
    assert bodies("rover") == ["Room", "rover"]
    (tmp_path / "rover").rmdir()
    (tmp_path / "model.yaml").write_text(MODEL)
    (tmp_path / "rover").write_text("bodies: [ { model: model.yaml } ]")
    assert bodies("rover") == ["mine"]
    (tmp_path / "rover").unlink()
    (tmp_path / "rover").symlink_to("gone")
    assert error_of("rover") == (
        "unreadable-file",
        "cannot read 'rover': No such file or directory",
    )


@pytest.mark.parametrize("name", ["models", "./models", "models/worlds"])
def test_a_folder_is_no_world(tmp_path, name):
    (tmp_path / "models" / "worlds").mkdir(parents=True)
    message = f"'{name}' is a folder; give a world or model file in it"
    assert error_of(name) == ("unreadable-file", message)


def test_a_wrong_name_is_answered_with_those_there_are():
    code, message = error_of("rovr")
    assert code == "missing-world"
    assert "Did you mean 'rover'?" in message
    assert all(name in message for name in bundled_worlds())
    code, message = error_of("zzz")
    assert "Did you mean" not in message
    assert "humanoid_in_room" in message


def test_a_missing_file_called_as_a_world_of_this_package_names_that():
    assert error_of("rover.yaml") == (
        "unreadable-file",
        "cannot read 'rover.yaml': No such file or directory. Did you mean 'rover'?",
    )
    assert "Did you mean" not in error_of("./sub/none.yaml")[1]


@pytest.mark.parametrize("name", ["", ".", "..", "sub/rover", "/rover"])
def test_paths_are_no_names(name):
    assert str(world_path(name)) in (name, ".")
