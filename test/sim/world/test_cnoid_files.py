"""Where the files of Choreonoid's projects are found, and which of them are scenes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from silent_diagnostics import silent

from hrp_model import ModelError
from hrp_model.shapes.measure import bounding_box
from hrp_model.shapes.tessellate import shape_mesh
from hrp_sim.world.load import load_world
from hrp_sim.world.projects import ProjectOptions, merged, parse_variable, parse_variables

BODY = """
format: ChoreonoidBody
format_version: 2.0
name: {}
links: [ {{ name: A, joint_type: free, mass: 1, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1] }} ]
"""
PART = "#VRML V2.0 utf8\nShape { geometry Box { size 2 4 6 } }\n"
OBJ = "v 0 0 0\nv 1000 0 0\nv 0 0 2000\nf 1 2 3\n"


def body(path):
    """A model that is named like its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(BODY.format(path.parent.name))
    return path


def project(folder, *data):
    items = ", ".join(
        f"{{ class: BodyItem, name: b{i}, data: {{ {x} }} }}" for i, x in enumerate(data)
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "p.cnoid"
    path.write_text(f"items: {{ class: RootItem, children: [ {{ class: WorldItem, name: W, "
                    f"children: [ {items} ] }} ] }}\n")  # fmt: skip
    return path


def bodies(path, found=None, **options):
    world = load_world(path, found or silent(), project=ProjectOptions(**options))
    return [entry.placement.body for entry in world.bodies]


def names(path, **options):
    return [x.name for x in bodies(path, **options)]


@pytest.fixture
def shares(tmp_path):
    """Two folders with models, of which both have one of the same path."""
    for share, models in (("one", ("a", "both")), ("two", ("b", "both"))):
        for model in models:
            body(tmp_path / share / "model" / model / "m.body")
    (tmp_path / "two" / "model" / "both" / "m.body").write_text(BODY.format("second"))
    return str(tmp_path / "one"), str(tmp_path / "two")


def shared(*models):
    return [f'file: "${{SHARE}}/model/{name}/m.body"' for name in models]


def test_a_variable_may_have_several_folders(tmp_path, shares):
    path = project(tmp_path / "project", *shared("a", "b", "both"))
    assert names(path, variables={"SHARE": shares}) == ["a", "b", "both"]
    assert names(path, variables={"SHARE": shares[::-1]}) == ["a", "b", "second"]
    with pytest.raises(ModelError, match=r"one/model/b"):
        names(path, variables={"SHARE": shares[0]})


def test_what_the_folders_of_a_variable_lack_is_searched_above_the_project(tmp_path, shares):
    body(tmp_path / "plugin" / "model" / "own" / "m.body")
    path = project(tmp_path / "plugin" / "project", *shared("a", "own"))
    assert names(path, variables={"SHARE": shares}) == ["a", "own"]


def test_an_environment_variable_may_have_several_folders(tmp_path, shares, monkeypatch):
    monkeypatch.setenv("SHARE", ":".join(shares))
    path = project(tmp_path / "project", *shared("a", "b", "both"))
    assert names(path) == ["a", "b", "both"]
    monkeypatch.setenv("SHARE", f"{tmp_path}/nowhere")
    with pytest.raises(ModelError, match="taken from the environment"):
        names(path)


def test_folders_of_variables_are_separated_by_colons(tmp_path):
    folders = [str(tmp_path / name) for name in "abc"]
    for folder in folders[:2]:
        (tmp_path / folder).mkdir()
    one, two, missing = folders
    assert parse_variable(f"SHARE={one}:{two}") == ("SHARE", (one, two))
    assert parse_variables(f"SHARE={one}:{two}:LAB={two}") == {"SHARE": (one, two), "LAB": (two,)}
    assert parse_variables("") == {}
    assert merged([("S", (one,)), ("S", (two,))]) == {"S": (one, two)}
    for text in (f"SHARE={one}:{missing}", "SHARE=", "SHARE", f"SHARE={one}:"):
        with pytest.raises(ValueError, match=r"there is no folder|must be NAME=FOLDER"):
            parse_variable(text)


def test_folders_that_a_project_installs_into_share_are_found(tmp_path):
    """As those of plugins, whose CMake installs "model"."""
    body(tmp_path / "plugin" / "model" / "own" / "m.body")
    body(tmp_path / "share" / "model" / "both" / "m.body")
    body(tmp_path / "plugin" / "model" / "both" / "m.body").write_text(BODY.format("own"))
    path = project(tmp_path / "plugin" / "project", *shared("own", "both"))
    assert names(path) == ["own", "both"]


@pytest.mark.parametrize(
    ("built", "source"),
    [
        ("WRS2018/model/x/m.body", "sample/WRS2018/model/x/m.body"),
        ("agx/m.body", "sample/AGXDynamics/m.body"),
        ("CameraEffect/m.body", "sample/CameraEffect/m.body"),
        ("motion/GR001/m.body", "sample/PoseSeq/motion/GR001/m.body"),
        ("motion/SR1/m.body", "sample/SimpleController/m.body"),
        ("motion/SR1/m.body", "sample/PoseSeq/motion/SR1/m.body"),
    ],
)
def test_folders_that_a_build_adds_to_share_are_found_in_the_source(built, source, tmp_path):
    expected = body(tmp_path / source)
    (tmp_path / "share").mkdir()
    path = project(tmp_path / "sample" / "general", f'file: "${{SHARE}}/{built}"')
    assert names(path) == [expected.parent.name]
    body(tmp_path / "share" / built).write_text(BODY.format("built"))
    assert names(path) == ["built"]


SCENES = {
    "a stated format": ("a.wrl", "format: GENERAL-3D-MODEL"),
    "an older format": ("a.wrl", "format: AVAILABLE-SCENE-FILE"),
    "a suffix of shapes": ("a.scen", ""),
}


@pytest.mark.parametrize("name", SCENES)
def test_a_body_item_with_a_scene_is_a_free_body_of_its_shapes(name, tmp_path):
    file, data = SCENES[name]
    (tmp_path / "a.wrl").write_text(PART)
    (tmp_path / "a.scen").write_text(
        "format: ChoreonoidScene\nformat_version: 1.0\n"
        "scene: [ { type: Shape, geometry: { type: Box, size: [2, 4, 6] } } ]\n"
    )
    (made,) = bodies(project(tmp_path, f"file: {file}, {data}"))
    (link,) = made.links
    assert not made.is_root_fixed
    assert link.mass == 1.0
    np.testing.assert_array_equal(link.inertia, np.eye(3))
    for shapes in (link.visual, link.collision):
        box = bounding_box(shape_mesh(shapes[0]))
        assert_allclose(box.high - box.low, (2, 4, 6))


def test_a_robot_with_the_format_of_a_scene_is_its_shapes(tmp_path):
    robot = (
        '#VRML V2.0 utf8\nHumanoid { humanoidBody [ Joint { jointType "free" children [ Segment '
    )
    (tmp_path / "a.wrl").write_text(
        f"{robot}{{ mass 5 children [ {PART.split(chr(10))[1]} ] }} ] }} ] }}"
    )
    (made,) = bodies(project(tmp_path, "file: a.wrl, format: GENERAL-3D-MODEL"))
    assert made.root.mass == 1.0
    (made,) = bodies(project(tmp_path, "file: a.wrl, format: CHOREONOID-BODY"))
    assert made.root.mass == 5.0


@pytest.mark.parametrize(
    "hints",
    [
        "length_unit_hint: millimeter, upper_axis_hint: Y",
        "meshLengthUnitHint: millimeter, meshUpperAxisHint: Y",
    ],
)
def test_a_mesh_has_the_unit_and_upper_axis_of_its_item(hints, tmp_path):
    (tmp_path / "a.obj").write_text(OBJ)
    (made,) = bodies(project(tmp_path, f"file: a.obj, {hints}"))
    box = bounding_box(shape_mesh(made.root.visual[0]))
    # Choreonoid's map from Y up to Z up exchanges the axes cyclically.
    assert_allclose(box.low, 0.0, atol=1e-12)
    assert_allclose(box.high, (2, 1, 0), atol=1e-12)


@pytest.mark.parametrize(
    ("file", "code"), [("nowhere.obj", "missing-model"), ("empty.obj", "unusable-scene")]
)
def test_a_scene_that_cannot_be_read_is_an_error_at_its_item(file, code, tmp_path):
    (tmp_path / "empty.obj").write_text("")
    path = project(tmp_path, f"file: {file}")
    with pytest.raises(ModelError) as error:
        bodies(path)
    (problem,) = error.value.diagnostics
    assert problem.code == code
    assert problem.at.source.text[problem.at.start :].startswith(file)
