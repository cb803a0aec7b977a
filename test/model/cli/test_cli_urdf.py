"""hrp-model urdf: what each option does, and that files appear whole or not at all."""

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from arm_model import ARM, WITHOUT_MASS
from command_tools import everything_in, urdf_of
from urdf_tools import urdf_poses

from hrp_model.cli import urdf
from hrp_model.cli.main import main

# A WAIST with one arm, whose links are named after joints, and whose Segments are not.
HUMANOID = """\
#VRML V2.0 utf8
DEF ROBOT Humanoid {
  humanoidBody [
    DEF WAIST Joint {
      jointType "free"
      translation 0 0 0.7
      children [
        DEF WAIST_LINK0 Segment { mass 3 momentsOfInertia [ 1 0 0 0 1 0 0 0 1 ] }
        DEF ARM Joint {
          jointType "rotate" jointId 0 jointAxis 0 1 0 llimit [ -1 ] ulimit [ 2 ]
          gearRatio 50 rotorInertia 0.00001 torqueConst 0.2 climit [ 3 ]
          children DEF ARM_LINK1 Segment {
            mass 1 momentsOfInertia [ 0.1 0 0 0 0.1 0 0 0 0.1 ]
            children Shape { geometry Cone { bottomRadius 0.1 height 0.4 } }
          }
        }
      ]
    }
  ]
}
"""
# Four bars, the last tied to the ground again.
LOOP = """\
format: ChoreonoidBody
format_version: 2.0
name: four_bars
links:
  - { name: GROUND, joint_type: fixed, mass: 1, inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ] }
  - &bar
    name: A
    parent: GROUND
    joint_type: revolute
    joint_axis: Y
    joint_id: 0
    mass: 1
    inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ]
  - { <<: *bar, name: B, parent: A, joint_id: 1, translation: [ 0, 0, 1 ] }
  - { <<: *bar, name: C, parent: B, joint_id: 2, translation: [ 1, 0, 0 ] }
extra_joints:
  - link1_name: C
    link2_name: GROUND
    joint_type: hinge
    axis: [ 0, 1, 0 ]
    translation_in_link1: [ 0, 0, -1 ]
    translation_in_link2: [ 1, 0, 0 ]
"""


# Where it goes


def test_it_goes_to_stdout_or_beside_its_meshes(model, tmp_path, capsys):
    path = model()
    out = tmp_path / "out" / "arm.urdf"
    assert main(["urdf", path, "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    robot = ElementTree.parse(out).getroot()
    assert robot.get("name") == "arm"
    meshes = [m.get("filename") for m in robot.iter("mesh")]
    assert meshes
    assert all(uri.startswith((out.parent / "meshes").as_uri()) for uri in meshes)
    assert {(out.parent / "meshes" / uri.rpartition("/")[2]).is_file() for uri in meshes} == {True}
    assert sorted(p.name for p in out.parent.iterdir()) == ["arm.urdf", "meshes"]
    assert main(["urdf", path]) == 0
    assert ElementTree.fromstring(capsys.readouterr().out).get("name") == "arm"


def test_meshes_are_named_by_the_package_around_them(model, tmp_path, capsys):
    path = model()
    meshes = tmp_path / "my_robot" / "parts" / "meshes"
    arguments = [path, "--mesh-dir", str(meshes), "--mesh-uri", "package"]
    assert main(["urdf", *arguments]) == 2
    assert "no package.xml in or above" in capsys.readouterr().err
    assert not meshes.exists()
    (tmp_path / "my_robot").mkdir(exist_ok=True)
    manifest = "<package format='3'><name>my_robot</name></package>"
    (tmp_path / "my_robot" / "package.xml").write_text("<package/>")
    assert main(["urdf", *arguments]) == 2
    assert "package.xml: it has no package name" in capsys.readouterr().err
    (tmp_path / "my_robot" / "package.xml").write_text(manifest)
    assert main(["urdf", *arguments]) == 0
    robot = ElementTree.fromstring(capsys.readouterr().out)
    uris = [m.get("filename") for m in robot.iter("mesh")]
    assert uris
    assert all(uri.startswith("package://my_robot/parts/meshes/") for uri in uris)


def test_it_can_be_written_again_over_itself(model, tmp_path, capsys):
    path, out = model(), tmp_path / "out" / "arm.urdf"
    for _ in range(2):
        assert main(["urdf", path, "-o", str(out)]) == 0
        found = everything_in(out.parent), out.read_bytes()
    assert main(["urdf", path, "-o", str(out)]) == 0
    assert found == (everything_in(out.parent), out.read_bytes())
    wrote, then = capsys.readouterr().err.splitlines()[-2:]
    assert wrote == f"wrote {out}, 2 mesh files in {out.parent / 'meshes'}"
    launch = f"ros2 launch hrp_ros display.launch.py model:={out}"
    assert then == f"next: hrp-model check {out}; with ROS 2: {launch}"


def test_a_urdf_that_no_command_would_read_is_not_recommended_to_one(model, tmp_path, capsys):
    out = tmp_path / "out" / "arm.xml"
    assert main(["urdf", model(), "-o", str(out)]) == 0
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"note: {out} does not end in .urdf")


def test_a_pipe_gets_the_urdf_and_no_folder_beside_it(model, capfd):
    assert main(["urdf", model(), "-o", "/dev/stdout"]) == 0
    assert ElementTree.fromstring(capfd.readouterr().out.encode()).get("name") == "arm"


def test_loops_have_no_place_beside_a_pipe(model, capfd):
    assert main(["urdf", model(LOOP), "-o", "/dev/stdout"]) == 0
    assert "[open-loops]" in capfd.readouterr().err
    assert not Path("/dev/loops.yaml").exists()


def test_what_both_reading_and_writing_find_is_said_once(model, capsys):
    same_names = ARM.replace("name: wrist", "name: ARM")
    assert main(["urdf", model(same_names)]) == 0
    assert capsys.readouterr().err.count("[frame-name-collision]") == 1


def test_loops_are_written_beside_it(model, tmp_path, capsys):
    path, out = model(LOOP), tmp_path / "out" / "four_bars.urdf"
    assert main(["urdf", path, "-o", str(out)]) == 0
    assert "[open-loops]" not in capsys.readouterr().err
    assert everything_in(out.parent) == ["four_bars.urdf", "loops.yaml"]
    assert yaml.safe_load((out.parent / "loops.yaml").read_text())
    assert main(["urdf", path]) == 0
    assert "[open-loops]" in capsys.readouterr().err


def test_joints_of_a_loop_that_follow_another_keep_the_loop_closed(model, capsys):
    robot = urdf_of([model(LOOP), "--frame-prefix", "p_"], capsys)
    followed = {joint.name: joint.mimic for joint in robot.joints if joint.mimic}
    assert {name: mimic.joint for name, mimic in followed.items()} == {"B": "A", "C": "A"}
    for q in (-1.0, 0.3, 1.2):
        positions = {name: m.multiplier * q + (m.offset or 0.0) for name, m in followed.items()}
        end = urdf_poses(robot, {"A": q, **positions})["p_C"] @ [0.0, 0.0, -1.0, 1.0]
        assert end == pytest.approx([1.0, 0.0, 0.0, 1.0], abs=1e-12)


def test_an_srdf_has_the_names_of_the_urdf(model, tmp_path, capsys):
    path, srdf = model(HUMANOID, "robot.wrl"), tmp_path / "out" / "robot.srdf"
    arguments = [path, "--srdf", str(srdf), "--link-naming", "segment", "--frame-prefix", "r/"]
    robot = urdf_of(arguments, capsys)
    tree = ElementTree.parse(srdf).getroot()
    chain = tree.find("group/chain")
    assert (chain.get("base_link"), chain.get("tip_link")) == ("r/WAIST_LINK0", "r/ARM_LINK1")
    assert {"r/WAIST_LINK0", "r/ARM_LINK1"} == {*robot.link_map}


def gz_parameters(urdf):
    return ElementTree.parse(urdf).findtext("gazebo/plugin/parameters")


def test_gazebo_finds_the_controllers_where_they_are_written(model, tmp_path, monkeypatch):
    path = model()
    monkeypatch.chdir(tmp_path)
    for arguments, written in (
        ([], "out/controllers.yaml"),
        (["--controllers", "c.yaml"], "c.yaml"),
    ):
        arguments = [*arguments, "-o", "out/arm.urdf", "--ros2-control", "gz"]
        assert main(["urdf", path, *arguments, "--frame-prefix", "r_"]) == 0
        named = gz_parameters("out/arm.urdf")
        assert named == str(tmp_path / written)
        config = yaml.safe_load(Path(named).read_text())
        assert config["/**/joint_trajectory_controller"]["ros__parameters"]["joints"] == ["ARM"]


def test_controllers_of_other_hardware_are_written_on_demand(model, tmp_path):
    out = tmp_path / "out"
    arguments = ["urdf", model(), "-o", str(out / "arm.urdf"), "--ros2-control", "mock"]
    assert main(arguments) == 0
    assert everything_in(out) == sorted(["arm.urdf", "meshes", *meshes_below(out)])
    assert main([*arguments, "--controllers", str(out / "c.yaml")]) == 0
    assert "/**/joint_trajectory_controller" in yaml.safe_load((out / "c.yaml").read_text())


def meshes_below(folder):
    return [str(path.relative_to(folder)) for path in folder.glob("meshes/*")]


def test_controllers_that_somebody_tuned_are_kept_unless_named(model, tmp_path, capsys):
    path, out = model(), tmp_path / "out" / "arm.urdf"
    arguments = ["urdf", path, "-o", str(out), "--ros2-control", "gz", "--frame-prefix", "r_"]
    assert main(arguments) == 0
    config = out.parent / "controllers.yaml"
    written = config.read_text()
    assert main(arguments) == 0
    assert "[kept-file]" not in capsys.readouterr().err
    config.write_text(f"{written}# tuned\n")
    assert main(arguments) == 0
    assert "[kept-file]" in capsys.readouterr().err
    assert config.read_text() == f"{written}# tuned\n"
    assert main([*arguments, "--controllers", str(config)]) == 0
    assert config.read_text() == written


# What it tells


def test_links_are_named_and_prefixed_as_asked(model, capsys):
    path = model(HUMANOID, "robot.wrl")
    for arguments, links in (
        ([], ["WAIST", "ARM"]),
        (["--link-naming", "segment"], ["WAIST_LINK0", "ARM_LINK1"]),
        (["--frame-prefix", "left_"], ["left_WAIST", "left_ARM"]),
        (["--base", "base_link"], ["base_link", "WAIST", "ARM"]),
        (["--base", "base_footprint"], ["base_footprint", "base_link", "WAIST", "ARM"]),
    ):
        robot = urdf_of([path, *arguments], capsys)
        assert [link.name for link in robot.links] == links
        assert "ARM" in robot.joint_map
    footprint = next(joint for joint in robot.joints if joint.parent == "base_footprint")
    assert footprint.origin.xyz == [0, 0, 0.7]


def test_the_current_limit_of_a_motor_limits_the_effort(model, capsys):
    limit = urdf_of([model(HUMANOID, "robot.wrl")], capsys).joint_map["ARM"].limit
    assert (limit.lower, limit.upper) == (-1.0, 2.0)
    assert limit.effort == pytest.approx(3 * 50 * 0.2, rel=1e-15)


def test_blocks_are_there_when_asked_for(model, capsys):
    blocks = {
        "gazebo": ["--gazebo", "--frame-prefix", "arm_"],
        "ros2_control": ["--ros2-control", "mock"],
    }
    path = model(ARM)
    for tag, arguments in {"": [], **blocks}.items():
        assert main(["urdf", path, *arguments]) == 0
        robot = ElementTree.fromstring(capsys.readouterr().out.encode())
        assert {child.tag for child in robot} - {"link", "joint", "material"} == {tag} - {""}


@pytest.mark.parametrize("hardware", ["topic", "mock", "gz", "mujoco"])
def test_the_control_block_is_for_the_hardware_asked_for(hardware, model, tmp_path):
    path, out = model(HUMANOID, "robot.wrl"), tmp_path / "robot.urdf"
    arguments = ["-o", str(out), "--ros2-control", hardware, "--link-naming", "segment"]
    assert main(["urdf", path, *arguments]) == 0
    robot = ElementTree.parse(out)
    plugin = robot.findtext("ros2_control/hardware/plugin")
    words = {"topic": "topic", "mock": "mock", "gz": "gz", "mujoco": "mujoco"}
    assert words[hardware] in plugin.lower()
    assert [j.get("name") for j in robot.iterfind("ros2_control/joint")] == ["ARM"]


def test_collision_shapes_are_of_the_kind_asked_for(model, capsys):
    path = model()
    robot = urdf_of([path, "--collision", "box"], capsys)
    (box,) = robot.link_map["ARM"].collisions
    cone = math.pi * 0.1**2 * 0.2 / 3
    assert cone < math.prod(box.geometry.size) < 1.001 * 0.2**3


# How it is checked


def test_strict_refuses_a_doubtful_model_and_leaves_nothing(model, tmp_path, capsys):
    path, out = model(WITHOUT_MASS), tmp_path / "out" / "arm.urdf"
    assert main(["urdf", "--strict", path, "-o", str(out)]) == 1
    assert "error: link 'ARM' moves but has no mass [massless-link]" in capsys.readouterr().err
    assert everything_in(tmp_path) == ["arm.body"]
    assert main(["urdf", path, "-o", str(out)]) == 0


def test_strict_refuses_what_only_the_urdf_shows_and_leaves_nothing(model, tmp_path, capsys):
    path, out = model(), tmp_path / "out" / "arm.urdf"
    arguments = ["urdf", "--strict", path, "-o", str(out)]
    assert main([*arguments, "--link-naming", "segment"]) == 1
    assert "[no-segment]" in capsys.readouterr().err
    assert everything_in(tmp_path) == ["arm.body"]
    assert main(arguments) == 0


def test_a_proved_urdf_prints_a_table_instead_of_itself(model, tmp_path, capsys):
    assert main(["urdf", "--verify", model()]) == 0
    out, err = capsys.readouterr()
    assert "passed" in out
    assert "<robot" not in out
    assert err == ""
    assert everything_in(tmp_path) == ["arm.body"]


def test_a_urdf_that_is_not_the_model_fails(model, tmp_path, capsys, monkeypatch):
    def write_otherwise(files):
        write_all_atomically(
            {path: text.replace(b"0.005", b"0.006") for path, text in files.items()}
        )

    write_all_atomically = urdf.write_all_atomically
    monkeypatch.setattr(urdf, "write_all_atomically", write_otherwise)
    out = tmp_path / "out" / "arm.urdf"
    assert main(["urdf", "--verify", model(), "-o", str(out)]) == 1
    assert "FAILED" in capsys.readouterr().out
    assert out.is_file()
