"""Launch files, run with a double of ``launch``, and checked against the nodes they start."""

import sys
from pathlib import Path

import launch_double
import pytest
import yaml
from each_case import all_cases
from launch_double import CONTROL
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")


from hrp_model.ros.parameters import MODEL_NODE
from hrp_sim.ros.parameters import DESCRIPTION
from hrp_sim.ros.sim_node import PARAMETERS

IS_OLD_DDS = (Path(sys.prefix) / "share" / "fastrtps").is_dir()
FOLDER = ROOT / "launch"
FILES = sorted(path.name for path in FOLDER.glob("*.launch.py"))
SLIDERS = "joint_state_publisher_gui"
SIM_NODE = [p for p in PARAMETERS if p.name.isidentifier() and p not in DESCRIPTION]
# The node of ours that each starts, its parameters, and those that are no arguments.
OURS = {
    "display.launch.py": ("model_node", MODEL_NODE, set()),
    "simulation.launch.py": ("sim_node", SIM_NODE, set()),
    "ros2_control.launch.py": ("sim_node", SIM_NODE, set()),
}
ARM = str(MODELS / "worlds" / "arm.yaml")
STACK = str(MODELS / "worlds" / "stack.yaml")


@pytest.fixture
def launch():
    with launch_double.launching() as run:
        yield run


def installed_for(name):
    return CONTROL if name.startswith("ros2_control") else ()


# Arguments


@pytest.mark.parametrize("name", FILES)
def test_every_parameter_of_our_node_is_an_argument_with_its_meaning_and_default(name, launch):
    executable, params, hidden = OURS[name]
    found = launch(name, installed_for(name), rviz="false")
    arguments, values = found.arguments, found.node(executable).values
    assert all(a.description.endswith((".", "'.")) for a in arguments.values())
    assert len({a.description for a in arguments.values()}) == len(arguments)
    assert {p.name for p in params} - set(arguments) == hidden <= set(values)
    known = {p.name: p for p in params}
    for key, value in values.items():
        assert known[key].objection(value) == "", key
        if key in arguments:
            assert arguments[key].default_value in (str(value), str(value).lower(), "auto"), key


@pytest.mark.parametrize("name", FILES)
def test_all_flags_take_the_same_words(name, launch):
    arguments = launch(name, installed_for(name), rviz="false").arguments
    flags = {k: a for k, a in arguments.items() if a.default_value in ("true", "false")}
    assert all(a.description.endswith("'true' or 'false'.") for a in flags.values())
    assert all(not a.choices for a in flags.values())  # which launch compares letter by letter
    off = {key: "False" for key in flags if key != "hardware_topics"}
    assert {n.executable for n in launch(name, installed_for(name), **off).nodes} == {
        n.executable for n in launch(name, installed_for(name), rviz="0").nodes
    }


def another(param):
    """Return a legal value that is not the default, and how it is written as an argument."""
    default = param.default
    if param.choices:
        value = next(choice for choice in param.choices if choice != default)
    elif isinstance(default, bool):
        value = not default
    elif isinstance(default, str):
        value = "007"  # YAML would read a number
    else:
        value = type(default)(param.minimum if param.minimum > default else default + 1)
        value = min(value, type(default)(param.maximum)) if value > param.maximum else value
    return value, str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("name", FILES)
def test_our_node_gets_what_the_arguments_say_in_the_type_that_it_wants(name, launch):
    executable, params, hidden = OURS[name]
    shown = [p for p in params if p.name not in hidden and p.name not in ("world", "model")]
    wanted = {p.name: another(p) for p in shown}
    if name.startswith("ros2_control"):
        del wanted["hardware_topics"]
    texts = {key: text for key, (_, text) in wanted.items()}
    found = launch(name, installed_for(name), rviz="false", **texts)
    values = found.node(executable).values
    for key, (value, _) in wanted.items():
        assert (values[key], type(values[key])) == (value, type(value)), key


@pytest.mark.parametrize(
    ("argument", "text", "words"),
    [
        ("real_time_factor", "fast", "a number, not 'fast'"),
        ("real_time_factor", "-1", "in the range 0 .. 1000"),
        ("iterations", "2.5", "must be an integer, not '2.5'"),
        ("joint_limits", "maybe", "true or false, not 'maybe'"),
        ("engine", "bullet", "'bullet'"),
        ("rviz", "maybe", "rviz must be true or false, not 'maybe'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(argument, text, words, launch):
    with pytest.raises((ValueError, RuntimeError), match=words):
        launch("simulation.launch.py", **{argument: text})


# Names and time


def test_robots_are_shown_that_nothing_localizes(launch):
    found = launch("simulation.launch.py", world="rover", odometry="wheels", namespace="lab")
    config = Path(found.node("rviz2").arguments[1]).read_text(encoding="utf-8")
    assert "Fixed Frame: lab/odom\n" in config


def test_topics_of_the_simulation_get_other_names(launch):
    found = launch("simulation.launch.py", remappings="scan:=base_scan  odom:=/odom")
    assert found.node("sim_node").remappings[:2] == [("scan", "base_scan"), ("odom", "/odom")]
    for wrong in ("scan", "scan:=", "a:=b:=c"):
        with pytest.raises(ValueError, match="must be FROM:=TO"):
            launch("simulation.launch.py", remappings=wrong)


@pytest.mark.parametrize("name", FILES)
def test_a_namespace_holds_for_all(name, launch):
    found = launch(name, (*installed_for(name), SLIDERS), namespace="lab", frame_prefix="auto")
    for node in found.nodes:
        assert node.namespace == ("" if node.executable == "rviz2" else "lab"), node.executable
    assert found.node(OURS[name][0]).values["frame_prefix"] == "lab/"
    config = Path(found.node("rviz2").arguments[1]).read_text(encoding="utf-8")
    shown = yaml.safe_load(config)["Visualization Manager"]["Displays"]
    models = [d for d in shown if d["Class"].endswith("RobotModel")]
    assert {"/lab/robot_description"} <= {d["Description Topic"]["Value"] for d in models}
    assert all(d["TF Prefix"].startswith("lab") for d in models)


def test_another_naming_holds_for_all_who_listen(launch):
    found = launch("simulation.launch.py", naming="choreonoid", contact_rate="20")
    config = Path(found.node("rviz2").arguments[1]).read_text(encoding="utf-8")
    assert "/humanoid/left_foot_force\n" in config
    assert "/contacts/markers\n" in config
    assert found.node("sim_node").values["naming"] == "choreonoid"
    found = launch("ros2_control.launch.py", CONTROL, world=ARM, naming="choreonoid", rviz="false")
    assert found.node("ros2_control_node").namespace == "arm"


def test_all_but_the_simulator_follow_its_clock(launch):
    found = launch("ros2_control.launch.py", CONTROL, clock_topic="/other")
    told = {n.executable: n.values.get("use_sim_time", False) for n in found.nodes}
    assert told == {"sim_node": False, "rviz2": True, "ros2_control_node": True, "spawner": False}
    assert all(("/clock", "/other") in node.remappings for node in found.nodes)
    assert ("/clock", "/clock") not in launch("simulation.launch.py").node("sim_node").remappings


def test_the_log_level_is_that_of_all(launch):
    found = launch("simulation.launch.py", log_level="debug")
    assert all(node.ros_arguments == ["--log-level", "debug"] for node in found.nodes)


def test_images_have_room_unless_the_user_has_made_some(launch, monkeypatch):
    monkeypatch.delenv("FASTRTPS_DEFAULT_PROFILES_FILE", raising=False)
    monkeypatch.delenv("FASTDDS_DEFAULT_PROFILES_FILE", raising=False)
    for node in launch("simulation.launch.py").nodes:
        [(name, profiles)] = node.additional_env.items()  # the other one draws a warning
        assert name == ("FASTRTPS" if IS_OLD_DDS else "FASTDDS") + "_DEFAULT_PROFILES_FILE"
        assert Path(profiles).is_file()
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", "/mine.xml")
    assert launch("simulation.launch.py").node("sim_node").additional_env == {}


# RViz and sliders


@pytest.mark.parametrize("name", ["display.launch.py", "simulation.launch.py"])
def test_rviz_gets_a_view_that_is_gone_afterwards(name, launch):
    found = launch(name)
    config = Path(found.node("rviz2").arguments[1])
    manager = yaml.safe_load(config.read_text(encoding="utf-8"))["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == "world"
    found.shut_down()
    assert not config.parent.exists()


@pytest.mark.parametrize("name", FILES)
def test_rviz_shows_what_the_user_wants_or_is_not_there(name, launch):
    found = launch(name, installed_for(name), rviz_config="/mine.rviz")
    assert found.node("rviz2").arguments == ["-d", "/mine.rviz"]
    found = launch(name, installed_for(name), rviz="false")
    assert not [node for node in found.nodes if node.executable == "rviz2"]


@pytest.mark.parametrize(
    ("name", "thing"),
    [("display.launch.py", "model"), ("simulation.launch.py", "world")],
)
def test_a_file_that_cannot_be_read_is_left_to_the_node_to_tell(name, thing, launch, tmp_path):
    found = launch(name, **{thing: str(tmp_path / "none.body")})
    assert found.node(OURS[name][0]).values[thing] == str(tmp_path / "none.body")
    assert Path(found.node("rviz2").arguments[1]).parent == ROOT / "config"


@pytest.mark.parametrize("name", ["display.launch.py", "simulation.launch.py"])
def test_a_prefix_that_rviz_cannot_have_is_told(name, launch):
    found = launch(name, frame_prefix="left")
    assert any("use 'left/' instead of 'left'" in text for text in found.logged)
    assert found.node(OURS[name][0]).values["frame_prefix"] == "left"


def test_sliders_begin_where_the_model_does(launch):
    found = launch("display.launch.py", (SLIDERS,), model=str(MODELS / "arm" / "arm.body"))
    posture = found.node(SLIDERS).values["zeros"]
    assert len(posture) >= 5


@pytest.mark.parametrize(("gui", "count"), [("true", 1), ("false", 0)])
def test_missing_sliders_are_a_warning_for_those_who_asked_for_them(gui, count, launch):
    said = launch("display.launch.py", gui=gui).logged
    assert [f"the package {SLIDERS} is not installed" in text for text in said] == [True] * count


@pytest.mark.parametrize(
    ("name", "config"), [*((name, "") for name in FILES), ("display.launch.py", "/mine.rviz")]
)
def test_without_rviz_there_is_one_warning_and_all_else(name, config, launch, monkeypatch):
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    packages = (*installed_for(name), SLIDERS)
    found = launch(name, packages, without=["rviz2"], rviz_config=config)
    everything = [node.executable for node in launch(name, packages).nodes]
    assert [node.executable for node in found.nodes] == [x for x in everything if x != "rviz2"]
    assert len(found.logged) == 1
    assert "without RViz: the package rviz2 is not installed" in found.logged[0]
    assert "sudo apt install ros-jazzy-rviz2" in found.logged[0]
    assert launch(name, packages, without=["rviz2"], rviz="false").logged == []


@pytest.mark.parametrize("name", FILES)
def test_the_end_of_our_node_ends_all(name, launch):
    found = launch(name, installed_for(name))
    assert not found.ended
    found.exit(found.node(OURS[name][0]), 1)
    assert found.ended


# ros2_control


def test_controllers_start_one_after_the_other_behind_their_manager(launch):
    found = launch("ros2_control.launch.py", CONTROL, world=ARM, rviz="false")
    order = [node.executable for node in found.nodes]
    assert order == ["sim_node", "ros2_control_node", "spawner"]
    first = found.node("spawner")
    assert first.arguments[:2] == ["joint_state_broadcaster", "joint_trajectory_controller"]
    assert "--inactive" not in first.arguments
    found.exit(first, 0)
    second = found.nodes[-1]
    assert second is not first
    assert {"forward_position_controller", "--inactive"} <= set(second.arguments)
    assert not found.ended


def test_a_spawner_that_fails_is_told_and_ends_the_chain(launch):
    found = launch("ros2_control.launch.py", CONTROL, world=ARM, rviz="false")
    found.exit(found.node("spawner"), 1)
    assert len(found.nodes) == 3
    assert any("status 1" in text for text in found.logged)


def test_the_simulator_speaks_by_the_topics_of_the_hardware_as_fast_as_controllers(launch):
    found = launch("ros2_control.launch.py", CONTROL, world=ARM, rviz="false")
    values = found.node("sim_node").values
    assert values["hardware_topics"] is True
    config = found.node("ros2_control_node").values
    rate = yaml.safe_load(Path(found.node("ros2_control_node").parameters[0]).read_text())
    rate = rate["/**/controller_manager"]["ros__parameters"]["update_rate"]
    assert values["clock_rate"] >= rate
    assert config["use_sim_time"] is True


def test_each_robot_has_a_manager_in_its_namespace(launch, tmp_path):
    arm = MODELS / "arm" / "arm.body"
    world = tmp_path / "two.yaml"
    world.write_text(
        f"bodies: [ {{ name: left-1, model: {arm} }}, {{ name: 2nd, model: {arm} }} ]",
        encoding="utf-8",
    )
    found = launch("ros2_control.launch.py", CONTROL, world=str(world), namespace="lab")
    managers = [n for n in found.nodes if n.executable == "ros2_control_node"]
    assert [n.namespace for n in managers] == ["lab/left_1", "lab/n2nd"]
    for node, prefix in zip(managers, ("lab/left_1/", "lab/n2nd/"), strict=True):
        config = yaml.safe_load(Path(node.parameters[0]).read_text(encoding="utf-8"))
        frame = config["/**/joint_state_broadcaster"]["ros__parameters"]["frame_id"]
        assert frame.startswith(prefix)
    spawners = [n.namespace for n in found.nodes if n.executable == "spawner"]
    assert spawners == ["lab/left_1", "lab/n2nd"]


def test_a_world_without_joints_has_no_controllers_and_says_so(launch):
    found = launch("ros2_control.launch.py", CONTROL, world=STACK, rviz="false")
    assert [node.executable for node in found.nodes] == ["sim_node"]
    assert any("no joint of this world" in text for text in found.logged)


MINE = """
controller_manager: {ros__parameters: {a: {type: t/T}, b: {type: t/T}}}
a: {ros__parameters: {joints: [J1, J2], command_interfaces: [position]}}
b: {ros__parameters: {joints: [J3], interface_name: position}}
"""


def test_own_controllers_take_the_place_of_those_that_are_made(launch, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(MINE, encoding="utf-8")
    found = launch(
        "ros2_control.launch.py",
        [*CONTROL, "t"],
        world=ARM,
        controllers_file=str(file),
        controller_names="b a",
    )
    assert found.node("ros2_control_node").parameters[0] == str(file)
    assert found.node("spawner").arguments[:3] == ["b", "a", "--switch-timeout"]
    found.exit(found.node("spawner"), 0)
    assert [n.executable for n in found.nodes].count("spawner") == 1


def test_without_ros2_control_an_error_names_all_that_is_missing_before_anything_starts(
    launch, monkeypatch
):
    """A launch that fails after its first node leaves this node running."""
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    with pytest.raises(RuntimeError) as caught:
        launch("ros2_control.launch.py", [CONTROL[0], CONTROL[3]])
    message = str(caught.value)
    assert ", ".join([CONTROL[1], CONTROL[2], CONTROL[4]]) in message
    assert "ros-$ROS_DISTRO-joint-state-topic-hardware-interface" in message
    assert CONTROL[0] not in message
    assert launch.launched[-1].nodes == []


def test_own_controllers_need_no_others(launch, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(MINE, encoding="utf-8")
    given = {"controllers_file": str(file), "world": ARM, "rviz": "false"}
    found = launch("ros2_control.launch.py", [*CONTROL[:2], "t"], **given)
    assert found.node("spawner").arguments[0] == "a"
    with pytest.raises(ValueError, match="package t is not installed"):
        launch("ros2_control.launch.py", CONTROL[:2], **given, controller_names="a")


def test_controllers_without_their_topics_are_refused_with_the_way_out(launch):
    with pytest.raises(ValueError, match=r"use simulation\.launch\.py"):
        launch("ros2_control.launch.py", CONTROL, hardware_topics="false")


BLOCK = """<ros2_control name="s" type="system"><hardware><plugin>a/B</plugin></hardware>
<joint name="hip"><command_interface name="position"/><command_interface name="velocity"/></joint>
<gpio name="io"/></ros2_control>"""
OWN_CONTROLLERS = """
/**/controller_manager: {ros__parameters: {update_rate: 800}}
/**/arm: {ros__parameters: {type: f/F, joints: [$(var side)], interface_name: position}}
/**/other: {ros__parameters: {type: f/F, joints: [hip], interface_name: velocity}}
"""


@pytest.fixture
def own(tmp_path):
    """The arguments of a robot with its own block and controllers."""
    (tmp_path / "r.urdf").write_text(
        f"""<robot name="r"><link name="base"/><link name="leg"/>
        <joint name="hip" type="revolute"><parent link="base"/><child link="leg"/>
        <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>{BLOCK}</robot>""",
        encoding="utf-8",
    )
    (tmp_path / "c.yaml").write_text(OWN_CONTROLLERS, encoding="utf-8")
    files = {"model": tmp_path / "r.urdf", "controllers_file": tmp_path / "c.yaml"}
    return {name: str(file) for name, file in files.items()} | {"rviz": "false", "side": "hip"}


def test_a_robot_with_its_own_block_and_controllers_is_run_with_them(launch, own):
    packages = [*CONTROL[:2], "robot_state_publisher", "f"]
    found = launch("ros2_control.launch.py", packages, namespace="left", **own)
    values = found.node("sim_node").values
    assert values["world"] == own["model"]
    assert (values["describe"], values["base"], values["clock_rate"]) == (False, "none", 800.0)
    assert values["hardware_interfaces"] == "hip/position hip/velocity"
    published = found.node("robot_state_publisher")
    assert "JointStateTopicSystem" in published.values["robot_description"]
    assert (published.namespace, published.values["frame_prefix"]) == ("left", "left/")
    manager, first = found.node("ros2_control_node"), found.node("spawner")
    assert yaml.safe_load(Path(manager.parameters[0]).read_text(encoding="utf-8"))["/**/arm"][
        "ros__parameters"
    ]["joints"] == ["hip"]
    assert first.arguments[0] == "arm"
    assert first.arguments[-2:] == ["--param-file", manager.parameters[0]]
    found.exit(first, 0)
    assert {"other", "--inactive"} <= set(found.nodes[-1].arguments)
    assert [text for text in found.logged if "<gpio> is left out" in text]


def test_a_chosen_rate_of_the_clock_and_the_usual_namespace_count(launch, own):
    file = Path(own["controllers_file"])
    file.write_text(OWN_CONTROLLERS.replace("$(var side)", "$(var namespace)hip"))
    packages = [*CONTROL[:2], "robot_state_publisher", "f"]
    found = launch("ros2_control.launch.py", packages, clock_rate="500.0", **own)
    assert found.node("sim_node").values["clock_rate"] == 500.0
    assert found.node("spawner").arguments[0] == "arm"


def test_arguments_of_the_model_fill_the_controllers_file_and_may_be_empty(launch, own):
    del own["side"]
    Path(own["controllers_file"]).write_text(OWN_CONTROLLERS.replace("$(var side)", "$(var p)hip"))
    own["model"] += " p:="
    found = launch("ros2_control.launch.py", [*CONTROL[:2], "robot_state_publisher", "f"], **own)
    assert found.node("spawner").arguments[0] == "arm"


WRONG = {
    "an unknown joint": ({"side": "knee"}, "'knee'"),
    "an unknown controller": ({"controller_names": "leg"}, "no controller 'leg'"),
    "no controllers": ({"controllers_file": "/nowhere.yaml"}, "/nowhere.yaml"),
    "a missing model": ({"model": "/nowhere.urdf"}, "/nowhere.urdf"),
    "a world beside the model": ({"world": ARM}, "in place of world"),
}


@all_cases("case", WRONG)
def test_what_does_not_fit_is_an_error_before_anything_starts(case, launch, own):
    changed, words = WRONG[case]
    with pytest.raises(ValueError, match=words):
        launch(
            "ros2_control.launch.py",
            [*CONTROL[:2], "robot_state_publisher", "f"],
            **(own | changed),
        )
    assert launch.launched[-1].nodes == []
