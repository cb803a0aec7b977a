"""Nodes that are started nearly right say what was meant."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from paths import MODELS
from ros_session import ended

pytestmark = pytest.mark.ros

ARM = str(MODELS / "arm" / "arm.body")


@pytest.fixture
def started(monkeypatch, capfd):
    """Return what starts a node, and returns its exit status and what it wrote."""
    return lambda program, *words: ended(words, monkeypatch, capfd, program)


@pytest.mark.parametrize(
    ("program", "arguments", "meant"),
    [
        ("sim_node", ["file.yaml"], "sim_node --ros-args -p world:=file.yaml"),
        ("model_node", ["arm.body"], "model_node --ros-args -p model:=arm.body"),
        ("sim_node", ["--duration", "a.yaml"], "sim_node --ros-args -p world:=a.yaml"),
        ("sim_node", ["-p", "world:=a.yaml"], "sim_node --ros-args -p world:=a.yaml"),
        ("sim_node", ["world:=a.yaml"], "sim_node --ros-args -p world:=a.yaml"),
        ("model_node", ["--ros-args", "model:=a.urdf"], "model_node --ros-args -p model:=a.urdf"),
        (
            "sim_node",
            ["--ros-args", "-p", "seed:=1", "world:=a.yaml"],
            "sim_node --ros-args -p world:=a.yaml",
        ),
        (
            "sim_node",
            ["--ros-args", "-p", "seed:=1", "--", "a.yaml"],
            "sim_node --ros-args -p world:=a.yaml",
        ),
        (
            "sim_node",
            ["--params-file", "sim.yaml"],
            "sim_node --ros-args --params-file sim.yaml",
        ),
        ("model_node", ["--ros-arg", "-p", "model:=a"], "model_node --ros-args -p model:=a"),
    ],
)
def test_arguments_that_are_not_for_ros_are_refused_with_what_was_meant(
    program, arguments, meant, started
):
    status, said = started(program, *arguments)
    assert status == 2
    assert f"Did you mean '{meant}'?" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("program", "named"), [("sim_node", "world:=wrld"), ("model_node", "model:=modle")]
)
def test_parameters_that_a_node_does_not_have_are_listed(program, named, started):
    right, _, wrong = named.partition(":=")
    given = ["-p", f"{wrong}:={ARM}", "-p", "qqqq:=1", "-p", "use_sim_time:=false"]
    given += ["-p", "qos_overrides./tf.publisher.depth:=7", "-p", "other_node:qqq:=1"]
    status, said = started(program, "--ros-args", *given)
    assert status == 2  # for none is named
    assert f"there is no parameter '{wrong}'. Did you mean '{right}'?" in said
    assert "there is no parameter 'qqqq'. --help lists all parameters." in said
    assert said.count("there is no parameter") == 2


@pytest.mark.parametrize(("program", "right"), [("sim_node", "world"), ("model_node", "model")])
def test_the_parameter_of_the_other_node_is_answered_with_that_of_this_one(program, right, started):
    wrong = {"world": "model", "model": "world"}[right]
    status, said = started(program, "--ros-args", "-p", f"{wrong}:={ARM}")
    assert status == 2
    assert f"there is no parameter '{wrong}'. Did you mean '{right}'?" in said


def test_a_world_of_this_package_is_taken_by_name(started):
    status, said = started("sim_node", "--ros-args", "-p", "world:=rovr")
    assert status == 1
    assert "Did you mean 'rover'?" in said
