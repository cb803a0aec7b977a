"""Packages with files for MoveIt: what follows from a robot, and which robots are refused."""

import sys
from dataclasses import replace
from functools import partial
from math import inf, pi
from pathlib import Path
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from package_tools import described, humanoid, of_kind, silent, write
from paths import MODELS, SHARED, needs_shared
from srdf_tools import CHOREONOID, OPENHRP, THEIRS, complaints, link, loaded, tree

from hrp_model import load_body
from hrp_model.body import ExtraJoint, ExtraJointType, JointType, Mimic, Range
from hrp_model.kinematics.state import STANDARD_GRAVITY
from hrp_model.rigid import Pose
from hrp_model.urdf import MOVEIT, Hardware, UrdfOptions
from hrp_model.urdf.package import moveit
from hrp_model.urdf.package.moveit import motion_limits

pytest.importorskip("coal", reason="coal is not installed")
ARM = MODELS / "arm" / "arm.body"
ARM_LINKS = [
    link(name, parent, joint={"id": i})
    for i, (parent, name) in enumerate((("ROOT", "A"), ("A", "B"), ("B", "C")))
]
MANAGER = "moveit_simple_controller_manager"


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    monkeypatch.setattr(moveit, "sampled_pairs", partial(moveit.sampled_pairs, samples=200))


def arm():
    return load_body(ARM, silent())


def written(body, folder, **more):
    """Return the folder of a package, and its parameters by the names of their files."""
    write(body, folder, additions=[MOVEIT], **more)
    files = {path.stem: yaml.safe_load(path.read_text()) for path in folder.glob("config/*.yaml")}
    return folder, SimpleNamespace(**files)


def numbers(tree):
    """Yield the numbers of nested mappings and lists."""
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, (dict, list)):
            yield from numbers(value)
        elif not isinstance(value, (bool, str)):
            yield value


def check(folder, config):
    """Check what MoveIt would refuse in the files of a package."""
    (urdf_path,), (srdf_path,) = folder.glob("urdf/*.urdf"), folder.glob("srdf/*.srdf")
    assert complaints(urdf_path.read_text(), srdf_path.read_text()) == []
    urdf, srdf = ElementTree.parse(urdf_path), ElementTree.parse(srdf_path)
    joints = {joint.get("name"): joint for joint in urdf.iterfind("joint")}
    moving = {name for name, x in joints.items() if x.get("type") not in ("fixed", "floating")}
    limits = config.joint_limits["joint_limits"]
    assert set(limits) == moving
    for name, found in limits.items():
        own = joints[name].find("limit")
        if joints[name].get("type") == "continuous":
            assert "max_position" not in found  # MoveIt prints an error
        else:
            ends = [float(own.get(end)) for end in ("lower", "upper")]
            turns = joints[name].get("type") == "revolute" and ends[1] - ends[0] > 2 * pi + 1e-6
            if turns:  # of which plans use one
                ends[0] = max(ends[0], found["min_position"] + 1e-4)
                ends[1] = min(ends[1], ends[0] + 2 * pi)
            for key, limit, margin in (("min", ends[0], -1e-4), ("max", ends[1], 1e-4)):
                chosen = abs(limit) >= 1e6  # a URDF must state one
                expected = pytest.approx(found[f"{key}_position"])
                assert chosen or limit + margin == expected
                assert abs(found[f"{key}_position"]) < 1e3
        assert 0.0 < found["max_velocity"] <= float(own.get("velocity"))
        assert 0.0 < found["max_acceleration"] <= 10.01 * found["max_velocity"]
    # MoveIt declares them as doubles.
    kinds = [config.joint_limits, config.kinematics, config.pilz_cartesian_limits]
    assert all(isinstance(x, float) for kind in kinds for x in numbers(kind))
    chains = {
        group.get("name") for group in srdf.iterfind("group") if group.find("chain") is not None
    }
    assert set(config.kinematics) == chains
    commanded = [x for entry in actions(config) for x in entry["joints"]]
    assert len(commanded) == len(set(commanded))
    passive = {joint.get("name") for joint in srdf.iterfind("passive_joint")}
    assert set(commanded) <= moving - passive
    groups = {group.get("name") for group in srdf.iterfind("group")}
    planners = config.ompl_planning
    for group in groups & set(planners):
        assert set(planners[group]["planner_configs"]) == set(planners["planner_configs"])


def actions(config, file="moveit_controllers"):
    manager = getattr(config, file)[MANAGER]
    assert set(manager) == {"controller_names", *manager["controller_names"]}
    return [manager[name] for name in manager["controller_names"]]


ROBOTS = {
    "HRP4C": THEIRS["HRP4Cmain.wrl"],
    "PA10": CHOREONOID / "PA10" / "PA10.body",
    "SR1": CHOREONOID / "SR1" / "SR1.body",
    "PA10 of OpenHRP": OPENHRP / "PA10" / "pa10.main.wrl",
    "NEXTAGE": SHARED / "models/tork-a__rtmros_nextage/nextage_description/models/main.wrl",
    "JACO2": CHOREONOID / "JACO2" / "JACO2.body",
}


def test_the_arm_is_described_to_moveit(tmp_path):
    folder, config = written(arm(), tmp_path / "p")
    check(folder, config)
    (entry,) = actions(config)
    assert entry["joints"] == ["J1", "J2", "J3", "J4", "J5", "J6"]
    assert "position_only_ik" not in config.kinematics["manipulator"]
    limits = config.joint_limits["joint_limits"].values()
    length = sum(x["max_position"] - x["min_position"] for x in limits)  # as OMPL measures it
    group = config.ompl_planning["manipulator"]
    assert group["longest_valid_segment_fraction"] * length == pytest.approx(0.05, rel=1e-2)
    assert "fix_start_state" not in config.ompl_planning
    assert not (folder / "config" / "sensors_3d.yaml").exists()
    assistant = yaml.safe_load((folder / ".setup_assistant").read_text())
    found = assistant["moveit_setup_assistant_config"]
    assert (folder / found["urdf"]["relative_path"]).is_file()
    assert (folder / found["srdf"]["relative_path"]).is_file()
    assert "install(FILES .setup_assistant" in (folder / "CMakeLists.txt").read_text()
    needed = ElementTree.parse(folder / "package.xml").findall("exec_depend")
    assert {"moveit_planners_ompl", "moveit_configs_utils"} <= {x.text for x in needed}


def test_each_limb_of_the_humanoid_has_a_controller_and_a_camera_maps_what_it_sees(tmp_path):
    folder, config = written(humanoid(), tmp_path / "p")
    check(folder, config)
    assert len(actions(config)) == 6
    (camera,) = config.sensors_3d["sensors"]
    assert config.sensors_3d[camera]["point_cloud_topic"] == "head_camera/depth/points"
    assert config.kinematics["LARM"]["position_only_ik"] is True


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in ROBOTS.items()])
def test_other_robots_are_described_as_moveit_reads_it(path, tmp_path):
    check(*written(loaded(path), tmp_path / "p"))


def test_accelerations_are_half_of_what_motors_can_give():
    J, weight = 1.0 + 1.0 * 0.2**2, 1.0 * 0.2 * STANDARD_GRAVITY
    joint = {"effort": Range(-9.0, 9.0), "velocity": Range(-8.0, 8.0)}
    mass = {"mass": 1.0, "center_of_mass": (0.0, 0.2, 0.0)}
    upright = link("A", "ROOT", joint={**joint, "axis": (0.0, 0.0, 1.0)}, **mass)
    found = motion_limits(tree(upright))["A"]
    assert found.acceleration == pytest.approx(0.5 * 9.0 / J, rel=1e-3)
    lying = link("A", "ROOT", joint={**joint, "axis": (1.0, 0.0, 0.0)}, **mass)
    found = motion_limits(tree(lying))["A"]
    # Fifty random postures come near the heaviest one.
    assert 0.5 * (9.0 - weight) / J <= found.acceleration <= 0.5 * (9.0 - 0.98 * weight) / J
    unknown = link("A", "ROOT", joint={"velocity": Range(-8.0, 8.0)}, **mass)
    assert motion_limits(tree(unknown))["A"].acceleration == 16.0
    stated = replace(unknown, joint=replace(unknown.joint, max_acceleration=3.0))
    assert motion_limits(tree(stated))["A"].acceleration == 3.0


def test_what_the_model_does_not_state_is_chosen_and_named(tmp_path):
    folder, config = written(tree(*ARM_LINKS), tmp_path / "p")
    text = (folder / "config" / "joint_limits.yaml").read_text()
    assert "Velocity of " in text
    assert "Acceleration of " in text
    assert config.ompl_planning["fix_start_state"] is True  # its joints have no limits
    slide = link(
        "A", "ROOT", JointType.PRISMATIC, joint={"initial": 0.5, "position": Range(0, inf)}
    )
    assert motion_limits(tree(slide))["A"].position == pytest.approx((-1e-4, 1.5001))


@pytest.mark.parametrize(("initial", "lower"), [(0.5, 0.5 - pi), (6.0, 0.0)])
def test_plans_stay_in_the_turn_of_the_initial_posture(initial, lower):
    joint = {"initial": initial, "position": Range(-2 * pi, 2 * pi)}
    body = tree(link("A", "ROOT", joint=joint), *ARM_LINKS[1:])
    found = motion_limits(body)["A"]
    assert found.position == pytest.approx((lower - 1e-4, lower + 2 * pi + 1e-4))


def gripper(kind, *limits, mimic=None, turned=True):
    """Return an arm with fingers to both sides, the second of which may be turned about."""
    sides = zip(limits, (0.2, -0.2), (1.0, -1.0 if turned else 1.0), strict=True)
    fingers = []
    for i, (limit, y, axis) in enumerate(sides):
        joint = {"position": Range(*limit), "id": 3 + i, "axis": (0.0, axis, 0.0)}
        fingers.append(link(f"F{i}", "C", kind, X_PL=Pose(p=(0.0, y, 0.3)), joint=joint))
    fingers[-1] = replace(fingers[-1], joint=replace(fingers[-1].joint, mimic=mimic))
    return tree(*ARM_LINKS, *fingers)


def test_grippers_take_commands_and_hands_trajectories(tmp_path):
    slide, both = JointType.PRISMATIC, ((-0.04, 0.04), (-0.04, 0.04))
    follower = gripper(slide, (0, 0.04), (0, 0.04), mimic=Mimic("F0", 1.0))
    for name, body, kind, parallel in (
        ("one", follower, "GripperCommand", None),
        ("two", gripper(slide, *both), "GripperCommand", True),
        ("mirrored", gripper(slide, *both, turned=False), "FollowJointTrajectory", None),
        ("odd", gripper(slide, (0, 0.04), (0, 0.1)), "FollowJointTrajectory", None),
        ("turning", gripper(JointType.REVOLUTE, (0, 1), (0, 1)), "FollowJointTrajectory", None),
    ):
        _, config = written(body, tmp_path / name)
        hand = actions(config)[-1]
        assert (hand["type"], hand.get("parallel")) == (kind, parallel), name


def test_with_ros2_control_its_controllers_have_a_file_too(tmp_path, monkeypatch):
    options = UrdfOptions(ros2_control=Hardware.TOPIC)
    folder, config = written(arm(), tmp_path / "p", options=options)
    (entry,) = actions(config, "moveit_ros2_controllers")
    parameters = config.controllers["/**/joint_trajectory_controller"]["ros__parameters"]
    assert entry["joints"] == parameters["joints"]
    nodes = launched(folder, monkeypatch, control="ros2_control")
    assert nodes["ros2_control.launch.py"] == {"use_sim_time": "true"}
    assert nodes["sim_node"]["parameters"][0]["hardware_topics"] is True
    assert nodes["move_group"]["parameters"][0]["controllers"].endswith("_ros2_controllers.yaml")


def test_robots_that_moveit_cannot_plan_for_are_refused_before_anything_is_written(tmp_path):
    closed = replace(
        tree(*ARM_LINKS),
        extra_joints=(ExtraJoint(type=ExtraJointType.BALL, links=("ROOT", "C"), name="loop"),),
    )
    names = [f"planner_configs{i}" for i in range(4)]
    reserved = [link(x, above) for x, above in zip(names, ("ROOT", *names), strict=False)]
    reserved = [replace(x, joint=replace(x.joint, id=i)) for i, x in enumerate(reserved)]
    for body, words in (
        (tree(*reserved), "cannot have a planning group 'planner_configs'"),
        (tree(*ARM_LINKS[:2], link("Y", "B", joint={"id": 2})), "cannot have a joint 'Y'"),
        (tree(link("A", "ROOT")), "no arm"),
        (load_body(MODELS / "rover" / "rover.body", silent()), "no arm"),
        (closed, "closed loop ties joint"),
    ):
        with pytest.raises(ValueError, match=words):
            write(body, tmp_path / "p", additions=[MOVEIT])
        assert not (tmp_path / "p").exists()


class Builder:
    """MoveItConfigsBuilder: returns the arguments of its methods."""

    def __init__(self, name, package_name):
        self.given = {"name": name, "package": package_name}

    def trajectory_execution(self, file_path):
        self.given["controllers"] = file_path
        return self

    def planning_pipelines(self, default_planning_pipeline, pipelines):
        self.given |= {"default": default_planning_pipeline, "pipelines": pipelines}
        return self

    def to_moveit_configs(self):
        parts = ("", "_semantic", "_kinematics")
        found = {f"robot_description{part}": {} for part in parts}
        joint = '<virtual_joint name="world_joint" type="fixed" parent_frame="world" />'
        found["robot_description_semantic"]["robot_description_semantic"] = joint
        more = {"planning_pipelines": {}, "joint_limits": {}, "to_dict": lambda: self.given}
        return SimpleNamespace(**found, **more)


def launched(folder, monkeypatch, **given):
    """Return the nodes that demo.launch.py starts, by their executables."""
    utils = ModuleType("moveit_configs_utils")
    utils.MoveItConfigsBuilder = Builder
    monkeypatch.setitem(sys.modules, "moveit_configs_utils", utils)
    package = ElementTree.parse(folder / "package.xml").findtext("name")
    entities = described(folder / "launch" / "demo.launch.py", monkeypatch, {package: folder})
    defaults = {
        x.args[0]: x.kwargs["default_value"] for x in of_kind(entities, "DeclareLaunchArgument")
    }
    (setup,) = of_kind(entities, "OpaqueFunction")
    context = SimpleNamespace(launch_configurations={**defaults, **given})
    found = setup.kwargs["function"](context)
    started = {node.kwargs["executable"]: node.kwargs for node in of_kind(found, "Node")}
    for included in of_kind(found, "IncludeLaunchDescription"):
        started[Path(included.args[0].args[0]).name] = dict(included.kwargs["launch_arguments"])
    return started


def test_the_launch_file_starts_simulation_and_moveit(tmp_path, monkeypatch):
    folder, _ = written(arm(), tmp_path / "p")
    nodes = launched(folder, monkeypatch)
    (parameters,) = nodes["sim_node"]["parameters"]
    assert parameters["world"] == str(folder / "config" / "demo_world.yaml")
    assert parameters["moveit_controllers"] == str(folder / "config" / "moveit_controllers.yaml")
    given, _, sim_time = nodes["move_group"]["parameters"]
    assert given["pipelines"] == ["ompl"]
    assert given["controllers"] == "config/moveit_controllers.yaml"
    assert sim_time == {"use_sim_time": True}
    assert (folder / "rviz" / "moveit.rviz").samefile(nodes["rviz2"]["arguments"][1])
    assert 'type="fixed"' in str(nodes["rviz2"]["parameters"])
    elsewhere = launched(folder, monkeypatch, world="arm")
    assert 'type="floating"' in str(elsewhere["rviz2"]["parameters"])
    others = launched(folder, monkeypatch, simulation="false", rviz="false", pipelines="pilz ompl")
    assert set(others) == {"move_group"}
    assert others["move_group"]["parameters"][0]["default"] == "pilz"


def test_a_robot_on_nothing_is_fixed_in_the_simulation(tmp_path):
    free = tree(*ARM_LINKS, root=JointType.FREE, at=Pose(p=(0.0, 0.0, 1.0)))
    assert not free.is_root_fixed
    _, config = written(free, tmp_path / "p")
    assert config.demo_world["bodies"][-1]["fixed"] is True


def test_a_start_in_collision_is_reported(tmp_path, diagnostics):
    links = [replace(x, joint=replace(x.joint, initial=2.8)) for x in ARM_LINKS]
    write(tree(*links), tmp_path / "p", additions=[MOVEIT], diagnostics=diagnostics)
    diagnostics.take("initial-overlap")
    found = diagnostics.take("initial-collision")
    assert found.message.endswith("'ROOT' and 'B', 'A' and 'C'")


def test_the_simulation_stands_as_the_model_does(tmp_path):
    folder, config = written(humanoid(), tmp_path / "p")
    _, placed = config.demo_world["bodies"]
    assert (folder / "config" / placed["model"]).resolve().is_file()
    assert placed["position"] == humanoid().root.X_PL.p.tolist()
    assert placed["fixed"] is False
    assert len(placed["joints"]) == len(humanoid().moving_links)


def test_launch_arguments_that_cannot_be_are_named(tmp_path, monkeypatch):
    options = UrdfOptions(frame_prefix="left/")
    folder, _ = written(arm(), tmp_path / "p", options=options)
    for words, given in {
        "'gps'": {"control": "gps"},
        "simulation: 'True' is not true or false": {"simulation": "True"},
        "made with --ros2-control": {"control": "ros2_control"},
        "name a planner": {"pipelines": " "},
        "give the world": {"namespace": "left"},
        "--frame-prefix right/": {"namespace": "right", "world": "cell.yaml"},
    }.items():
        with pytest.raises(ValueError, match=words):
            launched(folder, monkeypatch, **given)
    nodes = launched(folder, monkeypatch, namespace="left", world="cell.yaml")
    assert {nodes[name]["namespace"] for name in ("move_group", "rviz2")} == {"left"}


def test_the_view_has_the_panel_of_moveit(tmp_path):
    folder, config = written(arm(), tmp_path / "p")
    view = yaml.safe_load((folder / "rviz" / "moveit.rviz").read_text())["Visualization Manager"]
    (panel,) = [x for x in view["Displays"] if x["Class"] == "moveit_rviz_plugin/MotionPlanning"]
    assert panel["Planning Request"]["Planning Group"] in config.kinematics
    srdf = ElementTree.parse(next(folder.glob("srdf/*.srdf")))
    assert view["Global Options"]["Fixed Frame"] == srdf.find("virtual_joint").get("parent_frame")
    assert np.isfinite(view["Views"]["Current"]["Distance"])
