"""The launch files of description packages, and the worlds that they start."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from xml.etree import ElementTree

import pytest
import yaml
from package_tools import (
    described,
    humanoid,
    of_kind,
    silent,
    vehicle,
    with_mesh,
    write,
)  # fmt: skip
from paths import ROOT
from urdf_tools import wheel

from hrp_model.body import Body
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_model.urdf import MOVEIT, NAV2, Hardware, UpAxis, UrdfOptions, write_package


def launched(folder, name, monkeypatch, tmp_path):
    """Return what a launch file of a package describes; folders of other packages are made up."""
    package = ElementTree.parse(str(folder / "package.xml")).findtext("name")
    known = {package: folder, "ros_gz_sim": tmp_path / "ros_gz_sim"}
    return described(folder / "launch" / name, monkeypatch, known)


def test_the_robot_is_shown_with_sliders_or_without(tmp_path, monkeypatch):
    folder = write(humanoid(), tmp_path / "p")
    entities = launched(folder, "display.launch.py", monkeypatch, tmp_path)
    arguments = {a.args[0]: a.kwargs for a in of_kind(entities, "DeclareLaunchArgument")}
    assert set(arguments) == {"gui", "rviz", "rviz_config"}
    assert arguments["rviz_config"]["default_value"] == str(folder / "rviz" / "display.rviz")
    nodes = {node.kwargs["package"]: node.kwargs for node in of_kind(entities, "Node")}
    urdf = (folder / "urdf" / "humanoid.urdf").read_text(encoding="utf-8")
    given = nodes["robot_state_publisher"]["parameters"][0]["robot_description"]
    assert (given.args, given.kwargs) == ((urdf,), {"value_type": str})
    with_gui, without = nodes["joint_state_publisher_gui"], nodes["joint_state_publisher"]
    assert with_gui["parameters"] == without["parameters"]
    assert with_gui["parameters"] == [str(folder / "config" / "joint_state_publisher.yaml")]
    assert type(with_gui["condition"]).__name__ == "IfCondition"
    assert type(without["condition"]).__name__ == "UnlessCondition"


@pytest.mark.parametrize("hardware", Hardware)
def test_all_controllers_are_started_as_the_robot_wants_them(hardware, tmp_path, monkeypatch):
    folder = write(vehicle(), tmp_path / "p", options=UrdfOptions(ros2_control=hardware))
    entities = launched(folder, "ros2_control.launch.py", monkeypatch, tmp_path)
    for handler in of_kind(entities, "RegisterEventHandler"):
        entities = [*entities, *handler.args[0].kwargs["on_exit"]]
    spawned = [n for n in of_kind(entities, "Node") if n.kwargs["executable"] == "spawner"]
    names = [x for node in spawned for x in node.kwargs["arguments"]]
    config = yaml.safe_load((folder / "config" / "controllers.yaml").read_text())
    manager = config["/**/controller_manager"]["ros__parameters"]
    kinds = {name: value["type"] for name, value in manager.items() if isinstance(value, dict)}
    assert sorted(set(names) - {"--inactive", "--switch-timeout", "60"}) == sorted(kinds)
    assert names[0] == "joint_state_broadcaster"
    assert "--inactive" in names
    managers = [n.kwargs for n in of_kind(entities, "Node") if "node" in n.kwargs["executable"]]
    if hardware is Hardware.GZ:
        assert managers == []
    else:
        (manager,) = managers
        assert str(folder / "config" / "controllers.yaml") in manager["parameters"]


def test_gazebo_is_told_where_the_package_lies(tmp_path, monkeypatch):
    options = UrdfOptions(ros2_control=Hardware.GZ)
    folder = write(humanoid(), tmp_path / "p", options=options)
    entities = launched(folder, "ros2_control.launch.py", monkeypatch, tmp_path)
    nodes = {n.kwargs["executable"]: n.kwargs for n in of_kind(entities, "Node")}
    (urdf,) = nodes["robot_state_publisher"]["parameters"][0]["robot_description"].args
    plugin = ElementTree.fromstring(urdf.encode()).find("gazebo/plugin/parameters")
    assert plugin.text == str(folder / "config" / "controllers.yaml")
    (resources,) = of_kind(entities, "AppendEnvironmentVariable")
    assert resources.args == ("GZ_SIM_RESOURCE_PATH", str(folder.parent))
    arguments = {a.args[0]: a.kwargs for a in of_kind(entities, "DeclareLaunchArgument")}
    assert float(arguments["z"]["default_value"]) == humanoid().root.X_PL.p[2]


def test_gazebo_puts_the_root_where_the_model_has_it(tmp_path, monkeypatch):
    R = axis_angle_matrix([0, 0, 1], 0.5) @ axis_angle_matrix([0, 1, 0], 0.25)
    R = R @ axis_angle_matrix([1, 0, 0], -0.125)
    links = wheel().links
    root = replace(links[0], X_PL=Pose(R, [1.0, -2.0, 0.75]))
    body = Body(name="on_a_table", links=(root, *links[1:]))
    folder = write(body, tmp_path / "p", options=UrdfOptions(ros2_control=Hardware.GZ))
    entities = launched(folder, "ros2_control.launch.py", monkeypatch, tmp_path)
    arguments = {a.args[0]: a.kwargs for a in of_kind(entities, "DeclareLaunchArgument")}
    create = next(n for n in of_kind(entities, "Node") if n.kwargs["executable"] == "create")
    words = create.kwargs["arguments"]
    given = {}
    for name in "xyzRPY":
        value = words[words.index(f"-{name}") + 1]
        given[name] = float(arguments[value.args[0]]["default_value"])
    expected = {"x": 1.0, "y": -2.0, "z": 0.75, "R": -0.125, "P": 0.25, "Y": 0.5}
    assert given == pytest.approx(expected, abs=1e-12)


# The system of gz-sim that simulates each kind of sensor.
SYSTEMS = {
    "imu": "gz::sim::systems::Imu",
    "force_torque": "gz::sim::systems::ForceTorque",
    "gpu_lidar": "gz::sim::systems::Sensors",
    "camera": "gz::sim::systems::Sensors",
    "depth_camera": "gz::sim::systems::Sensors",
    "rgbd_camera": "gz::sim::systems::Sensors",
}


def test_gazebo_gets_a_world_in_which_the_sensors_work(tmp_path, monkeypatch):
    options = UrdfOptions(ros2_control=Hardware.GZ, gazebo=True)
    folder = write(humanoid(), tmp_path / "p", options=options)
    entities = launched(folder, "ros2_control.launch.py", monkeypatch, tmp_path)
    arguments = {a.args[0]: a.kwargs for a in of_kind(entities, "DeclareLaunchArgument")}
    world = ElementTree.parse(arguments["world"]["default_value"]).find("world")
    plugins = {p.get("name"): p for p in world.iterfind("plugin")}
    assert all(p.get("filename").startswith("gz-sim-") for p in plugins.values())
    needed = {"Physics", "UserCommands", "SceneBroadcaster"}  # to move, to be spawned, to be seen
    assert {f"gz::sim::systems::{name}" for name in needed} <= plugins.keys()
    urdf = ElementTree.parse(str(folder / "urdf" / "humanoid.urdf"))
    kinds = {sensor.get("type") for sensor in urdf.iterfind("gazebo//sensor")}
    assert {"imu", "force_torque", "gpu_lidar", "rgbd_camera"} <= kinds
    assert {SYSTEMS[kind] for kind in kinds} <= plugins.keys()
    assert plugins["gz::sim::systems::Sensors"].findtext("render_engine") == "ogre2"
    # The fastest sensor measures no more often than the world takes steps.
    rates = [float(rate.text) for rate in urdf.iter("update_rate")]
    assert max(rates) * float(world.findtext("physics/max_step_size")) <= 1.0
    assert "worlds" in (folder / "CMakeLists.txt").read_text()
    assert "`worlds/`" in (folder / "README.md").read_text()


def test_the_axis_of_its_meshes_that_is_up_may_be_chosen(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    boxes = []
    for up in UpAxis:
        folder = write(with_mesh(), tmp_path / up.value, glb_up=up)
        (path,) = folder.glob("meshes/*.glb")
        boxes.append(trimesh.load_scene(path).bounds)
    (low, high), turned = boxes
    assert turned.tolist() == [[low[0], low[2], -high[1]], [high[0], high[2], -low[1]]]


def test_what_was_written_is_told(tmp_path):
    package = write_package(humanoid(), tmp_path / "p", diagnostics=silent())
    assert package.name == "humanoid_description"
    assert package.urdf == tmp_path / "p" / "urdf" / "humanoid.urdf"
    assert package.srdf == tmp_path / "p" / "srdf" / "humanoid.srdf"
    assert package.urdf.is_file()
    assert package.srdf.is_file()
    assert [link.name for link in package.body.links] == [x.name for x in humanoid().links]


def test_a_robot_that_cannot_move_has_no_controllers_and_no_sliders(tmp_path):
    folder = write(with_mesh(), tmp_path / "p", options=UrdfOptions(ros2_control=Hardware.MOCK))
    assert not (folder / "config").exists()
    assert [path.name for path in (folder / "launch").iterdir()] == ["display.launch.py"]


@pytest.mark.parametrize("hardware", Hardware)
def test_launch_itself_reads_the_files(hardware, tmp_path, monkeypatch):
    pytest.importorskip("launch_ros", reason="launch_ros is not importable")
    packages = pytest.importorskip("ament_index_python.packages")
    folder = write(vehicle(), tmp_path / "p", options=UrdfOptions(ros2_control=hardware))
    monkeypatch.setattr(packages, "get_package_share_directory", lambda _: str(folder))
    from package_tools import loaded

    for path in (folder / "launch").iterdir():
        assert loaded(path).generate_launch_description().entities


def test_generated_python_is_as_tidy_as_ours(tmp_path):
    ruff = shutil.which("ruff", path=os.path.dirname(sys.executable) + os.pathsep + os.defpath)
    if ruff is None:
        pytest.skip("ruff is not installed")
    for hardware in Hardware:
        options = UrdfOptions(ros2_control=hardware)
        write(vehicle(), tmp_path / hardware.value, options=options)
    write(vehicle(), tmp_path / "nav2", additions=[NAV2])
    if find_spec("coal"):
        write(humanoid(), tmp_path / "moveit", additions=[MOVEIT])
    config = ["--config", str(ROOT / "pyproject.toml"), str(tmp_path)]
    for command in (["format", "--check"], ["check"]):
        done = subprocess.run([ruff, *command, *config], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
