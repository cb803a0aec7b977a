"""Description packages: what is in them, and that nothing of others is lost."""

import ast
import re
import shutil
import subprocess
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from each_case import all_cases
from package_tools import (
    contents,
    humanoid,
    meshes,
    silent,
    vehicle,
    with_mesh,
    write,
)  # fmt: skip
from srdf_tools import complaints
from urdf_tools import wheel

from hrp_model import load_body
from hrp_model.body import Body, JointType, Range
from hrp_model.frames import Base
from hrp_model.geometry import Box, Shape
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_model.shapes.tessellate import mesh_of
from hrp_model.urdf import Hardware, UrdfOptions
from hrp_model.urdf.package.package_files import package_name

# Contents


def test_a_package_has_all_that_is_needed_to_look_at_the_robot(tmp_path):
    folder = write(humanoid(), tmp_path / "new" / "humanoid_description")
    assert folder == tmp_path / "new" / "humanoid_description"
    paths = set(contents(folder))
    # Links with several colours; what collides is all primitive.
    looks = {path for path in paths if path.startswith("meshes/")}
    assert {path.rpartition(".")[2] for path in looks} == {"glb"}
    assert paths - looks == {
        ".hrp_model.json",
        "CMakeLists.txt",
        "README.md",
        "config/joint_state_publisher.yaml",
        "launch/display.launch.py",
        "package.xml",
        "rviz/display.rviz",
        "srdf/humanoid.srdf",
        "urdf/humanoid.urdf",
    }


def test_its_urdf_names_meshes_that_are_there(tmp_path):
    folder = write(with_mesh(), tmp_path / "pyramid")
    uris = meshes(folder / "urdf" / "pyramid.urdf")
    names = {uri.removeprefix("package://pyramid_description/meshes/") for uri in uris}
    assert names == {path.name for path in (folder / "meshes").iterdir()}
    assert {name.rpartition(".")[2] for name in names} == {"glb", "stl"}


def test_check_urdf_accepts_it(tmp_path):
    if shutil.which("check_urdf") is None:
        pytest.skip("check_urdf is not installed")
    folder = write(vehicle(), tmp_path / "rover", options=UrdfOptions(base=Base.FOOTPRINT))
    done = subprocess.run(
        ["check_urdf", str(folder / "urdf" / "rover.urdf")], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_its_srdf_goes_with_its_urdf(tmp_path):
    folder = write(humanoid(), tmp_path / "p", options=UrdfOptions(frame_prefix="left_"))
    texts = (folder / "urdf" / "humanoid.urdf", folder / "srdf" / "humanoid.srdf")
    assert complaints(*(path.read_text(encoding="utf-8") for path in texts)) == []


def test_loops_lie_beside_the_urdf(tmp_path):
    text = """format: ChoreonoidBody
format_version: 2.0
name: Loop
links:
  - {name: R, joint_type: fixed, mass: 1.0, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
  - {name: A, parent: R, joint_type: revolute, joint_id: 0, joint_axis: X, mass: 1.0,
     translation: [0, 0.5, 0], inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
  - {name: B, parent: R, joint_type: revolute, joint_id: 1, joint_axis: X, mass: 1.0,
     inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
extra_joints:
  - {link1_name: A, link2_name: B, joint_type: ball, link1_local_position: [0, 0, 1],
     link2_local_position: [0, 0.5, 1]}
"""
    (tmp_path / "loop.body").write_text(text)
    folder = write(load_body(tmp_path / "loop.body", silent()), tmp_path / "loop")
    assert yaml.safe_load((folder / "urdf" / "loops.yaml").read_text())
    assert "loops.yaml" in (folder / "README.md").read_text()


@pytest.mark.parametrize("hardware", [None, *Hardware])
def test_its_manifest_is_valid_and_names_what_its_launch_files_start(hardware, tmp_path):
    parser = pytest.importorskip("catkin_pkg.package", reason="catkin_pkg is not installed")
    folder = write(humanoid(), tmp_path / "p", options=UrdfOptions(ros2_control=hardware))
    warnings = []
    package = parser.parse_package(str(folder / "package.xml"), warnings=warnings)
    assert warnings == []
    assert package.name == "humanoid_description"
    assert package.get_build_type() == "ament_cmake"
    needed = {need.name for need in package.exec_depends}
    started = set()
    for path in (folder / "launch").iterdir():
        text = path.read_text(encoding="utf-8")
        started |= set(re.findall(r'package="([^"]+)"', text))
        started |= set(re.findall(r'get_package_share_directory\("([^"]+)"\)', text))
        tree = ast.parse(text)
        modules = {n.module.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        started |= modules & {"launch", "launch_ros", "ament_index_python"}
    assert started - {package.name} <= needed
    if hardware is not None:
        assert {"joint_state_broadcaster", "joint_trajectory_controller"} <= needed


@all_cases(
    ("robot", "expected"),
    [
        ("SR1", "sr1_description"),
        ("SampleRobot", "sample_robot_description"),
        ("HRP4C", "hrp4c_description"),
        ("JAXON_JVRC", "jaxon_jvrc_description"),
        ("my robot (v2.1)", "my_robot_v2_1_description"),
        ("__a__b__", "a_b_description"),
        ("2 arms", "robot_2_arms_description"),
        ("arm_description", "arm_description"),
        ("ロボット", "robot_description"),
        ("", "robot_description"),
    ],
)
def test_its_name_is_made_of_the_models(robot, expected):
    assert package_name(robot) == expected


def test_another_name_may_be_given(tmp_path):
    folder = write(with_mesh(), tmp_path / "p", name="my_pyramid")
    assert all("package://my_pyramid/" in uri for uri in meshes(folder / "urdf/my_pyramid.urdf"))
    assert "project(my_pyramid " in (folder / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("name", ["My", "a b", "a__b", "_a", "a_", "1a", "a-b", "", "x", "ä_b"])
def test_a_name_that_no_package_can_have_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match="REP 144"):
        write(with_mesh(), tmp_path / "p", name=name)
    assert not (tmp_path / "p").exists()


def test_names_that_xml_and_python_would_misread_are_written_as_they_are(tmp_path):
    body = Body(name="a\"b<c>&'d'\\", links=wheel(name='AX"LE:\\ #1', initial=0.5).links)
    options = UrdfOptions(ros2_control=Hardware.GZ)
    folder = write(body, tmp_path / "p", options=options)
    assert ElementTree.parse(str(folder / "package.xml")).findtext("name") == "a_b_c_d_description"
    for path in (folder / "launch").iterdir():
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    sliders = yaml.safe_load((folder / "config/joint_state_publisher.yaml").read_text())
    assert sliders["/**"]["ros__parameters"]["zeros"] == {'AX"LE:\\ #1': 0.5}


# Postures and pictures


def test_sliders_begin_in_the_initial_posture_within_their_limits(tmp_path):
    body = wheel(initial=2.0, position=Range(-1.0, 1.5))
    folder = write(body, tmp_path / "p")
    sliders = yaml.safe_load((folder / "config/joint_state_publisher.yaml").read_text())
    assert sliders == {"/**": {"ros__parameters": {"zeros": {"AXLE": 1.5}}}}


def view(folder):
    config = yaml.safe_load((folder / "rviz" / "display.rviz").read_text(encoding="utf-8"))
    manager = config["Visualization Manager"]
    displays = {d["Class"].rpartition("/")[2]: d for d in manager["Displays"]}
    return manager["Global Options"]["Fixed Frame"], manager["Views"]["Current"], displays


@pytest.mark.parametrize(
    ("hardware", "panels"),
    [(Hardware.MOCK, ["Displays"]), (Hardware.MUJOCO, ["Displays", "Time"])],
)
def test_rviz_shows_the_time_of_a_simulation(hardware, panels, tmp_path):
    folder = write(wheel(id=0), tmp_path / "p", options=UrdfOptions(ros2_control=hardware))
    config = yaml.safe_load((folder / "rviz" / "display.rviz").read_text(encoding="utf-8"))
    assert [panel["Name"] for panel in config["Panels"]] == panels


def test_rviz_shows_the_robot_in_a_frame_of_its_own_from_its_latched_description(tmp_path):
    options = UrdfOptions(base=Base.FOOTPRINT)
    frame, current, displays = view(write(humanoid(), tmp_path / "p", options=options))
    assert frame == current["Target Frame"] == "base_footprint"
    topic = displays["RobotModel"]["Description Topic"]
    assert (topic["Value"], topic["Durability Policy"]) == ("/robot_description", "Transient Local")
    assert "TF" in displays
    assert displays["Grid"]["Offset"]["Z"] == pytest.approx(0.0, abs=0.01)  # it stands


@pytest.mark.parametrize("size", [0.01, 1.0, 300.0])
def test_rviz_looks_at_the_middle_from_where_all_is_seen(size, tmp_path):
    box = Shape(mesh_of(Box(np.full(3, size))), np.eye(4) + size * np.eye(4, k=3))
    root = with_mesh().root
    body = Body(name="box", links=(type(root)(**{**vars(root), "visual": (box,)}),))
    _, current, displays = view(write(body, tmp_path / "p"))
    middle = [current["Focal Point"][axis] for axis in "XYZ"]
    assert middle == pytest.approx([size, 0.0, 0.0], abs=1e-9)
    radius = size * 3**0.5 / 2.0
    seen = current["Distance"] * np.sin(np.radians(22.5))
    assert radius < seen < 1.5 * radius
    assert current["Near Clip Distance"] < current["Distance"] - radius
    assert displays["Grid"]["Offset"]["Z"] == pytest.approx(-size / 2.0, rel=1e-3)
    assert size < 20 * displays["Grid"]["Cell Size"] < 20 * size


def test_rviz_looks_from_the_top_frame_wherever_the_model_stands_in_the_world(tmp_path):
    box = Shape(Box(np.ones(3)), Pose(p=[0.0, 0.0, 2.0]).matrix())
    pose = Pose(axis_angle_matrix([0, 0, 1], 1.0), [5.0, 6.0, 0.5])
    root = replace(with_mesh().root, X_PL=pose, visual=(box,))
    options = UrdfOptions(base=Base.FOOTPRINT)
    _, current, displays = view(
        write(Body(name="far", links=(root,)), tmp_path / "p", options=options)
    )
    middle = [current["Focal Point"][axis] for axis in "XYZ"]
    assert middle == pytest.approx([0.0, 0.0, 2.5], abs=1e-9)
    assert displays["Grid"]["Offset"]["Z"] == pytest.approx(2.0)


def test_joints_that_do_not_move_have_no_sliders(tmp_path):
    folder = write(wheel(type=JointType.FIXED), tmp_path / "p")
    assert not (folder / "config").exists()
