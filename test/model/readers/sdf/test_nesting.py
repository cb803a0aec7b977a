"""Models in models of SDF: nested, merged and included ones."""

import numpy as np
import pytest
from silent_diagnostics import silent

from hrp_model import ModelError, load_body, load_body_text
from hrp_model.read_context import _MAX_COUNTS
from hrp_model.rigid import Pose, rpy_matrix

EXACT = {"rtol": 0.0, "atol": 1e-12}
BOX = '<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>'
ARM = (
    '<link name="base"><pose>0 0 0.1 0 0 0</pose></link>'
    '<link name="tip"><pose relative_to="j">0 0 0.3 0 0 0</pose></link>'
    '<frame name="f" attached_to="tip"><pose>0.01 0 0 0 0 0</pose></frame>'
    '<joint name="j" type="revolute"><pose relative_to="__model__">0 0 0.2 0 0 0</pose>'
    '<parent>base</parent><child>tip</child><axis><xyz expressed_in="__model__">1 0 0</xyz></axis>'
    "</joint>"
)
WELD = '<joint name="weld" type="fixed"><parent>a</parent><child>{}</child></joint>'
X = Pose(rpy_matrix(0.0, 0.0, 0.5), np.array([1.0, 2.0, 3.0]))
POSE = "<pose>1 2 3 0 0 0.5</pose>"


def read(inside, version="1.9", folder=None):
    text = f'<sdf version="{version}"><model name="m">{inside}</model></sdf>'
    return load_body_text(text, silent(), kind="sdf", name="m.sdf", folder=folder)


def refused(inside, folder=None):
    with pytest.raises(ModelError) as caught:
        read(inside, folder=folder)
    return [(d.code, d.message) for d in caught.value.diagnostics]


def poses(body):
    """Return the pose of each link in the first one."""
    found = {body.root.name: Pose()}
    for link in body.links[1:]:
        found[link.name] = found[link.parent] @ link.X_PL
    return found


def same(pose, expected):
    np.testing.assert_allclose(pose.p, expected.p, **EXACT)
    np.testing.assert_allclose(pose.R, expected.R, **EXACT)


@pytest.fixture
def models(tmp_path):
    """Return a function that writes a folder of a model."""

    def write(name, inside, file="model.sdf", version="1.9", **attributes):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        words = "".join(f' {key}="{value}"' for key, value in attributes.items())
        text = f'<sdf version="{version}"><model name="{name}"{words}>{inside}</model></sdf>'
        (folder / file).write_text(text, encoding="utf-8")
        return tmp_path

    return write


def check_arm(body, prefix):
    assert [x.name for x in body.links] == ["a", f"{prefix}base", f"{prefix}tip"]
    found = poses(body)
    same(found[f"{prefix}base"], X @ Pose(p=np.array([0.0, 0.0, 0.1])))
    # The frame of a link is at its joint.
    same(found[f"{prefix}tip"], X @ Pose(p=np.array([0.0, 0.0, 0.2])))
    joint = body.link(f"{prefix}tip").joint
    assert (joint.name, joint.axis.tolist()) == (f"{prefix}j", pytest.approx([1.0, 0.0, 0.0]))


def test_a_nested_model_is_a_part_with_names_in_its_scope():
    body = read(f'<link name="a"/><model name="n">{POSE}{ARM}</model>{WELD.format("n::base")}')
    check_arm(body, "n::")


def test_frames_of_nested_models_are_known_outside():
    links = '<link name="c"><pose relative_to="n::f"/></link>'
    links += '<link name="d"><pose relative_to="n">0 0 1 0 0 0</pose></link>'
    for child in "cd":
        links += WELD.format(child).replace('"weld"', f'"to_{child}"')
    nested = f'<model name="n">{POSE}{ARM}</model>'
    found = poses(read(f'<link name="a"/>{nested}{WELD.format("n::base")}{links}'))
    same(found["c"], X @ Pose(p=np.array([0.01, 0.0, 0.5])))
    same(found["d"], X @ Pose(p=np.array([0.0, 0.0, 1.0])))


def test_models_are_nested_at_any_depth():
    inner = f'<model name="n"><pose>1 0 0 0 0 0</pose>{ARM}</model>'
    outer = f'<model name="o"><pose>0 1 0 0 0 0</pose>{inner}</model>'
    body = read(f'<link name="a"/>{outer}{WELD.format("o::n::base")}')
    assert poses(body)["o::n::base"].p.tolist() == [1.0, 1.0, 0.1]


def test_an_included_model_has_the_name_and_pose_of_its_inclusion(models):
    folder = models("arm", f"<pose>9 9 9 0 0 0</pose>{ARM}")
    include = f"<include><uri>arm</uri><name>n</name>{POSE}</include>"
    body = read(f'<link name="a"/>{include}{WELD.format("n::base")}', folder=folder)
    check_arm(body, "n::")
    own = '<link name="a"/><include><uri>arm/model.sdf</uri></include>'
    body = read(own + WELD.format("arm::base"), folder=folder)
    assert poses(body)["arm::base"].p.tolist() == [9.0, 9.0, 9.1]


def test_a_merged_model_has_no_scope(models):
    folder = models("arm", ARM)
    include = f'<include merge="true"><uri>arm</uri>{POSE}</include>'
    check_arm(read(f'<link name="a"/>{include}{WELD.format("base")}', folder=folder), "")


def test_a_model_may_be_placed_by_a_frame_of_it(models):
    folder = models("arm", ARM)
    placed = "<placement_frame>f</placement_frame><pose>0 0 0 0 0 0</pose>"
    include = f"<include><uri>arm</uri>{placed}</include>"
    body = read(f'<link name="a"/>{include}{WELD.format("arm::base")}', folder=folder)
    np.testing.assert_allclose(poses(body)["arm::base"].p, [-0.01, 0.0, -0.4], **EXACT)


def test_axes_of_older_nested_models_are_in_their_own_frame(models):
    joint = '<link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child>'
    old = f'<link name="a"/>{joint}<axis><xyz>1 0 0</xyz></axis></joint>'
    folder = models("old", old, version="1.4")
    include = "<include><uri>old</uri><pose>0 0 0 0 0 1.5707963267948966</pose></include>"
    weld = WELD.replace("<parent>a", "<parent>a").format("old::a")
    body = read(f'<link name="a"/>{include}{weld}', folder=folder)
    np.testing.assert_allclose(body.link("old::b").joint.axis, [1.0, 0.0, 0.0], **EXACT)


def test_a_folder_states_the_file_of_each_version(models):
    folder = models("box", f'<link name="new">{BOX}</link>', "b.sdf")
    models("box", '<link name="old"/>', "a.sdf", version="1.4")
    config = '<model><sdf version="1.9">b.sdf</sdf><sdf version="1.4">a.sdf</sdf></model>'
    (folder / "box" / "model.config").write_text(config, encoding="utf-8")
    include = f"<include><uri>box</uri></include>{WELD.format('box::new')}"
    assert read(f'<link name="a"/>{include}', folder=folder).links[1].name == "box::new"


@pytest.mark.parametrize("above", ["models", "environment_models", "."])
def test_models_are_found_in_folders_above_the_file(tmp_path, above):
    folder = tmp_path / "package" / above / "box"
    folder.mkdir(parents=True)
    text = '<sdf version="1.9"><model name="box"><link name="b"/></model></sdf>'
    (folder / "model.sdf").write_text(text, encoding="utf-8")
    path = tmp_path / "package" / "worlds" / "m.sdf"
    path.parent.mkdir()
    inside = f'<link name="a"/><include><uri>model://box</uri></include>{WELD.format("box::b")}'
    path.write_text(f'<sdf version="1.9"><model name="m">{inside}</model></sdf>', encoding="utf-8")
    assert len(load_body(path, silent()).links) == 2


def test_models_are_found_in_the_folders_of_gazebo(models, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(models("box", '<link name="b"/>')))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    include = f"<include><uri>model://box</uri></include>{WELD.format('box::b')}"
    assert len(read(f'<link name="a"/>{include}', folder=elsewhere).links) == 2


@pytest.mark.parametrize(
    ("uri", "code", "words"),
    [
        ("model://nowhere", "missing-resource", "no model 'nowhere' in GZ_SIM_RESOURCE_PATH"),
        ("nowhere", "missing-resource", "no such file"),
        ("https://fuel.gazebosim.org/1.0/x/models/y", "missing-model", "nothing is downloaded"),
        ("", "missing-element", "needs the <uri>"),
        ("two", "not-a-model", "not an SDF file with one model"),
        ("broken", "xml-syntax", "invalid XML"),
        ("future", "unknown-version", "version is no number"),
        ("circle", "resource-cycle", "model.sdf -> model.sdf"),
        ("../m.sdf/..", "missing-resource", "no such file"),
        ("urdf/r.urdf", "not-a-model", "not an SDF file with one model"),
    ],
)
def test_what_cannot_be_included_is_located(models, uri, code, words):
    folder = models("two", '<link name="a"/></model><model name="b"><link name="b"/>')
    models("broken", "<link")
    models("future", '<link name="a"/>', version="one")
    models("circle", '<link name="a"/><include><uri>../circle</uri></include>')
    (folder / "urdf").mkdir()
    (folder / "urdf" / "r.urdf").write_text('<robot name="r"/>', encoding="utf-8")
    found = refused(f'<link name="a"/><include><uri>{uri}</uri></include>', folder)
    assert code in [x for x, _ in found]
    assert any(words in message for _, message in found)


def test_inclusions_that_double_each_time_are_too_large(models, monkeypatch):
    """Of 2^30 links only those up to the limit are made."""
    monkeypatch.setitem(_MAX_COUNTS, "nodes", 5000)
    for i in range(30):
        inside = '<link name="a"/>'
        if i < 29:
            include = f"<include><uri>../m{i + 1}</uri><name>{{}}</name></include>"
            inside += include.format("x") + include.format("y")
        folder = models(f"m{i}", inside)
    found = refused('<link name="a"/><include><uri>m0</uri></include>', folder)
    assert [code for code, _ in found] == ["too-large"]


def test_sensors_of_equal_models_have_different_names(models):
    sensor = '<link name="b"><sensor name="s" type="imu"/></link>'
    folder = models("box", sensor)
    inside = '<link name="a"/>'
    for name in "xy":
        inside += f"<include><uri>box</uri><name>{name}</name></include>"
        inside += WELD.format(f"{name}::b").replace('"weld"', f'"to_{name}"')
    body = read(inside, folder=folder)
    assert [device.name for device in body.devices] == ["x::s", "y::s"]
