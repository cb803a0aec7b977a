"""Nodes that cannot start say why, or what was meant, and end with the right status."""

import re

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_session import ended

from hrp_sim.cli.main import main

pytestmark = pytest.mark.ros

MODEL = str(MODELS / "arm" / "arm.body")
ARM = f"world:={MODELS / 'worlds' / 'arm.yaml'}"
ROVER = f"world:={MODELS / 'worlds' / 'rover.yaml'}"


def given(*parameters):
    """Return the arguments that set parameters."""
    return ["--ros-args", *(word for p in parameters for word in ("-p", p))]


def with_quality(quality):
    return given(ARM, f"qos_overrides./{quality}")


@pytest.fixture
def started(monkeypatch, capfd, tmp_path):
    """Return what starts a node in a folder, and returns its exit status and what it wrote."""
    monkeypatch.chdir(tmp_path)

    def start(program, words):
        status, said = ended(words, monkeypatch, capfd, program)
        assert "Traceback" not in said
        return status, said

    return start


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 2, "world:=FILE, or --help"),
        (["--help"], 0, r"usage: sim_node \[--ros-args -p NAME:=VALUE ...\]"),
        (["--unheard-of"], 2, "--unheard-of"),
        (given("world:=none.yaml"), 1, "cannot read 'none.yaml'"),
        (given("world:=bad.yaml"), 1, "bad.yaml:1:20: error: no such file"),
        (given("world:=rovr"), 1, "Did you mean 'rover'?"),
        (given("world:=package://nobody/x.yaml"), 1, "no package 'nobody'"),
        (given("world:=x.yaml", "solver:=fast"), 2, "'world' or 'quick', not 'fast'"),
        (given(ARM, "engine:=bullet"), 2, "engine must be 'ode' or 'pyode', not 'bullet'"),
        (given("world"), 2, "ROS cannot start"),
        (given(ARM, "command_topics:=joint_comands"), 2, "Did you mean 'joint_commands'?"),
        (given(ARM, "hardware_interfaces:=J1/torque"), 2, "'J1/torque' is not JOINT/position"),
        (given(ARM, "hardware_interfaces:=J1/effort"), 2, "only for hardware_topics"),
        (given(ARM, "J1.kp:=-1.0"), 2, "J1.kp must be in the range"),
        (given(ARM, "J3.initial_position:=3.0"), 2, "J3.initial_position must be in the range"),
        (given(ARM, "cmd_vel_type:=Tvist"), 2, "cmd_vel_type must be"),
        (given(ARM, "lock_step:=//"), 2, "lock_step cannot be created"),
        (
            given(ARM, "lock_step:=follow_joint_trajectory"),
            2,
            "lock_step: '/follow_joint_trajectory' is an action",
        ),
        (
            given(ARM, "lock_step:=set_joint_positions"),
            2,
            "'/set_joint_positions' acts at once",
        ),
        (
            with_quality("clock.publisher.depth:=2147483648"),
            2,
            "topic '/clock' cannot be created: .* depth must be in the range .*, not 2147483648",
        ),
        (
            with_quality("clock.publisher.reliability:=unknown"),
            2,
            "topic '/clock' cannot be created: .* reliability must not be 'unknown'",
        ),
        (
            with_quality("joint_states.publisher.reliability:=some"),
            2,
            "topic 'joint_states' cannot be created: Unexpected QoS override",
        ),
        (
            with_quality("joint_commands.subscription.history:=keep_some"),
            2,
            "topic 'joint_commands' cannot be created",
        ),
        (
            given(ROVER, "cmd_vel_type:=Twist", "qos_overrides./cmd_vel.subscription.depth:=-5"),
            2,
            "topic 'cmd_vel' cannot be created: .*depth must be in the range 0 .. .*, not -5",
        ),
        (
            given(
                ROVER,
                "cmd_vel_type:=TwistStamped",
                "qos_overrides./cmd_vel.subscription.reliability:=some",
            ),
            2,
            "topic 'cmd_vel' cannot be created: .*Unexpected QoS override",
        ),
        ([*given(ARM), "-r", f"__ns:=/{'n' * 240}"], 2, "the node cannot be created"),
        ([*given(ARM), "-r", f"__node:={'n' * 300}"], 2, "the node cannot be created"),
    ],
)
def test_what_cannot_run_says_why(arguments, status, words, started, tmp_path):
    (tmp_path / "bad.yaml").write_text("bodies: [ { model: no.body } ]", encoding="utf-8")
    ended_with, said = started("sim_node", arguments)
    assert ended_with == status, said
    assert re.search(words, said), said


@pytest.mark.parametrize(
    ("program", "arguments", "meant"),
    [
        ("sim_node", ["file.yaml"], "world:=file.yaml"),
        ("model_node", ["arm.body"], "model:=arm.body"),
        ("sim_node", ["--duration", "a.yaml"], "world:=a.yaml"),
        ("sim_node", ["-p", "world:=a.yaml"], "world:=a.yaml"),
        ("sim_node", ["world:=a.yaml"], "world:=a.yaml"),
        ("model_node", ["--ros-args", "model:=a.urdf"], "model:=a.urdf"),
        ("sim_node", [*given("seed:=1"), "world:=a.yaml"], "world:=a.yaml"),
        ("sim_node", [*given("seed:=1"), "--", "a.yaml"], "world:=a.yaml"),
        ("sim_node", ["--params-file", "sim.yaml"], "--params-file sim.yaml"),
        ("model_node", ["--ros-arg", "-p", "model:=a"], "model:=a"),
    ],
)
def test_arguments_that_are_not_for_ros_are_refused_with_what_was_meant(
    program, arguments, meant, started
):
    status, said = started(program, arguments)
    assert status == 2
    option = "" if meant.startswith("--") else "-p "
    assert f"Did you mean '{program} --ros-args {option}{meant}'?" in said


@pytest.mark.parametrize(
    ("program", "named"),
    [
        ("sim_node", "world:=wrld"),
        ("model_node", "model:=modle"),
        ("sim_node", "world:=model"),  # that of the other node
        ("model_node", "model:=world"),
    ],
)
def test_parameters_that_a_node_does_not_have_are_listed(program, named, started):
    right, _, wrong = named.partition(":=")
    words = given(f"{wrong}:={MODEL}", "qqqq:=1", "use_sim_time:=false")
    words += ["-p", "qos_overrides./tf.publisher.depth:=7", "-p", "other_node:qqq:=1"]
    status, said = started(program, words)
    assert status == 2  # for none is named
    assert f"there is no parameter '{wrong}'. Did you mean '{right}'?" in said
    assert "there is no parameter 'qqqq'. --help lists all parameters." in said
    assert said.count("there is no parameter") == 2


def test_a_command_that_cannot_start_ros_says_why(monkeypatch, capsys):
    monkeypatch.setenv("ROS_DOMAIN_ID", "zero")
    assert main(["run", "arm", "--ros"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hrp-sim: error: ROS cannot start")
    assert "ROS_DOMAIN_ID" in line
