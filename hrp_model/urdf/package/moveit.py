"""What MoveIt 2.12 (ROS 2 Jazzy) needs to plan and execute: parameters, a launch file, a view.

Files and keys are those that MoveIt's Setup Assistant writes and ``moveit_configs_utils`` loads.
Numbers follow from the model; a file says which of them are chosen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite, pi
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hrp_msgs import names

from ... import rviz
from ...body import Body, JointType, Link
from ...devices import Camera
from ...diagnostics import Diagnostics, listed
from ...files.writer import is_ambiguous, yaml_text
from ...frames import BodyFrames, initial_poses, legal_name
from ...kinematics.actuation import CommandInterface, apparent_inertias, controlled_joints
from ...kinematics.loops import mimic_joints
from ...kinematics.loops.constraints import loop_joints
from ...kinematics.state import BodyState
from ...kinematics.vehicle import rolling_wheels
from ...kinematics.wheels import lowest
from ...late_dataclass import dataclass
from ...rigid import matrix_rpy
from ..moveit.collisions import ROUND, PairStudy, Postures, sampled_pairs
from ..moveit.groups import Group, gripper_postures, planning_groups
from ..moveit.srdf import body_to_srdf, top_pose, world_frame
from .controllers import controllers
from .package_files import Addition, PackagedRobot, Part
from .templates import fill_template

Values: TypeAlias = dict[str, Any]

_LAUNCH, _VIEW, _WORLD = "launch/demo.launch.py", "rviz/moveit.rviz", "config/demo_world.yaml"
_ASSISTANT = ".setup_assistant"
_PACKAGES = (
    "ament_index_python",
    "hrp_ros",
    "launch",
    "launch_ros",
    "moveit_configs_utils",
    "moveit_kinematics",
    "moveit_planners_ompl",
    "moveit_ros_move_group",
    "moveit_ros_visualization",
    "moveit_simple_controller_manager",
    "rviz2",
)
# MoveIt refuses to start at a position that is 1e-12 outside the limits.
_MARGIN = 1e-4  # [rad] or [m]
# Of what a motor can give beside the weight: the rest is for the inertia of other joints' motion.
_SHARE = 0.5
_POSTURES, _SEED = 50, 1  # in which inertias and weights are computed
_MIN_EFFORT = 0.1  # share of a motor's effort that counts where the weight takes all
_FASTEST, _CHOSEN = 0.1, 0.5  # times to full speed: at least, and where efforts are unknown, in [s]
_SPEED = {JointType.PRISMATIC: 0.25}  # where the model states none, in [m/s]
_ANGULAR_SPEED = 1.0  # [rad/s]
# Likewise to either side of the initial position: planners sample this range. Of angles it is one
# turn: inverse kinematics finds most goals in other turns, to which often no way leads.
_RANGE, _ANGULAR_RANGE = {JointType.PRISMATIC: 1.0}, pi  # [m], [rad]
_FULL_POSE = 6  # joints that place a tip in all directions
_ADAPTERS = "ResolveConstraintFrames ValidateWorkspaceBounds CheckStartStateBounds"
_REQUEST_ADAPTERS = [*_ADAPTERS.split(), "CheckStartStateCollision"]
_RESPONSE_ADAPTERS = ["AddTimeOptimalParameterization", "ValidateSolution", "DisplayMotionPath"]
_PLANNERS = ("RRTConnect", "RRTstar", "PRM", "EST", "KPIECE")
_OCTOMAP_RANGE = 5.0  # [m]
# Longest part of a path without a test for collisions, as a sum over joints and as MoveIt's share.
_SEGMENT, _FRACTION = 0.05, 0.005  # [rad] or [m]
_BELOW_FLOOR = -0.001  # [m]


@dataclass(frozen=True)
class MotionLimits:
    """Limits of a joint's motion for planning, in [rad] or [m] and seconds.

    Attributes:
        position: None for joints without limits that may turn on, for which MoveIt allows none.
        velocity, acceleration, jerk: Largest ones in both directions; the jerk may be inf.
        has_position, has_velocity: Whether the model states them.
        is_one_turn: Whether the position is one turn of several.
        has_acceleration: Whether the acceleration follows from the model.
    """

    position: tuple[float, float] | None
    velocity: float
    acceleration: float
    jerk: float
    has_position: bool
    has_velocity: bool
    is_one_turn: bool
    has_acceleration: bool


def motion_limits(body: Body) -> dict[str, MotionLimits]:
    """Return limits for MoveIt, by link name.

    The acceleration is that of the model, or half of what the motor can give beside the largest
    weight, divided by the largest inertia, in random postures; but full speed takes at least
    0.1 s. Without an effort limit it is reached in 0.5 s.
    """
    return dict(zip((x.name for x in body.moving_links), _all_limits(body), strict=True))


def _all_limits(body: Body) -> Iterator[MotionLimits]:
    possible = _possible_accelerations(body)
    for link, able in zip(body.moving_links, possible, strict=True):
        joint = link.joint
        lower, upper = joint.position_limits
        speed = joint.max_velocity
        if not isfinite(speed):
            speed = _SPEED.get(joint.type, _ANGULAR_SPEED)
        acceleration = joint.max_acceleration
        is_known = isfinite(acceleration)
        if not is_known:
            is_known = isfinite(able)
            acceleration = min(able, speed / _FASTEST) if is_known else speed / _CHOSEN
        initial = min(max(float(joint.initial), lower), upper)
        is_bounded = isfinite(lower) and isfinite(upper)
        lower = lower if isfinite(lower) else initial - _RANGE.get(joint.type, _ANGULAR_RANGE)
        upper = upper if isfinite(upper) else initial + _RANGE.get(joint.type, _ANGULAR_RANGE)
        turns = joint.type is JointType.REVOLUTE and upper - lower > 2.0 * pi + _MARGIN
        if turns:
            middle = min(max(initial, lower + pi), upper - pi)
            lower, upper = middle - pi, middle + pi
        yield MotionLimits(
            None if joint.is_continuous else (lower - _MARGIN, upper + _MARGIN),
            speed,
            float(f"{acceleration:.4g}"),
            joint.max_jerk,
            is_bounded or joint.is_continuous,
            isfinite(joint.max_velocity),
            turns and not joint.is_continuous,
            is_known,
        )


def _possible_accelerations(body: Body) -> list[float]:
    """Return the accelerations that motors can give in all postures; inf if unknown."""
    links = body.moving_links
    effort = np.array([link.joint.max_effort for link in links])
    if not links or not sum(link.mass for link in body.links) > 0.0:
        return [inf] * len(links)
    postures = Postures(body)
    q = postures.random(_POSTURES, np.random.default_rng(_SEED))
    q[0] = postures.clamped(np.array([link.joint.initial for link in links]))
    inertia = np.zeros(len(links))
    for posture in q:
        found = apparent_inertias(body, posture, fixed=body.is_root_fixed)
        inertia = np.maximum(inertia, found)
    state = BodyState(body, fix_root=True)
    state.q = q
    state.calc_forward_kinematics()
    weight = np.abs(state.gravity_torque()).max(axis=0)
    left = _SHARE * np.maximum(effort - weight, _MIN_EFFORT * effort)
    with np.errstate(divide="ignore", invalid="ignore"):
        able = left / inertia
    return [float(a) if 0.0 < a < inf else inf for a in able]


def joint_limits_text(found_limits: Mapping[str, MotionLimits], frames: BodyFrames) -> str:
    """Return joint_limits.yaml, with its scaling factors: motions take ten times as long."""
    limits: Values = {}
    # Joints for which they are chosen.
    ranges, turns, speeds, accelerations = [], [], [], []
    for link, found in found_limits.items():
        if link not in frames.joints:
            continue
        name = frames.joints[link]
        ranges += [] if found.has_position else [name]
        turns += [name] if found.is_one_turn else []
        speeds += [] if found.has_velocity else [name]
        accelerations += [] if found.has_acceleration else [name]
        values: Values = {}
        if found.position is not None:
            values |= {"min_position": found.position[0], "max_position": found.position[1]}
        values |= {"has_velocity_limits": True, "max_velocity": float(found.velocity)}
        values |= {"has_acceleration_limits": True, "max_acceleration": found.acceleration}
        values["has_jerk_limits"] = isfinite(found.jerk)
        if isfinite(found.jerk):
            values["max_jerk"] = float(found.jerk)
        limits[name] = values
    lines = [
        f"Positions: limits of the model, and {_MARGIN:g} more, as MoveIt's start state check is",
        "exact. Accelerations: half of what the motor can give in all postures, and full speed in",
        f"{_FASTEST:g} s at the fastest.",
    ]
    for names_, kind, why in (
        (ranges, "Position", "the model states no range"),
        (turns, "Position", "one turn of several, as goals in other turns are seldom reached"),
        (speeds, "Velocity", "the model states none"),
        (accelerations, "Acceleration", f"full speed in {_CHOSEN:g} s, without a known effort"),
    ):
        if names_:
            lines.append(f"{kind} of {listed(names_, 4)}: chosen; {why}.")
    scaling = {f"default_{x}_scaling_factor": 0.1 for x in ("velocity", "acceleration")}
    return _commented(lines, {**scaling, "joint_limits": limits})


def _commented(lines: Iterable[str], values: Values | list[Any]) -> str:
    return "".join(f"# {line}\n" for line in lines) + yaml_text(values, width=1000)


class Planned(NamedTuple):
    """What is planned for.

    Attributes:
        groups: The planning groups of the SRDF.
        driven: Frame names of the joints that trajectories move, by link name.
        followers: Links of joints that follow others.
    """

    groups: Sequence[Group]
    driven: Mapping[str, str]
    followers: frozenset[str]

    def joints(self, group: Group) -> list[str]:
        """Return the names of the joints of a group that trajectories move."""
        return [self.driven[x.name] for x in group.joints if x.name in self.driven]


def _kinematics(planned: Planned) -> str:
    solvers: dict[str, Values] = {}
    for group in planned.groups:
        if not group.tip:
            continue
        solver: Values = {
            "kinematics_solver": "kdl_kinematics_plugin/KDLKinematicsPlugin",
            "kinematics_solver_search_resolution": 0.005,
            "kinematics_solver_timeout": 0.05,
        }
        free = sum(link.name not in planned.followers for link in group.joints)
        if free < _FULL_POSE:
            solver["position_only_ik"] = True
        solvers[group.name] = solver
    note = f"Chains of fewer than {_FULL_POSE} joints reach positions, but no given orientation."
    return _commented([note], solvers)


def _ompl(planned: Planned, limits: Mapping[str, MotionLimits]) -> str:
    kinds = {x: {"type": f"geometric::{x}"} for x in _PLANNERS}
    groups: dict[str, Values] = {}
    for group in planned.groups:
        if not planned.joints(group):
            continue
        # OMPL's lengths are sums over joints, and its longest segment is a share of all ranges.
        ranges = [limits[x.name].position or (-pi, pi) for x in group.joints]
        length = sum(upper - lower for lower, upper in ranges)
        groups[group.name] = {
            "default_planner_config": _PLANNERS[0],
            "planner_configs": [*kinds],
            "longest_valid_segment_fraction": float(f"{min(_FRACTION, _SEGMENT / length):.3g}"),
        }
    pipeline: Values = {
        "planning_plugins": ["ompl_interface/OMPLPlanner"],
        "request_adapters": [f"default_planning_request_adapters/{x}" for x in _REQUEST_ADAPTERS],
        "response_adapters": [
            f"default_planning_response_adapters/{x}" for x in _RESPONSE_ADAPTERS
        ],
    }
    lines = [f"longest_valid_segment_fraction: at most {_SEGMENT:g} rad or m between two tests."]
    if any(found.position is None for found in limits.values()):
        lines.append("fix_start_state: joints without limits may have turned more than once.")
        pipeline["fix_start_state"] = True
    pipeline["planner_configs"] = kinds
    for name in groups.keys() & pipeline.keys():
        raise ValueError(
            f"MoveIt cannot have a planning group '{name}', as its planners have a parameter of "
            "this name: rename the joints of this limb"
        )
    return _commented(lines, {**pipeline, **groups})


_PILZ = {
    "max_trans_vel": 1.0,
    "max_trans_acc": 2.25,
    "max_trans_dec": -5.0,
    "max_rot_vel": 1.57,
}


def _manager(listed_controllers: Mapping[str, Values]) -> Values:
    manager = "moveit_simple_controller_manager"
    return {
        "moveit_controller_manager": f"{manager}/MoveItSimpleControllerManager",
        # The action waits half a second for joints to arrive.
        "trajectory_execution": {"allowed_goal_duration_margin": 1.0},
        manager: {"controller_names": [*listed_controllers], **listed_controllers},
    }


def _action(kind: str, level: str, joints: Sequence[str]) -> Values:
    return {"type": kind, "action_ns": level, "default": True, "joints": list(joints)}


def _trajectories(joints: Sequence[str]) -> Values:
    return _action("FollowJointTrajectory", "follow_joint_trajectory", joints)


def simulated_controllers(body: Body, planned: Planned) -> dict[str, Values]:
    """Return a controller for each chain and each gripper, whose actions sim_node offers.

    A gripper of one joint, or of two that slide alike, takes GripperCommand.
    """
    found: dict[str, Values] = {}
    for group in planned.groups:
        joints = planned.joints(group)
        if not joints or group.subgroups:
            continue
        entry = _trajectories(joints)
        links = [link for link in group.joints if link.name in planned.driven]
        if group.is_gripper and (len(links) == 1 or _slide_alike(body, links)):
            entry = _action("GripperCommand", "gripper_cmd", joints)
            entry |= {"parallel": True} if len(links) == 2 else {}
        found[f"{group.name}_controller"] = entry
    return found


def _slide_alike(body: Body, links: Sequence[Link]) -> bool:
    """Return whether two fingers open and close by the same positions.

    MoveIt sends the sum of both to a parallel gripper, which takes half of it for each.
    """
    if len(links) != 2 or any(x.joint.type is not JointType.PRISMATIC for x in links):
        return False
    postures = gripper_postures(body, links)
    return postures is not None and all(len({*x.values()}) == 1 for x in postures)


def _ros2_controllers(robot: PackagedRobot) -> dict[str, Values]:
    body, frames = robot.conversion.body, robot.conversion.frames
    found: dict[str, Values] = {}
    for used in controllers(body, frames, robot.options):
        joints = used.parameters.get("joints")
        if used.type.startswith("joint_trajectory_controller/") and isinstance(joints, list):
            found[used.name] = _trajectories(joints)
    return found


def _sensors(body: Body, frames: BodyFrames) -> str | None:
    """Return sensors_3d.yaml; None for a robot without depth cameras."""
    cameras = [x for x in body.devices if isinstance(x, Camera) and x.image_type.has_depth]
    if not cameras:
        return None
    tokens = names.topic_tokens(x.name for x in body.devices if isinstance(x, Camera))
    sensors: dict[str, Values] = {}
    for camera in cameras:
        points = names.depth_topics(tokens[camera.name])[2]
        sensors[f"{tokens[camera.name]}_octomap"] = {
            "sensor_plugin": "occupancy_map_monitor/PointCloudOctomapUpdater",
            "point_cloud_topic": points,
            "max_range": float(min(camera.max_distance, _OCTOMAP_RANGE)),
            "point_subsample": 2,
            "padding_offset": 0.02,
            "padding_scale": 1.0,
            "max_update_rate": 5.0,
            "filtered_cloud_topic": f"{points}_filtered",
        }
    values = {"octomap_resolution": 0.05, "octomap_frame": world_frame(frames)}
    return yaml_text({"sensors": [*sensors], **values, **sensors}, width=1000)


def _world(robot: PackagedRobot, groups: Iterable[Group]) -> str:
    """Return a world with the robot of the package, in its initial posture.

    A robot with neither legs nor wheels is fixed, as most URDFs do not say that they are.
    """
    body = robot.conversion.body
    is_free = any(group.is_leg for group in groups) or bool(rolling_wheels(body))
    is_fixed = body.is_root_fixed or not is_free
    pose = top_pose(body, robot.conversion.frames)
    links = body.moving_links
    q = Postures(body).clamped(np.array([link.joint.initial for link in links]))
    joints = {
        robot.conversion.frames.joints[link.name]: float(value) + 0.0
        for link, value in zip(links, q, strict=True)
        if link.name in robot.conversion.frames.joints
    }
    placed: Values = {
        "model": f"../{robot.urdf}",
        "position": [float(x) + 0.0 for x in pose.p],
        "rpy": [float(x) + 0.0 for x in matrix_rpy(pose.R)],
        "fixed": is_fixed,
        "joints": joints,
    }
    bodies: list[Values] = [placed]
    if not is_fixed or lowest(body.links, initial_poses(body)) > _BELOW_FLOOR:
        bodies.insert(0, {"model": "package://hrp_ros/models/floor.body"})
    lines = ["The robot of this package, for demo.launch.py."]
    if body.devices and not robot.options.gazebo:
        lines.append("Its sensors are in its own model only, or with the option --gazebo.")
    lines.append("MoveIt keeps it from colliding with itself.")
    return _commented(lines, {"physics": {"self_collision": False}, "bodies": bodies})


def _view_text(robot: PackagedRobot, arm: Group) -> str:
    body = robot.conversion.body
    world = world_frame(robot.conversion.frames)
    return rviz.document(
        [rviz.motion_planning(arm.name)],
        world,
        rviz.body_box(body, initial_poses(body)),
        comment="The robot with MoveIt's panel, as demo.launch.py shows it.",
        floor_height=0.0,
        frames_on=False,
        is_simulation=True,
    )


def _moveit_part(robot: PackagedRobot) -> Part:
    body, frames = robot.conversion.body, robot.conversion.frames
    groups = planning_groups(body, frames)
    arms = [group for group in groups if group.is_arm]
    if not arms:
        raise ValueError(
            f"MoveIt has nothing to plan: '{body.name}' has no arm, a chain of at least three "
            "joints with motors"
        )
    _check_loops(body, groups, robot.diagnostics)
    driven = {
        x.link.name: frames.joints[x.link.name]
        for x in controlled_joints(body)
        if x.command_interface is CommandInterface.POSITION
    }
    _check_names(driven.values())
    planned = Planned(groups, driven, frozenset(mimic_joints(body)))
    limits = motion_limits(body)
    texts = {
        robot.srdf: _srdf(robot, groups),
        "config/joint_limits.yaml": joint_limits_text(limits, frames),
        "config/kinematics.yaml": _kinematics(planned),
        "config/ompl_planning.yaml": _ompl(planned, limits),
        "config/pilz_cartesian_limits.yaml": _commented(
            ["Of the tool, for the planner Pilz; chosen."], {"cartesian_limits": _PILZ}
        ),
        "config/moveit_controllers.yaml": _commented(
            ["Actions of sim_node, which gets this file as its parameter moveit_controllers."],
            _manager(simulated_controllers(body, planned)),
        ),
        _ASSISTANT: _assistant(robot),
        _LAUNCH: _launch(robot),
        _VIEW: _view_text(robot, arms[0]),
        _WORLD: _world(robot, groups),
    }
    dependencies = set(_PACKAGES)
    if robot.options.ros2_control is not None:
        texts["config/moveit_ros2_controllers.yaml"] = _commented(
            ["Actions of the controllers in controllers.yaml."], _manager(_ros2_controllers(robot))
        )
    sensors = _sensors(body, frames)
    if sensors is not None:
        texts["config/sensors_3d.yaml"] = sensors
        dependencies.add("moveit_ros_perception")
    return Part(
        texts,
        {_LAUNCH: "simulates it under MoveIt"},
        dependencies=dependencies,
    )


def _check_names(joints: Iterable[str]) -> None:
    """Check that move_group gets the names of joints as text.

    ``ros2 launch`` writes its parameters by PyYAML, which leaves quotes away where YAML 1.2 needs
    none; the parser of rcl then reads ``Y`` as true and ``1e3`` as a number.

    Raises:
        ValueError: It would not.
    """
    import yaml  # which few commands need

    for name in joints:
        if is_ambiguous(name) and isinstance(yaml.safe_load(name), str):
            raise ValueError(
                f"MoveIt cannot have a joint '{name}', as parameters of ROS 2 take this name for "
                "a number or for true or false: rename the joint"
            )


def _check_loops(body: Body, groups: Iterable[Group], diagnostics: Diagnostics) -> None:
    """Check that no loop closes over joints of an arm that MoveIt would move one by one.

    Raises:
        ValueError: One does. Other groups get a warning.
    """
    known = mimic_joints(body)
    moving = body.moving_links
    for extra in body.extra_joints:
        free = [moving[i] for i in loop_joints(body, extra) if moving[i].name not in known]
        for group in groups if len(free) > 1 else ():
            inside = [link for link in free if link in group.joints]
            if not inside or group.subgroups:
                continue
            message = (
                f"a closed loop ties joint '{inside[0].joint.name}' of '{group.name}' to others, "
                "and MoveIt knows no loops"
            )
            if group.is_arm:
                raise ValueError(f"MoveIt cannot plan for this robot: {message}")
            diagnostics.warn("open-loops", message, inside[0].at)


def _srdf(robot: PackagedRobot, groups: Sequence[Group]) -> str:
    """Return an SRDF for which the collisions of links were sampled."""
    body, frames = robot.conversion.body, robot.conversion.frames
    study: PairStudy = sampled_pairs(body, progress=robot.progress)
    for (a, b), count in study.often.items():
        message = f"'{a}' and '{b}' collide in {count} of {ROUND} random postures"
        robot.diagnostics.warn("often-colliding", message, body.link(b).at)
    start = study.postures.clamped(np.array([x.joint.initial for x in body.moving_links]))
    colliding = [f"'{a}' and '{b}'" for a, b in study.colliding(start)]
    if colliding:
        message = (
            "links collide in the initial posture, from which MoveIt then plans nothing: "
            f"{listed(colliding, 4)}"
        )
        robot.diagnostics.warn("initial-collision", message, body.root.at)
    known = Diagnostics.silent()  # the SRDF without samples has reported it
    return f"{body_to_srdf(body, frames, known, groups=groups, study=study)}\n"


def _assistant(robot: PackagedRobot) -> str:
    """Return the file by which MoveIt finds the URDF and the SRDF."""
    config = {
        "urdf": {"package": robot.package, "relative_path": robot.urdf},
        "srdf": {"relative_path": robot.srdf},
    }
    return yaml_text({"moveit_setup_assistant_config": config})


def _launch(robot: PackagedRobot) -> str:
    frames = robot.conversion.frames
    return fill_template(
        "demo.launch.py",
        PACKAGE=robot.package,
        ROBOT=json.dumps(legal_name(robot.conversion.body.name, default="robot")),
        BASE_LINKS=json.dumps(robot.options.base.value),
        PREFIX=json.dumps(robot.options.frame_prefix),
        WORLD_FRAME=json.dumps(world_frame(frames)),
        WORLD=_WORLD,
        VIEW=_VIEW,
    )


MOVEIT = Addition(("--moveit",), _LAUNCH, _moveit_part)
