"""Files of parameters: what launch files make of them, and nodes of those that are examples."""

from contextlib import closing
from pathlib import Path

import launch_double
import pytest
import yaml
from launch_double import CONTROL
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import ENVIRONMENT

from hrp_sim.ros.sim_node import RosSession

ARM = str(MODELS / "worlds" / "arm.yaml")
STACK = str(MODELS / "worlds" / "stack.yaml")


def warnings(launched):
    return [line for line in launched.logged if line.startswith("warning: there is no argument")]


@pytest.fixture
def launch():
    with launch_double.launching() as run:
        yield run


def test_arguments_come_before_the_file_and_the_file_before_defaults(tmp_path, launch):
    file = tmp_path / "mine.yaml"
    given = {"watch": False, "collision": "box", "publish_frequency": 5.0}
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": given}}), encoding="utf-8")
    found = launch(
        "display.launch.py", params_file=str(file), rviz="false", publish_frequency="20.0"
    )
    values = found.node("model_node").values
    assert (values["watch"], values["collision"], values["publish_frequency"]) == (
        False, "box", 20.0,
    )  # fmt: skip


def test_what_is_shown_is_what_the_file_has(tmp_path, launch):
    """The node reads the file; so do those who read the model or the world for RViz."""
    file = tmp_path / "mine.yaml"
    given = {"world": ARM, "frame_prefix": "r/", "naming": "choreonoid", "contact_rate": 20.0}
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": given}}), encoding="utf-8")
    found = launch("ros2_control.launch.py", CONTROL, params_file=str(file))
    values = found.node("sim_node").values
    assert {name: values[name] for name in given} == given
    config = Path(found.node("rviz2").arguments[1]).read_text(encoding="utf-8")
    assert "TF Prefix: r\n" in config
    assert "/contacts/markers\n" in config
    assert found.node("ros2_control_node").namespace == "arm"
    found = launch("simulation.launch.py", params_file=str(file), world=STACK, rviz="false")
    assert found.node("sim_node").values["world"] == STACK


@pytest.mark.parametrize(
    "text", ["", "[", "- 1", "/**: 1", "/**: {ros__parameters: [world]}", "node: {}"]
)
def test_a_file_that_is_none_is_left_to_the_node_to_tell(text, tmp_path, launch):
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    [node] = launch("simulation.launch.py", params_file=str(file), rviz="false").nodes
    assert str(file) in node.parameters


@pytest.mark.parametrize("name", ["display.launch.py", "simulation.launch.py"])
def test_a_file_that_is_missing_is_refused(name, tmp_path, launch):
    """With launch_ros itself the node would start without it."""
    with pytest.raises(ValueError, match=r"params_file: there is no file '.*/none\.yaml'"):
        launch(name, params_file=str(tmp_path / "none.yaml"), rviz="false")


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("display.launch.py", "modle", "model"),
        ("display.launch.py", "world", "model"),
        ("simulation.launch.py", "model", "world"),
        ("simulation.launch.py", "real_time_facto", "real_time_factor"),
    ],
)
def test_an_argument_that_is_nearly_right_is_a_warning(name, given, meant, launch):
    [warning] = warnings(launch(name, rviz="false", **{given: "x"}))
    assert warning == f"warning: there is no argument '{given}'. Did you mean '{meant}'?"


def test_arguments_of_launch_files_that_include_one_are_no_mistake(launch):
    found = launch("simulation.launch.py", rviz="false", world=ARM, model="x", qqqq="y")
    assert warnings(found) == []
    own = {"controllers_file": "", "controller_names": ""}
    assert warnings(launch("ros2_control.launch.py", CONTROL, world=ARM, **own)) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("naming: mine", "'standard', 'choreonoid' or 'hrpsys', not 'mine'"),
        ("seed: many", "must be an integer, not 'many'"),
        ("contact_rate: 2020-01-01", "a number, not '2020-01-01'"),
    ],
)
def test_values_in_the_file_that_make_no_sense_are_refused_with_words(
    given, words, tmp_path, launch
):
    file = tmp_path / "mine.yaml"
    file.write_text(f"/**: {{ros__parameters: {{{given}}}}}", encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        launch("simulation.launch.py", params_file=str(file), rviz="false")


@pytest.mark.parametrize("name", ["simulation.yaml", "display.yaml"])
def test_files_of_examples_fit_the_launch_files(name, launch):
    found = launch(name.replace(".yaml", ".launch.py"), params_file=str(ROOT / "config" / name))
    node = found.nodes[0]
    assert str(ROOT / "config" / name) in node.parameters


def ros_arguments(monkeypatch, name):
    """Let a node in this process be started with a file of parameters."""
    for key, value in ENVIRONMENT.items():
        monkeypatch.setenv(key, value)
    file = str(ROOT / "config" / name)
    monkeypatch.setattr("sys.argv", ["node", "--ros-args", "--params-file", file])
    text = (ROOT / "config" / name).read_text(encoding="utf-8")
    return yaml.safe_load(text)["/**"]["ros__parameters"]


def test_the_simulator_takes_the_file_of_examples(monkeypatch):
    given = ros_arguments(monkeypatch, "simulation.yaml")
    del given["qos_overrides"]
    world = str(MODELS / "worlds" / "humanoid_in_room.yaml")
    with closing(RosSession({"world": world})) as session:
        node = session.node
        assert node.get_parameter("left_foot_force.rate").value == 250.0
        assert session.simulation.sensors["left_foot_force"].rate_hz == 250.0
        del given["left_foot_force"]
        assert {key: node.get_parameter(key).value for key in given} == given
        told = {
            topic: node.get_publishers_info_by_topic(topic)[0].qos_profile.reliability.name
            for topic in ("/scan", "/head_camera/image_raw", "/imu/data_raw")
        }
        assert told.pop("/scan") == "BEST_EFFORT"
        assert set(told.values()) == {"RELIABLE"}  # no other topic has changed


def test_the_model_node_takes_the_file_of_examples(monkeypatch):
    import rclpy

    from hrp_model.ros.model_node import ModelNode
    from hrp_msgs.node.start import init_ros

    given = ros_arguments(monkeypatch, "display.yaml")
    init_ros()
    try:
        node = ModelNode()
        assert {key: node.get_parameter(key).value for key in given} == given
        node.destroy_node()
    finally:
        rclpy.try_shutdown()
