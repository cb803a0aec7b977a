"""Another process that means no good, or knows no better: the node refuses, and goes on."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import textwrap
import unicodedata
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("simulation_interfaces", reason="simulation_interfaces is not built")
pytest.importorskip("control_msgs", reason="control_msgs is not built")

from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from controlled_run import BOX
from geometry_msgs.msg import PoseStamped, Vector3, WrenchStamped
from paths import MODELS, ROOT
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from ros.hostile_texts import TEXTS
from ros.ros_caller import Caller
from ros_peer import ENVIRONMENT, PATIENCE, program_of, running
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulation_interfaces.msg import (
    Bounds,
    EntityFilters,
    EntityState,
    Resource,
    Result,
    SimulationState,
)
from std_msgs.msg import Float64MultiArray, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
SELDOM = "-p", "joint_states.rate:=50.0"  # so that hearing it takes little
JOINTS = [f"J{k}" for k in range(1, 8)]
OK, NOT_FOUND, FAILED = Result.RESULT_OK, Result.RESULT_NOT_FOUND, Result.RESULT_OPERATION_FAILED
NAN, INF = math.nan, math.inf
HUGE = "x" * 1_000_000
# As much as somebody may read who looks for what went wrong; what is sent here is 100 times that.
MOST_LOG = 300_000
MOST_MEMORY = 1 << 30  # [B], resident, after everything above
STEERING = ("Cc", "Cf", "Zl", "Zp")  # characters that steer a terminal or reorder its text


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    log = tmp_path_factory.mktemp("hostile") / "log.txt"
    arguments = ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={WORLD}", *SELDOM]
    with running(arguments, log) as process:
        caller = Caller(process, log)
        caller.follow("/clock", Clock)
        caller.follow("/joint_states", JointState)
        try:
            heard = caller.messages["/clock"]
            caller.wait_until("the clock", lambda: heard or process.poll() is not None)
            yield SimpleNamespace(caller=caller, process=process, log=log)
        finally:
            caller.close()


@pytest.fixture
def caller(shared):
    """A caller of a node that plays the arm's world; afterwards it does so again."""
    yield shared.caller
    shared.caller.is_well()


def point(seconds, *positions, **columns):
    return JointTrajectoryPoint(
        time_from_start=Duration(sec=seconds), positions=list(positions), **columns
    )


def soon(position):
    return JointTrajectoryPoint(time_from_start=Duration(nanosec=10**8), positions=[position])


def array(*values, offset=0):
    return Float64MultiArray(data=list(values), layout=MultiArrayLayout(data_offset=offset))


def wrench(frame, x=0.0):
    message = WrenchStamped()
    message.header.frame_id = frame
    message.wrench.force.x = x
    return message


def test_commands_that_mean_nothing_are_warned_of(caller):
    values = [NAN, INF, -INF, 1e308, -1e308, 5e-324, 0.0]
    late = JointState(name=JOINTS, effort=values)
    late.header.stamp = Time(sec=-(2**31), nanosec=2**32 - 1)
    joints = [
        JointState(name=JOINTS, position=values),
        JointState(name=JOINTS, velocity=[1.0] * 6),
        JointState(name=[], position=[1.0]),
        JointState(name=["", "\n", HUGE, "J1", "J1"], position=[1.0] * 5),
        JointState(name=[f"n{k}" for k in range(20_000)], effort=[0.0]),
        late,
    ]
    caller.send_until_told("/joint_commands", joints, "names 20000 joints")
    for mode in ("position", "velocity", "effort"):
        arrays = [array(), array(1.0), array(*[0.1] * 7, offset=2**32 - 1), array(*[NAN] * 100)]
        caller.send_until_told(f"/{mode}_commands", arrays, f"/{mode}_commands: ")
    wrenches = [wrench(HUGE, 1.0), wrench("", NAN), wrench("BASE", 1e300), wrench("BASE", -INF)]
    caller.send_until_told("/external_wrench", wrenches, "/external_wrench: ")


def test_trajectories_that_mean_nothing_are_warned_of(caller):
    many = [point(k + 1, *[0.0] * 7) for k in range(20_000)]
    early, late = (JointTrajectory(joint_names=["J1"], points=[point(1, 0.1)]) for _ in range(2))
    early.header.stamp = Time(sec=-(2**31))
    late.header.stamp = Time(sec=2**31 - 1)
    trajectories = [
        JointTrajectory(joint_names=["J1"], points=[point(1, NAN)]),
        JointTrajectory(joint_names=["J1"], points=[point(2, 0.1), point(1, 0.2)]),
        JointTrajectory(joint_names=["J1"], points=[point(-(2**31), 0.1)]),
        JointTrajectory(joint_names=["J1", "J1"], points=[point(1, 0.1, 0.1)]),
        JointTrajectory(joint_names=["J1", "J2"], points=[point(1, 0.1)]),
        JointTrajectory(joint_names=["J1"], points=[point(1, 0.1, velocities=[INF])]),
        JointTrajectory(points=[point(1, 0.1)]),
        JointTrajectory(joint_names=[HUGE], points=[point(1, 0.1)]),
        JointTrajectory(joint_names=JOINTS, points=[*many, point(5, *[0.0] * 7)]),
        early,
        late,
    ]
    caller.send_until_told("/joint_trajectory", trajectories, "/joint_trajectory: ")


@pytest.fixture(scope="module")
def action(shared):
    client = shared.caller.action_client(FollowJointTrajectory, "/follow_joint_trajectory")
    shared.caller.wait_until("the action", client.server_is_ready)
    return client


def goal(*points, joints=("J1",)):
    trajectory = JointTrajectory(joint_names=list(joints), points=list(points))
    return FollowJointTrajectory.Goal(trajectory=trajectory)


def results(caller, action, *goals):
    futures = caller.at_once(lambda: [action.send_goal_async(g) for g in goals])
    caller.wait_until("all handles", lambda: all(f.done() for f in futures))
    asked = caller.at_once(lambda: [f.result().get_result_async() for f in futures])
    caller.wait_until("all results", lambda: all(f.done() for f in asked))
    return [f.result().result for f in asked]


def test_goals_that_mean_nothing_are_told_why(caller, action):
    wrong = [
        goal(),
        goal(point(1, NAN)),
        goal(point(1, 0.1), joints=[HUGE]),
        goal(point(1, 0.1), joints=[]),
        goal(point(-5, 0.1)),
        goal(point(2, 0.1), point(1, 0.1)),
    ]
    wrong[0].trajectory.joint_names = ["none"]
    found = results(caller, action, *wrong)
    assert all(r.error_code < 0 for r in found), found
    assert all(0 < len(r.error_string) < 5000 for r in found)


def burst(caller, action, goals):
    """Send goals and cancel them at once; return the first handle when all have ended."""
    sent = caller.at_once(lambda: [action.send_goal_async(g) for g in goals])
    caller.wait_until("all handles", lambda: all(f.done() for f in sent))
    handles = [f.result() for f in sent]
    asked = caller.at_once(lambda: [h.get_result_async() for h in handles])
    cancels = caller.at_once(lambda: [h.cancel_goal_async() for h in handles])
    caller.wait_until("all cancels", lambda: all(f.done() for f in cancels))
    caller.wait_until("all results", lambda: all(f.done() for f in asked))
    return handles[0]


def test_bursts_of_goals_and_cancels_leave_nothing_behind(caller, action):
    for _ in range(5):  # each as large as what a client of ROS keeps of answers
        handle = burst(caller, action, [goal(point(600, 0.01 * k)) for k in range(10)])
    again = caller.at_once(handle.cancel_goal_async)  # of what is over
    caller.wait_until("an answer", again.done)
    assert not again.result().goals_canceling
    (short,) = results(caller, action, goal(soon(0.1)))
    assert short.error_code == FollowJointTrajectory.Result.SUCCESSFUL, short


@pytest.mark.slow
def test_a_client_that_is_killed_in_mid_goal_stops_nobody(caller, action):
    program = """
        import os, signal, sys, rclpy
        from rclpy.action import ActionClient
        from control_msgs.action import FollowJointTrajectory
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
        rclpy.init()
        node = rclpy.create_node("killed")
        client = ActionClient(node, FollowJointTrajectory, "/follow_joint_trajectory")
        client.wait_for_server()
        point = JointTrajectoryPoint(positions=[0.2])
        point.time_from_start.sec = 600
        goal = FollowJointTrajectory.Goal()
        goal.trajectory = JointTrajectory(joint_names=["J2"], points=[point])
        def heard(_):
            os.kill(os.getpid(), signal.SIGKILL)
        client.send_goal_async(goal, heard)
        rclpy.spin(node)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)},
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    (taken,) = results(caller, action, goal(soon(0.1), joints=["J2"]))
    assert taken.error_code == FollowJointTrajectory.Result.SUCCESSFUL, taken


def test_services_are_told_why_they_cannot(caller):
    state = EntityState()
    state.pose.orientation.w = 0.0
    caller.is_refused("set_entity_state", entity="arm", state=state, set_pose=True)
    state.pose.orientation.w = NAN
    caller.is_refused("set_entity_state", entity="Floor", state=state, set_pose=True)
    state.pose.orientation.w, state.header.frame_id = 1.0, HUGE
    caller.is_refused("set_entity_state", entity="arm", state=state, set_pose=True)
    state.header.frame_id, state.twist.linear.x = "", INF
    caller.is_refused("set_entity_state", entity="arm", state=state, set_twist=True)
    for name in ("", "\n", "/", "nobody", "\U0001f916", HUGE):
        for service in ("delete_entity", "get_entity_state", "get_entity_info"):
            caller.is_refused(service, NOT_FOUND, entity=name)
        caller.is_refused("get_entity_bounds", NOT_FOUND, entity=name)
        caller.is_refused("set_entity_info", NOT_FOUND, entity=name)
    for number in (-128, -1, 3 + 3, 99, 127):
        caller.is_refused("set_simulation_state", state=SimulationState(state=number % 256))
    caller.is_refused("step_simulation", FAILED, steps=2**64 - 1)
    caller.is_refused("reset_simulation", scope=128)
    for expression in ("(", "[", "*", "a{1", "((a{255}){255}){255}", HUGE):
        caller.is_refused("get_entities", filters=EntityFilters(filter=expression))
    for kind, points in ((9, []), (1, [Vector3()]), (3, [Vector3(), Vector3(x=1e300)])):
        caller.is_refused(
            "get_entities", filters=EntityFilters(bounds=Bounds(type=kind, points=points))
        )
    for source in ("/none", "package://none", "http://x", "relative", HUGE, "\0"):
        caller.is_refused("get_available_worlds", additional_sources=[source])


def spawn(caller, **fields):
    pose = fields.setdefault("initial_pose", PoseStamped()).pose
    if not any(getattr(pose.position, k) for k in "xyz"):
        pose.position.x = 50.0
    return caller.ask("spawn_entity", **fields)


def with_sensor(name):
    """Return the box with a force sensor of this name."""
    shape = "- { type: Shape"
    sensor = f"- {{ type: ForceSensor, name: {name}, id: 0 }}\n      {shape}"
    return Resource(resource_string=BOX.replace(shape, sensor))


def spawn_is_refused(caller, **fields):
    result = spawn(caller, **fields).result
    assert result.result not in (OK, 0), fields
    assert 0 < len(result.error_message) < 5000
    assert "unexpected error" not in result.error_message, result


def test_rubbish_is_spawned_neither_from_texts_nor_from_files(caller, tmp_path):
    before = list(caller.ask("get_entities").entities)
    for (name, data), suffix in zip(TEXTS.items(), cycle([".body", ".urdf", ".wrl"])):
        text = data.decode(errors="replace")
        spawn_is_refused(caller, name="t", entity_resource=Resource(resource_string=text))
        path = tmp_path / f"{name.replace(' ', '_')}{suffix}"
        path.write_bytes(data)
        spawn_is_refused(caller, name="t", entity_resource=Resource(uri=str(path)))
    (tmp_path / "folder.body").mkdir()
    os.mkfifo(tmp_path / "fifo.body")
    (tmp_path / "zero.wrl").symlink_to("/dev/zero")
    (tmp_path / "loop.body").symlink_to(tmp_path / "loop.body")
    (tmp_path / "shows.body").write_text(BOX.replace("Box, size: [ 0.2, 0.4, 0.6 ]", "Nobody"))
    (tmp_path / "in.wrl").write_text('#VRML V2.0 utf8\nInline { url "fifo.body" }')
    places = [*tmp_path.glob("[fzlsi]*.*"), *("/dev/zero", "/", "..", "x" * 5000, HUGE, "a\0b")]
    for place in (*places, "file:///dev/zero", "package://hrp_ros/../../etc/passwd", "http://x"):
        spawn_is_refused(caller, name="t", entity_resource=Resource(uri=str(place)))
    assert list(caller.ask("get_entities").entities) == before


def test_spawning_what_is_right_under_wrong_names_and_poses_is_refused(caller):
    box = Resource(resource_string=BOX)
    for name in ("/", "a/b", "\n", " x", "\x1b", HUGE, "é" * 200, "arm"):
        spawn_is_refused(caller, name=name, entity_resource=box)
    for namespace in ("1", "a//b", "a b", "é", "n" * 250, HUGE):
        spawn_is_refused(caller, name="b", entity_namespace=namespace, entity_resource=box)
    for q in ((0.0, 0.0), (NAN, 1.0), (2.0, 0.0), (1e308, 1e308)):
        stamped = PoseStamped()
        stamped.pose.orientation.w, stamped.pose.orientation.x = q
        spawn_is_refused(caller, name="b", entity_resource=box, initial_pose=stamped)
    long = spawn(caller, name="b", entity_resource=with_sensor("s" * 300)).result
    assert "has 300 characters" in long.error_message, long
    assert spawn(caller, name="b", entity_resource=box).result.result == OK
    assert caller.ask("delete_entity", entity="b").result.result == OK
    caller.is_refused("delete_entity", NOT_FOUND, entity="b")


def test_worlds_of_rubbish_leave_the_present_one_running(caller, tmp_path):
    path = tmp_path / "w.yaml"
    for data in (*TEXTS.values(), b"bodies: 3", b"bodies: [ { model: w.yaml } ]", b""):
        path.write_bytes(data)
        caller.is_refused("load_world", world_resource=Resource(uri=str(path)))
    for place in ("/dev/zero", "none.yaml", HUGE, str(tmp_path), "w.yaml\0"):
        caller.is_refused("load_world", world_resource=Resource(uri=place))
    # A name that is no text, as file systems allow: it cannot be told, but the others are.
    (tmp_path / os.fsdecode(b"\xff.yaml")).write_text("bodies: []\n")
    os.mkfifo(tmp_path / "fifo.yaml")
    path.write_text("bodies: []\n")
    found = caller.ask("get_available_worlds", additional_sources=[str(tmp_path)])
    assert found.result.result == OK, found.result
    assert f"file://{path}" in [w.world_resource.uri for w in found.worlds]


def test_everything_deleted_comes_back_with_a_reset(caller):
    for name in list(caller.ask("get_entities").entities):
        assert caller.ask("delete_entity", entity=name).result.result == OK
    assert not caller.ask("get_entities").entities
    assert caller.ask("reset_simulation").result.result == OK
    assert list(caller.ask("get_entities").entities) == ["Floor", "arm"]


def parameter(name, kind, **value):
    return Parameter(name=name, value=ParameterValue(type=kind, **value))


def test_parameters_that_make_no_sense_are_refused(caller):
    double, text = ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_STRING
    wrong = [
        *(
            parameter(name, double, double_value=value)
            for name in ("J1.kp", "gains.J1.d", "real_time_factor", "wrench_duration")
            for value in (NAN, INF, -1.0, 1e300)
        ),
        parameter("J1.mode", text, string_value="nothing"),
        parameter("J1.kp", text, string_value=HUGE),
        parameter("J1.kp", ParameterType.PARAMETER_NOT_SET),
        parameter("command_fallback", text, string_value="\n"),
        parameter("command_rate_limit", text, string_value="slow"),
        parameter("world", text, string_value="other.yaml"),
        parameter("nobody.kp", double, double_value=1.0),
        parameter(HUGE, double, double_value=1.0),
    ]
    for _ in range(5):
        done = caller.call("sim_node/set_parameters", SetParameters, parameters=wrong)
        told = {p.name[:20]: r.reason for p, r in zip(wrong, done.results, strict=True)}
        assert not any(r.successful for r in done.results), told
        assert all(r.reason for r in done.results), told


def test_parameters_that_rclpy_itself_cannot_read_cost_an_answer_only(shared):
    caller = shared.caller
    client = caller.node.create_client(SetParameters, "sim_node/set_parameters")
    caller.wait_until("the service", client.service_is_ready)
    for wrong in (parameter("J1.kp", 250), parameter("", ParameterType.PARAMETER_DOUBLE)):
        for _ in range(3):
            client.call_async(SetParameters.Request(parameters=[wrong]))
    caller.wait_until("words in the log", lambda: "a callback has failed" in caller.log)
    assert caller.ask("get_simulation_state").result.result == OK


def test_the_log_was_readable_and_the_end_is_clean(shared):
    assert shared.log.stat().st_size < MOST_LOG
    raw = {c for c in shared.log.read_text() if unicodedata.category(c) in STEERING} - set("\n\t")
    assert not raw, raw
    status = Path(f"/proc/{program_of(shared.process)}/status").read_text()
    peak_kib = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
    assert peak_kib < MOST_MEMORY // 1024
    assert "unexpected error" not in shared.caller.log
    shared.caller.ask("set_simulation_state", state=SimulationState(state=3))
    assert shared.process.wait(PATIENCE) == 0, shared.caller.log
    assert shared.caller.log.count("Traceback") <= 2  # of what rclpy could not read
