"""Xacro files with arguments, wherever a model is named."""

import pytest
from silent_diagnostics import silent

from hrp_model import load_body, load_body_text
from hrp_model.cli.main import main
from hrp_sim import load_world

pytest.importorskip("xacro", reason="xacro is not installed")

ROBOT = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="mass" default="1"/>
<link name="a"><inertial><mass value="$(arg mass)"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>
"""


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "r.urdf.xacro"
    path.write_text(ROBOT, encoding="utf-8")
    return path


def test_words_after_the_file_are_its_arguments(robot, capsys):
    assert main(["tree", str(robot), "mass:=2.5"]) == 0
    assert "2.5 kg" in capsys.readouterr().out


def test_a_conversion_never_replaces_its_input(robot, capsys):
    assert main(["urdf", str(robot), "mass:=2", "-o", str(robot), "--force"]) == 2
    assert "overwrites its input" in capsys.readouterr().err


def test_folders_are_searched_for_robots_and_not_for_macros(robot, capsys):
    text = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"/>\n'
    (robot.parent / "macros.xacro").write_text(text, encoding="utf-8")
    main(["check", str(robot.parent)])
    assert "1 model: " in capsys.readouterr().out


def test_worlds_and_single_models_have_arguments(robot):
    path = robot.parent / "w.yaml"
    lines = (
        "bodies:",
        "  - {name: one, model: r.urdf.xacro, arguments: {mass: 3}}",
        "  - {name: two, model: r.urdf.xacro mass:=4}",
        "  - {name: three, model: r.urdf.xacro}",
    )
    path.write_text("\n".join(lines), encoding="utf-8")
    masses = [entry.placement.body.total_mass for entry in load_world(path).bodies]
    assert masses == [3.0, 4.0, 1.0]
    _, alone = load_world(f"{robot} mass:=5").bodies
    assert alone.placement.body.total_mass == 5.0


@pytest.mark.parametrize("suffix", [".urdf", ".xml", ".sdf", ".URDF"])
def test_macros_are_expanded_whatever_the_suffix_is(robot, suffix):
    path = robot.rename(robot.with_name(f"r{suffix}"))
    found = silent()
    assert load_body(path, found, arguments={"mass": "3"}).total_mass == 3.0
    assert [(d.code, str(d.at)) for d in found.found] == [("expanded-xacro", f"{path}:2:1")]
    assert load_body_text(ROBOT, silent(), arguments={"mass": "4"}).total_mass == 4.0


def test_arguments_follow_a_urdf_as_they_follow_a_xacro_file(robot, capsys):
    path = robot.rename(robot.with_name("r.urdf"))
    assert main(["tree", str(path), "mass:=2.5"]) == 0
    assert "2.5 kg" in capsys.readouterr().out
    _, alone = load_world(f"{path} mass:=5").bodies
    assert alone.placement.body.total_mass == 5.0


def test_expressions_are_xacro_only_where_its_namespace_is_declared(tmp_path):
    link = '<link name="a"/><link name="b"/><joint name="${1 + 1}" type="fixed">'
    link += '<parent link="a"/><child link="b"/></joint>'
    path = tmp_path / "r.urdf"
    for namespace, name in (("", "${1 + 1}"), (ROBOT.split(" ", 2)[2].split(">")[0], "2")):
        path.write_text(f'<robot name="r" {namespace}>{link}</robot>', encoding="utf-8")
        assert load_body(path, silent()).link("b").joint.name == name


def test_a_urdf_without_macros_takes_no_arguments(robot):
    path = robot.with_name("plain.urdf")
    text = '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><link name="a"/></robot>'
    path.write_text(text, encoding="utf-8")
    found = silent()
    load_body(path, found, arguments={"mass": "3"})
    assert "unknown-argument" in [d.code for d in found.found]
    assert "expanded-xacro" not in [d.code for d in found.found]
