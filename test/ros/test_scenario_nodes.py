"""Scenarios with ROS nodes, as users of the plugin of pytest run them."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from paths import MODELS
from run_page_tools import wait_until

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

import rclpy

# What runs in this process is imported once: extension modules cannot be imported again.
import hrp_ros.testing.ros.stage
import hrp_ros.testing.runs
from hrp_ros.testing.ros.nodes import NodeProcess, reserved_domain

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.ros

CONTROLLER = """
import math, sys
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState

class Swing(Node):
    def __init__(self):
        super().__init__("swing")
        self.commands = self.create_publisher(JointState, "joint_commands", 10)
        self.create_subscription(JointState, "joint_states", self.answer, 10)

    def answer(self, state):
        time = state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec
        if len(sys.argv) > 1 and time > float(sys.argv[1]):
            sys.exit("the motor is too hot")
        target = [0.3 * math.sin(5 * time), 0.5, 0.9, 0.0, 0.6, 0.0]
        gains = [2000.0, 3000.0, 1500.0, 150.0, 150.0, 150.0]
        command = JointState(header=state.header, name=state.name)
        command.effort = [
            k * (t - q - 0.13 * v)
            for k, t, q, v in zip(gains, target, state.position, state.velocity)
        ]
        self.commands.publish(command)

rclpy.init()
rclpy.spin(Swing())
"""
WORLD = f"world: {MODELS}/worlds/arm.yaml\n"
IN_LOCK_STEP = (
    f"{WORLD}duration: 0.4\nros:\n  nodes: [ python controller.py ]\n  lock_step: joint_commands\n"
)


@pytest.fixture
def scenario(pytester, only_own_plugin, monkeypatch):
    """Return a function that runs pytest on a scenario file, in this process.

    A failed run is repeated for its files only if a folder is given for them.
    """
    pytester.makepyfile(controller=CONTROLLER)
    keep = hrp_ros.testing.runs.keep_artifacts

    def run(text, *arguments):
        kept = (
            keep if any(word.startswith("--hrp-artifacts") for word in arguments) else _keep_nothing
        )
        monkeypatch.setattr("hrp_ros.testing.runs.keep_artifacts", kept)
        (pytester.path / "arm.scenario.yaml").write_text(text, encoding="utf-8")
        return pytester.runpytest_inprocess("-Wignore", *arguments)

    return run


def _keep_nothing(_run, _folder):
    return []


def test_equal_runs_in_lock_step_have_equal_states_in_all_steps_and_other_rates_are_named(
    scenario, monkeypatch
):
    """The commands move the robot, and rates are those of the simulation and of its node.

    A stiff controller follows its target: 0.3 sin(5 * 0.4) = 0.273 rad, with some delay. Both send
    200 messages in 0.4 s, of which the last command may come after the end.
    """
    monkeypatch.setattr("hrp_ros.testing.ros.stage._DISCOVERY", 0.2)  # of what nobody publishes
    baseline = "baseline: arm.baseline.json\n"
    expected = "[ arm.joint.J1.position > 0.2 rad, arm.joint.J1.position < 0.3 rad ]"
    text = f"{baseline}expect: {expected}\n"
    scenario(f"{IN_LOCK_STEP}{text}", "--hrp-update-baseline").assert_outcomes(passed=1)
    right = "joint_states == 500 Hz, /joint_commands > 495 Hz"
    wrong = "joint_states < 500 Hz, joint_commands > 600 Hz, nowhere >= 1 Hz"
    done = scenario(f"{IN_LOCK_STEP}  rates: [ {right}, {wrong} ]\n{text}")
    done.assert_outcomes(failed=1)
    # Where the variable CI is set, pytest ends with all lines of a failure again.
    lines = dict.fromkeys(x for x in done.outlines if x.startswith("arm.scenario.yaml: "))
    states, commands, nowhere = lines
    assert states.endswith("joint_states < 500 Hz, but it is 500 Hz: 200 messages in 0.4 s")
    assert "expected joint_commands > 600 Hz, but it is " in commands
    assert nowhere.endswith("nowhere >= 1 Hz, but nothing has published on '/nowhere'")


def test_without_commands_a_run_is_that_without_ros(pytester, scenario):
    """Both have the baseline of one of them: ROS only looks on."""
    baseline = "duration: 0.2\nbaseline: arm.baseline.json\n"
    scenario(f"{WORLD}{baseline}", "--hrp-update-baseline").assert_outcomes(passed=1)
    rates = "ros: { real_time_factor: 0, rates: [ joint_states > 1 Hz ] }\n"
    scenario(f"{WORLD}{baseline}{rates}").assert_outcomes(passed=1)


def test_a_node_that_ends_is_named_with_its_output_which_is_kept(pytester, scenario):
    text = IN_LOCK_STEP.replace("controller.py", "controller.py 0.1")
    done = scenario(text, "--hrp-artifacts=kept")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "arm.scenario.yaml: the node 'python* controller.py 0.1' ended with status 1:",
            "  the motor is too hot",
            "at 0.102 s, the end:",
            "output of node 1: python* controller.py 0.1: *node_1.log",
        ]
    )
    folder = pytester.path / "kept" / "arm.scenario.yaml_arm"
    assert "the motor is too hot" in (folder / "node_1.log").read_text()
    pytest.importorskip("mcap", reason="recordings need mcap")
    from hrp_msgs.recording import Recording

    times = [m.time_ns for m in Recording(folder / "run.mcap").messages(["/joint_states"])]
    assert max(times) == 102_000_000


def test_nodes_that_do_not_answer_or_have_ended_are_named_after_the_timeout(
    pytester, scenario, monkeypatch
):
    class Begun(NodeProcess):
        """One that has printed what it prints, and has ended if it does."""

        def __init__(self, *arguments):
            super().__init__(*arguments)
            wait_until(lambda: self.output and ("short" not in self.name or self.status == 0))

    monkeypatch.setattr("hrp_ros.testing.ros.stage.NodeProcess", Begun)
    (pytester.path / "silent.sh").write_text("echo only asleep; exec sleep 1000")
    (pytester.path / "short.sh").write_text("echo good bye")
    text = IN_LOCK_STEP.replace("python controller.py", "/bin/sh silent.sh, /bin/sh short.sh")
    done = scenario(f"{text}  timeout: 1.0\n")
    done.stdout.fnmatch_lines(
        [
            "*the run made no step for 1 s: it waits for a command on /joint_commands "
            "(without publishers)",
            "the node 'sh silent.sh':",
            "  only asleep",
            "the node 'sh short.sh', which has ended with status 0:",
            "  good bye",
        ]
    )


def test_a_node_that_fails_at_the_end_of_the_run_is_named(pytester, scenario, monkeypatch):
    """What settles the rates waits for its end here."""
    nodes = []

    class Noted(NodeProcess):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            nodes.append(self)

    monkeypatch.setattr("hrp_ros.testing.ros.stage.NodeProcess", Noted)

    def settle(_meter):
        (pytester.path / "over").touch()
        wait_until(lambda: nodes[-1].status is not None)

    monkeypatch.setattr("hrp_ros.testing.ros.stage.RateMeter.settle", settle)
    # A signal that has no name.
    (pytester.path / "late.sh").write_text("until [ -e over ]; do sleep 0.02; done; kill -40 $$")
    done = scenario(f"{WORLD}duration: 0.01\nros: {{ nodes: [ /bin/sh late.sh ] }}\n")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*the node 'sh late.sh' ended with signal 40, without *"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("clock_rat: 3.0", "there is no parameter 'clock_rat'. Did you mean 'clock_rate'?"),
        ("clock_rate: 3", "clock_rate must be a number with a decimal point, not 3: write 3.0"),
        ("J7.kp: 3.0", "parameter 'J7.kp': there is no joint 'J7' to command*"),
        ("wrist.rate: 3.0", "'wrist.rate': there is no sensor 'wrist'*"),
        ("wrist_force.noise: 3.0", "'wrist_force.noise': sensors have no option 'noise'*"),
    ],
)
def test_parameters_that_concern_nothing_are_errors(scenario, parameters, message):
    done = scenario(f"{WORLD}duration: 0.1\nros: {{ parameters: {{ {parameters} }} }}\n")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"arm.scenario.yaml: ros: {message}"])


@pytest.mark.parametrize("key", ["rates: [ a-b > 3 Hz ]", "lock_step: a-b"])
def test_topics_that_cannot_exist_are_errors(scenario, key):
    done = scenario(f"{WORLD}duration: 0.1\nros: {{ {key} }}\n")
    done.stdout.fnmatch_lines(["arm.scenario.yaml: ros: *topic name must not contain*"])


def test_the_environment_of_the_tests_is_as_before(pytester, scenario, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    before = dict(os.environ)
    scenario(f"{WORLD}duration: 0.01\nros: {{ real_time_factor: 0 }}\n").assert_outcomes(passed=1)
    assert dict(os.environ) == before


def test_domains_are_different():
    with ExitStack() as stack:
        domains = [stack.enter_context(reserved_domain()) for _ in range(5)]
        assert len(set(domains)) == 5
        assert all(1 <= domain <= 101 for domain in domains)


def test_a_domain_in_which_others_are_is_left_alone(monkeypatch):
    with reserved_domain() as domain:
        pass
    monkeypatch.setattr("hrp_ros.testing.ros.nodes._DOMAINS", [domain])
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    other = rclpy.create_node("other", context=context)  # reserves nothing
    try:
        with pytest.raises(OSError, match="all 1 ROS domains"), reserved_domain():
            pass
    finally:
        other.destroy_node()
        context.try_shutdown()


def test_without_a_free_domain_a_scenario_fails_in_words(scenario, monkeypatch):
    monkeypatch.setattr("hrp_ros.testing.ros.nodes._DOMAINS", ())
    done = scenario(f"{WORLD}duration: 0.01\nros: {{}}\n")
    done.stdout.fnmatch_lines(["arm.scenario.yaml: ros: all 0 ROS domains for tests are reserved*"])


def is_running(pid):
    """Return whether a process runs; one that has ended may wait for its parent."""
    try:
        status = Path("/proc", pid, "status").read_text()
    except OSError:
        return False
    return "State:\tZ" not in status


def test_processes_that_a_node_has_started_end_with_it(tmp_path):
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        "print(child.pid, flush=True)\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(3))\n"
        "print('ready', flush=True)\n"
        "time.sleep(1000)"
    )
    (tmp_path / "node.py").write_text(code)
    node = NodeProcess(["/usr/bin/python3", "node.py"], tmp_path, {})
    while "ready" not in node.output:
        assert node.status is None
    node.close()
    assert node.status == 3
    wait_until(lambda: not is_running(node.output.split()[0]))


def test_processes_that_have_left_the_group_of_a_node_end_with_it(tmp_path):
    """They would keep its output open, and go on in its ROS domain."""
    code = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "print(child.pid)"
    )
    (tmp_path / "node.py").write_text(code)
    node = NodeProcess(["/usr/bin/python3", "node.py"], tmp_path, {})
    wait_until(lambda: node.status == 0)
    node.close()
    assert not is_running(node.output.strip())


def test_a_node_that_ignores_signals_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "hrp_ros.testing.ros.nodes._ENDINGS",
        ((signal.SIGINT, 0.1), (signal.SIGTERM, 0.1), (signal.SIGKILL, None)),
    )
    (tmp_path / "node.sh").write_text("trap '' INT TERM; echo ready; while :; do sleep 0.1; done")
    node = NodeProcess(["/bin/sh", "node.sh"], tmp_path, {})
    while "ready" not in node.output:
        assert node.status is None
    node.close()
    assert node.status == -signal.SIGKILL
