"""Packages with files for Nav2: what follows from a vehicle, and which robots are refused."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from package_tools import described, humanoid, of_kind, silent, vehicle, write
from paths import MODELS
from vehicles import car

from hrp_model import load_body
from hrp_model.body import Range
from hrp_model.devices import RangeSensor
from hrp_model.frames import X_S_SCAN, Base
from hrp_model.kinematics.drive import drive_kinematics
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_model.urdf import NAV2, UrdfOptions
from hrp_model.urdf.package.nav2 import convex_outline

MOTOR = {"velocity": Range(-8.0, 8.0), "effort": Range(-3.0, 3.0)}
PACKAGE = "rover_description"  # its default name
LEVEL = X_S_SCAN.inverse()  # a scanner whose scan frame is that of its link


def scanning(body, X_LS=LEVEL, name="laser"):
    device = RangeSensor(name=name, link=body.root.name, X_LS=X_LS, max_distance=8.0)
    root = replace(body.root, mass=10.0, inertia=0.4 * np.eye(3))
    return replace(body, links=(root, *body.links[1:]), devices=(device,))


def written(body, folder, **more):
    """Return the folder of a package, and the parameters of the nodes by their names."""
    write(body, folder, additions=[NAV2], **more)
    file = yaml.safe_load((folder / "config" / "nav2_params.yaml").read_text())
    named = {name.rpartition("/")[2]: values["ros__parameters"] for name, values in file.items()}
    return folder, named


def values_of(tree, wanted):
    """Yield the values of a key anywhere in mappings."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from values_of(value, wanted)
        elif key == wanted:
            yield value


def test_the_rover_is_described_to_nav2(tmp_path):
    _, nodes = written(vehicle(), tmp_path / "p", options=UrdfOptions(base=Base.LINK))
    for key in ("robot_base_frame", "base_frame_id", "base_frame"):
        assert set(values_of(nodes, key)) == {"base_link"}
    assert set(values_of(nodes, "odom_topic")) == {"odom"}
    for costmap in ("local_costmap", "global_costmap"):
        corners = np.array(yaml.safe_load(nodes[costmap]["footprint"]))
        # Tracks 0.5 m long and rounded by 0.1 m at both ends, 0.12 m wide at y = 0.25 m.
        np.testing.assert_allclose(np.abs(corners), [[0.35, 0.31]] * 4)
        assert nodes[costmap]["inflation_layer"]["inflation_radius"] > np.hypot(0.35, 0.31)
        scan = nodes[costmap]["obstacle_layer"]["scanner"]
        assert (scan["topic"], scan["raytrace_max_range"]) == ("/scan", 10.0)
        assert scan["obstacle_max_range"] < 10.0
        assert scan["min_obstacle_height"] < 0.29 < scan["max_obstacle_height"]
    assert nodes["controller_server"]["FollowPath"]["use_rotate_to_heading"] is True
    assert "spin" in nodes["behavior_server"]["behavior_plugins"]
    # If the controller dies, the smoother must brake before the simulation would stop the vehicle.
    assert nodes["velocity_smoother"]["velocity_timeout"] < 0.5


def test_a_car_is_never_asked_to_turn_on_the_spot(tmp_path):
    folder, nodes = written(scanning(car(**MOTOR)), tmp_path / "p")
    follow, grid = nodes["controller_server"]["FollowPath"], nodes["planner_server"]["GridBased"]
    assert (follow["use_rotate_to_heading"], follow["allow_reversing"]) == (False, True)
    assert grid["minimum_turning_radius"] > 0.6 / np.tan(np.pi / 6) + 0.2
    tree = ElementTree.parse(str(folder / "config" / "nav2_tree.xml"))
    assert not [*tree.iter("Spin")]
    assert nodes["bt_navigator"]["navigators"] == ["navigate_to_pose"]
    assert "spin" not in nodes["behavior_server"]["behavior_plugins"]
    # Wheels of 0.1 m at 8 rad/s; two motors of 3 Nm move 16 kg.
    smoother = nodes["velocity_smoother"]
    assert 0.5 < smoother["max_velocity"][0] <= 0.8
    assert smoother["max_accel"][0] <= 60.0 / 16.0


@pytest.mark.parametrize("count", [3, 40, 500])
def test_a_footprint_contains_all_points_and_is_convex(count):
    points = np.random.default_rng(count).normal(size=(count, 2))
    corners = convex_outline(points)
    edges = np.roll(corners, -1, axis=0) - corners
    x, y = np.moveaxis(points[np.newaxis] - corners[:, np.newaxis], 2, 0)
    sides = edges[:, :1] * y - edges[:, 1:] * x
    assert sides.min() > -1e-3
    assert len(corners) <= 16
    angles = np.linspace(0.0, 2.0 * np.pi, 400)
    circle = convex_outline(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert np.hypot(*circle.T).max() < 1.0 / np.cos(np.pi / 16) + 1e-3


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (load_body(MODELS / "arm" / "arm.body", silent()), "its root is fixed"),
        (humanoid(), "no wheels or tracks"),
        (car(), "no planar range sensor"),
        (scanning(car(), LEVEL @ Pose(axis_angle_matrix((1, 0, 0), 0.2))), "scan is level"),
    ],
    ids=["fixed", "legs", "blind", "tilted"],
)
def test_other_robots_are_refused_before_anything_is_written(body, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        write(body, tmp_path / "p", additions=[NAV2])
    assert not (tmp_path / "p").exists()


def launched(folder, monkeypatch, **given):
    """Return the nodes that nav2.launch.py starts, by their executables."""
    entities = described(folder / "launch" / "nav2.launch.py", monkeypatch, {PACKAGE: folder})
    defaults = {
        x.args[0]: x.kwargs["default_value"] for x in of_kind(entities, "DeclareLaunchArgument")
    }
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    (setup,) = of_kind(entities, "OpaqueFunction")
    context = SimpleNamespace(launch_configurations={**defaults, **given})
    nodes = of_kind(setup.kwargs["function"](context), "Node")
    return {node.kwargs["executable"] + node.kwargs.get("name", ""): node.kwargs for node in nodes}


def test_the_launch_file_starts_simulation_and_nav2(tmp_path, monkeypatch):
    folder, _ = written(vehicle(), tmp_path / "p")
    nodes = launched(folder, monkeypatch, world="depot.yaml")
    (parameters,) = nodes["sim_nodesim_node"]["parameters"]
    assert parameters["command_timeout"] == 0.5
    assert (parameters["world_frame"], parameters["odom_topic"]) == ("map", "odom")
    assert (parameters["odometry"], parameters["initial_pose_topic"]) == ("truth", "")
    managed = nodes["lifecycle_managerlifecycle_manager_navigation"]["parameters"][1]
    assert set(managed["node_names"]) <= set(nodes)
    planner = nodes["planner_server"]
    assert planner["parameters"][0] == str(folder / "config" / "nav2_params.yaml")
    assert planner["parameters"][-1]["rolling_window"] is True  # as there is no map
    assert nodes["rviz2"]["arguments"][0] == "-d"


def test_localization_corrects_the_odometry_of_wheels(tmp_path, monkeypatch):
    folder, _ = written(vehicle(), tmp_path / "p")
    (tmp_path / "map.yaml").touch()
    given = {"world": "depot.yaml", "localization": "amcl", "map": str(tmp_path / "map.yaml")}
    (parameters,) = launched(folder, monkeypatch, **given)["sim_nodesim_node"]["parameters"]
    assert (parameters["odometry"], parameters["initial_pose_topic"]) == ("wheels", "initialpose")


def test_each_robot_of_a_world_has_its_own_frames_and_topics(tmp_path, monkeypatch):
    folder, _ = written(vehicle(), tmp_path / "p", options=UrdfOptions(base=Base.LINK))
    nodes = launched(folder, monkeypatch, simulation="false", namespace="left", rviz="false")
    assert {node["namespace"] for node in nodes.values()} == {"left"}
    own = nodes["controller_server"]["parameters"][2]
    assert own["robot_base_frame"] == "left/base_link"
    assert own["local_frame"] == own["odom_frame_id"] == "left/odom"
    assert nodes["controller_server"]["parameters"][3]["global_frame"] == "left/odom"
    assert own["obstacle_layer.scanner.topic"] == "/left/scan"


def test_the_view_follows_the_robot_from_above(tmp_path, monkeypatch):
    folder, _ = written(vehicle(), tmp_path / "p", options=UrdfOptions(base=Base.LINK))
    (tmp_path / "map.yaml").touch()
    for namespace, prefix, file in (("", "", tmp_path / "map.yaml"), ("left", "left/", "")):
        given = {"simulation": "false", "namespace": namespace, "map": str(file)}
        nodes = launched(folder, monkeypatch, **given)
        shown = yaml.safe_load(Path(nodes["rviz2"]["arguments"][1]).read_text(encoding="utf-8"))
        manager = shown["Visualization Manager"]
        view = manager["Views"]["Current"]
        assert view["Target Frame"] == f"{prefix}base_link"
        assert view["Pitch"] > 0.7  # [rad]
        (model,) = [x for x in manager["Displays"] if x["Class"].endswith("/RobotModel")]
        assert model["TF Prefix"] == namespace
        (shown_map,) = [x for x in manager["Displays"] if x["Name"] == "Map"]
        assert shown_map["Enabled"] is bool(file)  # else RViz would warn that there is none


def test_launch_arguments_that_cannot_be_are_named(tmp_path, monkeypatch):
    folder, _ = written(vehicle(), tmp_path / "p")
    for words, given in {
        "world": {},
        "needs map": {"world": "w", "localization": "amcl"},
        "'gps'": {"world": "w", "localization": "gps"},
        "rviz: 'no' is not true or false": {"world": "w", "rviz": "no"},
        "a map of its own": {"world": "w", "localization": "slam", "namespace": "left"},
        "no file 'gone.yaml'": {"world": "w", "map": "gone.yaml"},
    }.items():
        with pytest.raises(ValueError, match=words):
            launched(folder, monkeypatch, **given)


def test_on_the_spot_the_sides_run_no_faster_than_straight_ahead(tmp_path):
    body = vehicle()
    _, nodes = written(body, tmp_path / "p")
    speed, _, yaw_rate = nodes["velocity_smoother"]["max_velocity"]
    assert yaw_rate * drive_kinematics(body).effective_track / 2.0 < 1.005 * speed
