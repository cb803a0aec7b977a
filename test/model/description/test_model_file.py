"""Describing a robot from a file, as often as it changes."""

from xml.etree import ElementTree

import pytest
from mechanism_model import link, mechanism
from package_tools import with_mesh

from hrp_model.collision.shapes import CollisionShapes
from hrp_model.description.description import DescriptionOptions, ModelFile, describe, first_line
from hrp_model.description.publisher import model_health
from hrp_model.diagnostics import ModelError
from hrp_model.frames import Base, LinkNaming
from hrp_model.urdf import Hardware, UpAxis

BROKEN = "links: [ { name: A"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "mechanism.body"
    path.write_text(mechanism(), encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path, diagnostics):
    """Return a model file that was described once."""
    return ModelFile(tmp_path / "meshes", diagnostics.add)


def has_changed(file):
    return [file.has_changed() for _ in range(3)][-1]


def test_a_description_is_all_of_one_robot(file, path, diagnostics):
    made = file.describe(str(path), DescriptionOptions(srdf=True))
    assert made.body.name == "mechanism"
    robot = ElementTree.fromstring(made.urdf)
    assert {x.get("name") for x in robot.iter("link")} == set(made.frames.links.values())
    assert ElementTree.fromstring(made.srdf).get("name") == "mechanism"
    assert made.tree.moving.keys() == {link.joint.name for link in made.body.moving_links}
    assert made.limits["joint_limits.CRANK.max_position"].value == 1.5
    assert made.loops.complete({"LEFT": 0.2}).positions["RIGHT"] == pytest.approx(0.2)


def test_a_broken_model_is_watched_until_it_is_mended(file, path, diagnostics):
    file.describe(str(path), DescriptionOptions())
    path.write_text(BROKEN, encoding="utf-8")
    assert has_changed(file)
    with pytest.raises(ModelError):
        file.describe_again(str(path), DescriptionOptions())
    assert diagnostics.take("yaml-syntax").at is not None
    assert not has_changed(file)
    path.write_text(mechanism("mended"), encoding="utf-8")
    assert has_changed(file)
    assert file.describe_again(str(path), DescriptionOptions()).body.name == "mended"
    assert not has_changed(file)


def test_another_model_that_cannot_be_used_is_not_watched(file, path, tmp_path, diagnostics):
    file.describe(str(path), DescriptionOptions())
    other = tmp_path / "other.body"
    other.write_text(BROKEN, encoding="utf-8")
    with pytest.raises(ModelError):
        file.describe(str(other), DescriptionOptions())
    diagnostics.take("yaml-syntax")
    other.write_text(BROKEN + " }", encoding="utf-8")
    assert not has_changed(file)
    path.write_text(mechanism("new"), encoding="utf-8")
    assert has_changed(file)


def test_a_link_to_a_model_that_is_set_anew_is_a_change(file, path, tmp_path):
    other = tmp_path / "other.body"
    other.write_text(mechanism("other"), encoding="utf-8")
    current = tmp_path / "current.body"
    current.symlink_to(path)
    file.describe(str(current), DescriptionOptions())
    current.unlink()
    current.symlink_to(other)
    assert has_changed(file)
    assert file.describe_again(str(current), DescriptionOptions()).body.name == "other"


def test_a_path_is_one_from_here_and_is_told_in_full(
    file, path, tmp_path, monkeypatch, diagnostics
):
    monkeypatch.chdir(tmp_path)
    assert file.describe(path.name, DescriptionOptions()).body.path == path
    with pytest.raises(ModelError):
        file.describe("missing.body", DescriptionOptions())
    assert f"'{tmp_path / 'missing.body'}'" in diagnostics.take("unreadable-file").message


SETTINGS = {
    "link_naming": "joint",
    "base": "none",
    "gazebo": False,
    "ros2_control": "none",
    "controllers": "",
    "collision": "as_modelled",
    "glb_up": "z",
    "description_format": "urdf",
}


def test_settings_say_what_is_wanted():
    assert DescriptionOptions.from_parameters(SETTINGS) == DescriptionOptions()
    wanted = DescriptionOptions.from_parameters(
        {
            "link_naming": "segment",
            "base": "base_footprint",
            "gazebo": True,
            "ros2_control": "gz",
            "controllers": "/etc/controllers.yaml",
            "collision": "box",
            "glb_up": "y",
            "description_format": "urdf+srdf",
        }
    )
    assert wanted.urdf.link_naming is LinkNaming.SEGMENT
    assert wanted.urdf.base is Base.FOOTPRINT
    assert wanted.urdf.ros2_control is Hardware.GZ
    assert wanted.urdf.controllers == "/etc/controllers.yaml"
    assert (wanted.urdf.gazebo, wanted.srdf) == (True, True)
    assert wanted.collision is CollisionShapes.BOX
    assert wanted.glb_up is UpAxis.Y


def test_gazebo_needs_a_file_of_controllers():
    settings = {**SETTINGS, "ros2_control": "gz"}
    assert DescriptionOptions.conflict(SETTINGS) == ""
    assert "needs parameter 'controllers'" in DescriptionOptions.conflict(settings)
    assert DescriptionOptions.conflict({**settings, "controllers": "c.yaml"}) == ""


def test_the_axis_of_meshes_that_is_up_is_the_one_wanted(tmp_path, diagnostics):
    for up in UpAxis:
        describe(with_mesh(), DescriptionOptions(glb_up=up), tmp_path / up.value, diagnostics)
    seen = [{p.name for p in (tmp_path / up.value).glob("*.glb")} for up in UpAxis]
    assert [len(names) for names in seen] == [1, 1]
    assert seen[0] != seen[1]


def test_every_choice_of_a_parameter_is_one_that_there_is():
    pytest.importorskip("rclpy", reason="ROS 2 is not importable")
    from hrp_model.ros.parameters import MODEL_NODE

    params = {p.name: p for p in MODEL_NODE}
    assert {name: params[name].default for name in SETTINGS} == {**SETTINGS, "base": "auto"}
    enums = {
        "link_naming": LinkNaming,
        "base": Base,
        "collision": CollisionShapes,
        "glb_up": UpAxis,
    }
    for name, kind in enums.items():
        assert set(params[name].choices) == {member.value for member in kind}
    assert set(params["ros2_control"].choices) == {"none", *(h.value for h in Hardware)}


def test_a_loop_that_stays_open_is_one_warning(file, path, diagnostics):
    text = mechanism().replace("link1LocalPos: [ 0.3, 0, 0 ]", "link1LocalPos: [ 0.3, 0, 0.1 ]")
    path.write_text(text, encoding="utf-8")
    report = model_health(file.describe(str(path), DescriptionOptions()), 0, "")
    warning = diagnostics.take("loop-gap")
    assert (report.values["warnings"], report.values["warning 1"]) == (1, str(warning))
    assert report.message == f"'mechanism': 1 warning, such as: {warning}"


def test_health_tells_of_warnings_and_of_a_change_that_failed(file, path, diagnostics):
    good = file.describe(str(path), DescriptionOptions())
    report = model_health(good, 0, "")
    assert (report.level, report.values["last change"]) == ("ok", "none")

    report = model_health(good, 1, "x.body:1:2: error: no [code]")
    assert (report.level, report.values["last change"]) == ("error", "x.body:1:2: error: no [code]")
    assert report.message.endswith("x.body:1:2: error: no [code]")

    doubtful = mechanism("doubtful", link("A", "fixed", "0, 0, 0", jointRnage="[ 0, 1 ]"))
    path.write_text(doubtful, encoding="utf-8")
    made = file.describe(str(path), DescriptionOptions())
    warning = diagnostics.take("unknown-key")
    report = model_health(made, 0, "")
    assert report.level == "warn"
    assert report.values["warning 1"] == str(warning)


def test_of_many_problems_the_first_is_told():
    assert first_line("a:1: error: one") == "a:1: error: one"
    assert first_line("a:1: error: one\na:2: error: two\n") == "a:1: error: one (and 1 more)"
