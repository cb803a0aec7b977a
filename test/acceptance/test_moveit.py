"""MoveIt with generated packages: move_group plans, and the simulated robot does it."""

from contextlib import closing, contextmanager
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")
pytest.importorskip("moveit_msgs.msg", reason="moveit_msgs is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not installed")

from action_msgs.msg import GoalStatus
from control_msgs.action import GripperCommand
from geometry_msgs.msg import Point, Pose, PoseStamped
from moveit_msgs.msg import MoveItErrorCodes
from moveit_tools import MoveIt
from paths import MODELS
from ros_peer import Peer
from ros_tools import needs
from simulation_interfaces import msg
from simulator_services import ask

SUCCESS = MoveItErrorCodes.SUCCESS
pytestmark = [
    pytest.mark.ros,
    needs(
        *("moveit_configs_utils", "moveit_kinematics", "moveit_planners_ompl"),
        *("moveit_ros_move_group", "moveit_simple_controller_manager"),
    ),
]
JOINT, POSITION = 0.03, 0.02  # [rad] and [m], of what motors reach under friction and weight
STRETCHED = {"J1": 0.0, "J2": 0.8, "J3": 0.6, "J4": 0.0, "J5": 0.3, "J6": 0.0}
SIDE = 0.7  # [rad], of J1 to either side of the box
FIXED_BOX = """\
format: ChoreonoidBody
format_version: 2.0
name: Obstacle
links:
  - name: OBSTACLE
    joint_type: fixed
    elements:
      - { type: Shape, geometry: { type: Box, size: [ 0.12, 0.12, 0.12 ] } }
"""
BLOCK = """\
format: ChoreonoidBody
format_version: 2.0
name: Block
links:
  - name: BLOCK
    joint_type: free
    mass: 0.1
    inertia: [ 4.2e-5, 0, 0, 0, 4.2e-5, 0, 0, 0, 4.2e-5 ]
    elements:
      - { type: Shape, geometry: { type: Box, size: [ 0.05, 0.05, 0.05 ] } }
"""
# A gantry whose two fingers hang from three slides.
SLIDE = """\
  - name: {name}
    parent: {parent}
    translation: {at}
    joint_type: prismatic
    joint_id: {id}
    joint_axis: {axis}
    joint_range: {range}
    joint_velocity_range: [ -0.5, 0.5 ]
    mass: {mass}
    inertia: [ 1e-3, 0, 0, 0, 1e-3, 0, 0, 0, 1e-3 ]
    elements:
      - {{ type: Shape, translation: {center}, geometry: {{ type: Box, size: {size} }} }}
"""
_SLIDES = (
    ("CART", "BASE", (0, 0, 0), (1, 0, 0), (-0.3, 0.3), 2.0, (0, 0, 0.15), (0.08, 0.08, 0.03)),
    ("BRIDGE", "CART", (0, 0, 0), (0, 1, 0), (-0.2, 0.2), 2.0, (0, 0, 0.10), (0.08, 0.08, 0.03)),
    ("LIFT", "BRIDGE", (0, 0, 0), (0, 0, 1), (-0.45, 0.02), 1.0, (0, 0, 0), (0.08, 0.12, 0.03)),
    ("LEFT", "LIFT", (0, 0.01, -0.06), (0, 1, 0), (0, 0.04), 0.1, (0, 0, 0), (0.03, 0.01, 0.08)),
    ("RIGHT", "LIFT", (0, -0.01, -0.06), (0, -1, 0), (0, 0.04), 0.1, (0, 0, 0), (0.03, 0.01, 0.08)),
)
GANTRY = (
    "format: ChoreonoidBody\nformat_version: 2.0\nname: gantry\nlinks:\n"
    "  - { name: BASE, joint_type: fixed, translation: [ 0, 0, 0.5 ], mass: 5.0, "
    "inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ] }\n"
) + "".join(
    SLIDE.format(id=i, **{
        key: list(value) if isinstance(value, tuple) else value
        for key, value in zip(
            ("name", "parent", "at", "axis", "range", "mass", "center", "size"), row, strict=True
        )
    })
    for i, row in enumerate(_SLIDES)
)  # fmt: skip


@contextmanager
def planned(ros, name, model, group, tip):
    """Write a package for a robot and launch its simulation and MoveIt; yield a client."""
    words = ("--package", f"src/{name}", "--moveit")
    if not (ros.folder / "src" / name).exists():
        ros.ask("ros2", "run", "hrp_ros", "hrp-model", "urdf", model, *words)
        ros.build(f"src/{name}")
    with (
        ros.running(
            *("ros2", "launch", name, "demo.launch.py", "rviz:=false"),
            until="You can start planning now!",
        ) as launched,
        closing(Peer()) as peer,
    ):
        yield MoveIt(peer, group, tip)
        assert "[sim_node-1]: process has died" not in launched.printed


def spawn(peer, name, text, where):
    place = PoseStamped(
        pose=Pose(position=Point(**dict(zip("xyz", map(float, where), strict=True))))
    )
    resource = getattr(msg, "Resource", SimpleNamespace)(uri="", resource_string=text)
    fields = {"entity_resource": resource, "initial_pose": place}
    assert ask(peer, "spawn_entity", name=name, **fields).result.result == msg.Result.RESULT_OK


def position(peer, name):
    """Return the true position of a body."""
    p = ask(peer, "get_entity_state", entity=name).state.pose.position
    return np.array([p.x, p.y, p.z])


def grip(peer, action, where):
    """Close a gripper as far as it can; MoveIt plans no way into what it is to hold."""
    client = peer.action_client(GripperCommand, action)
    peer.wait_until("the gripper", client.server_is_ready)
    goal = GripperCommand.Goal()
    goal.command.position = where
    sent = peer.at_once(client.send_goal_async, goal)
    peer.wait_until("acceptance", sent.done)
    result = peer.at_once(sent.result().get_result_async)
    peer.wait_until("a grip", result.done)
    assert result.result().result.stalled


def state(ros, package, group, name):
    """Return the positions of a named state in the SRDF."""
    (file,) = (ros.folder / "src" / package / "srdf").iterdir()
    (found,) = (
        x
        for x in ElementTree.parse(file).getroot().iterfind("group_state")
        if (x.get("group"), x.get("name")) == (group, name)
    )
    return {x.get("name"): float(x.get("value")) for x in found}


def assert_at(planner, goal, tolerance=JOINT):
    planner.wait_until_still()
    reached = planner.positions()
    for joint, value in goal.items():
        assert reached[joint] == pytest.approx(value, abs=tolerance), joint


def assert_moves(planner, goal, **options):
    """Plan a motion to positions of joints, and execute it."""
    assert planner.go(planner.joint_goal(goal), **options)[0] == SUCCESS
    assert_at(planner, goal)


def assert_stops(planner, goal):
    """Cancel a motion once it has begun: the robot stops on the way, and stays there."""
    handle = planner.start(planner.joint_goal(goal), speed=0.1)
    result = planner.peer.at_once(handle.get_result_async)
    planner.peer.wait_until("motion", lambda: planner.speed() > 0.02 or result.done())
    assert not result.done()
    planner.peer.at_once(handle.cancel_goal_async)
    planner.peer.wait_until("the end", result.done)
    assert result.result().status == GoalStatus.STATUS_CANCELED
    assert result.result().result.error_code.val == MoveItErrorCodes.PREEMPTED
    planner.wait_until_still()
    held = planner.positions()
    assert max(abs(held[joint] - value) for joint, value in goal.items()) > 0.1
    planner.wait_for_states(50)
    assert_at(planner, held, 1e-3)


def test_an_arm_reaches_joint_pose_named_and_straight_goals_and_stops_when_cancelled(ros):
    with planned(ros, "arm_moveit", MODELS / "arm" / "arm.body", "manipulator", "J6") as arm:
        assert_moves(arm, STRETCHED)
        rng = np.random.default_rng(30)
        for _ in range(3):
            q = dict(zip(STRETCHED, rng.uniform(-1.2, 1.2, 6), strict=True))
            if not arm.is_valid(q):
                continue
            T = arm.forward(q)
            assert arm.go(arm.pose_goal(T))[0] == SUCCESS
            arm.wait_until_still()
            reached = arm.tip_pose()
            np.testing.assert_allclose(reached[:3, 3], T[:3, 3], rtol=0.0, atol=POSITION)
            np.testing.assert_allclose(reached[:3, :3], T[:3, :3], rtol=0.0, atol=0.1)
        assert_moves(arm, state(ros, "arm_moveit", "manipulator", "zero"))
        assert_moves(arm, STRETCHED)
        goal = arm.tip_pose()
        goal[0, 3] -= 0.06  # towards its base
        fraction, path = arm.straight(goal)
        assert fraction == 1.0
        assert arm.execute(path) == SUCCESS
        arm.wait_until_still()
        np.testing.assert_allclose(arm.tip_pose()[:3, 3], goal[:3, 3], rtol=0.0, atol=POSITION)
        assert_stops(arm, STRETCHED | {"J1": 2.0})


def test_an_arm_goes_around_a_body_of_the_world(ros):
    """The way of the same goal without the box leads through it."""
    start, goal = (STRETCHED | {"J1": side} for side in (-SIDE, SIDE))
    model = MODELS / "arm" / "arm.body"
    with planned(ros, "arm_moveit", model, "manipulator", "J6") as arm:
        middle = arm.forward(STRETCHED)[:3, 3]
        assert_moves(arm, start)
        free = arm.recorded(lambda: assert_moves(arm, goal))
        assert_moves(arm, start)
        spawn(arm.peer, "Obstacle", FIXED_BOX, middle)
        arm.peer.wait_until("the box in MoveIt", lambda: "Obstacle" in arm.objects())
        assert not all(map(arm.is_valid, free))
        arm.pad([f"J{k}" for k in range(2, 7)], 0.03)
        around = arm.recorded(lambda: assert_moves(arm, goal))
        arm.pad([f"J{k}" for k in range(2, 7)], 0.0)
        assert all(map(arm.is_valid, around))


def test_both_arms_of_a_humanoid_move_together_and_stop_when_cancelled(ros):
    model, name = MODELS / "humanoid" / "humanoid.wrl", "humanoid_moveit"
    with planned(ros, name, model, "both_arms", "RARM_ELBOW") as arms:
        raised = {"LARM_SHOULDER_P": -0.8, "RARM_SHOULDER_P": -0.5}
        assert_moves(arms, raised)
        right = arms.of_group("RARM")
        q = {"RARM_SHOULDER_P": -0.9, "RARM_SHOULDER_R": -0.4}
        T = right.forward(q)
        # Its tip, an elbow, moves on a sphere: no place beside that can be reached.
        goal = right.pose_goal(T, turned=False, tolerance=POSITION)
        assert right.go(goal)[0] == SUCCESS
        right.wait_until_still()
        reached = right.tip_pose()[:3, 3]
        np.testing.assert_allclose(reached, T[:3, 3], rtol=0.0, atol=2.0 * POSITION)
        assert_moves(arms, state(ros, name, "both_arms", "zero"))
        assert_stops(arms, {"LARM_SHOULDER_P": -1.5, "RARM_SHOULDER_P": -1.5})


def test_a_gripper_takes_a_block_carries_it_and_lets_go(ros):
    model = ros.folder / "gantry.body"
    model.write_text(GANTRY, encoding="utf-8")
    with planned(ros, "gantry_moveit", model, "manipulator", "LIFT") as gantry:
        hand = gantry.of_group("manipulator_gripper")
        opened = state(ros, "gantry_moveit", hand.group, "open")
        above = {"CART": 0.15, "BRIDGE": 0.05, "LIFT": -0.2}
        spawn(gantry.peer, "Block", BLOCK, (0.15, 0.05, 0.025))
        assert hand.go(hand.joint_goal(opened))[0] == SUCCESS
        assert_moves(gantry, above)
        assert_moves(gantry, above | {"LIFT": -0.38})
        grip(gantry.peer, f"/{hand.group}_controller/gripper_cmd", 0.0)
        gantry.peer.wait_until("a held block", lambda: gantry.attached() == {"Block": "LIFT"})
        assert_moves(gantry, above)
        assert_moves(gantry, {"CART": -0.2, "BRIDGE": -0.1, "LIFT": -0.2})
        carried = position(gantry.peer, "Block")
        np.testing.assert_allclose(carried, (-0.2, -0.1, 0.205), rtol=0.0, atol=POSITION)
        assert hand.go(hand.joint_goal(opened))[0] == SUCCESS
        gantry.peer.wait_until("a free block", lambda: not gantry.attached())
        assert "Block" in gantry.objects()
