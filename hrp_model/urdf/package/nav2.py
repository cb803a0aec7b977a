"""What Nav2 1.3 (ROS 2 Jazzy) needs to drive a vehicle: parameters, a launch file, a view in RViz.

Names and types of the parameters are those that the nodes of Nav2 declare. All numbers of the
vehicle follow from its model; where its motors state no limit, they are chosen, and the file says
so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from math import ceil, inf
from typing import Any, TypeAlias

import numpy as np

from hrp_msgs import names

from ... import rviz
from ...body import Body
from ...devices import RangeSensor
from ...files.writer import yaml_text
from ...frames import BodyFrames, Frame, level_scans
from ...kinematics.drive import DriveLimits, drive_limits
from ...kinematics.wheels import link_vertices, lowest, root_poses
from ...late_dataclass import dataclass
from ...rigid import Array, Pose
from ...shapes.measure import BoundingBox
from .package_files import Addition, PackagedRobot, Part
from .templates import fill_template

Values: TypeAlias = dict[str, Any]

_PARAMETERS, _LAUNCH, _VIEW = "config/nav2_params.yaml", "launch/nav2.launch.py", "rviz/nav2.rviz"
_TREE = "config/nav2_tree.xml"
# Of what motors can do, so that the controller can correct.
_SHARE = 0.9
# Where motors state no limit, and the most that a vehicle in a room is asked for.
_SPEED, _MAX_SPEED = 0.5, 1.0  # [m/s]
_MAX_YAW_RATE = 1.5  # [rad/s]
_ACCELERATION, _YAW_ACCELERATION = 1.0, 2.0  # [m/s^2], [rad/s^2]
_MAX_CORNERS = 16  # of the footprint
_RESOLUTION = 0.05  # of maps, in [m]
_SAFE_RANGE = 0.95  # of a scanner: rays without a return clear, and mark nothing
_PACKAGES = (
    "ament_index_python",
    "hrp_ros",
    "launch",
    "launch_ros",
    "nav2_amcl",
    "nav2_behaviors",
    "nav2_bt_navigator",
    "nav2_collision_monitor",
    "nav2_controller",
    "nav2_costmap_2d",
    "nav2_lifecycle_manager",
    "nav2_map_server",
    "nav2_planner",
    "nav2_regulated_pure_pursuit_controller",
    "nav2_smoother",
    "nav2_velocity_smoother",
    "nav2_waypoint_follower",
    "rviz2",
    "slam_toolbox",
)
_PLANNERS = {True: "nav2_navfn_planner", False: "nav2_smac_planner"}


@dataclass(frozen=True)
class Scan:
    """A scanner whose plane is level.

    Attributes:
        name: Key of its parameters; its name in topics.
        topic: Its topic, relative to the vehicle's namespace.
        height: Of the plane above the ground, in [m].
        min_range, max_range: In [m].
    """

    name: str
    topic: str
    height: float
    min_range: float
    max_range: float


@dataclass(frozen=True, eq=False)
class Vehicle:
    """What Nav2 has to know of a vehicle.

    Attributes:
        base: Its topmost frame.
        scans: Its level planar scanners.
        footprint: Corners of a convex polygon around its collision shapes in the initial posture,
            counterclockwise in the base frame, in [m], shape (n, 2).
        limits: Of its drive.
        speed, yaw_rate: Largest ones to ask for, in [m/s] and [rad/s].
        acceleration, yaw_acceleration: Likewise, in [m/s^2] and [rad/s^2].
        notes: What was chosen, as no motor states it.
    """

    base: str
    scans: tuple[Scan, ...]
    footprint: Array
    limits: DriveLimits
    speed: float
    yaw_rate: float
    acceleration: float
    yaw_acceleration: float
    notes: tuple[str, ...]

    @property
    def turns_on_the_spot(self) -> bool:
        """Whether it can turn without driving ahead."""
        return self.limits.kind.turns_on_the_spot

    @property
    def radius(self) -> float:
        """Of the circle about the base that contains the footprint, in [m]."""
        return float(np.hypot(*self.footprint.T).max())


def nav2_vehicle(body: Body, frames: BodyFrames) -> Vehicle:
    """Return what Nav2 has to know of a vehicle.

    Raises:
        ValueError: It has no drive, no level planar scanner or no collision shapes.
    """
    try:
        limits = drive_limits(body)
    except ValueError as error:
        raise ValueError(f"Nav2 cannot drive this robot: {error}") from None
    poses = root_poses(body)
    scans = tuple(_scans(body, poses))
    if not scans:
        raise ValueError(
            f"Nav2 cannot drive this robot: '{body.name}' has no planar range sensor whose scan is "
            "level in the initial posture"
        )
    X_BR = Pose()
    for frame in frames.base:
        X_BR = X_BR @ frame.pose
    speed = min(_SHARE * limits.speed, _MAX_SPEED)
    notes = []
    if limits.speed == inf:
        speed = _SPEED
        notes.append(f"speed {speed:g} m/s: chosen, as its joints state no limit")
    # At most such that, on the spot, its sides run at the speed chosen for straight ahead.
    yaw_rate = min(_MAX_YAW_RATE, _SHARE * limits.yaw_rate, 2.0 * speed / limits.effective_track)
    if not limits.kind.turns_on_the_spot:
        yaw_rate = min(yaw_rate, speed / limits.min_radius)
    acceleration = min(_ACCELERATION, _SHARE * limits.acceleration)
    if limits.acceleration == inf:
        notes.append(f"acceleration {acceleration:g} m/s^2: chosen, as its motors state no limit")
    return Vehicle(
        frames.root,
        scans,
        _footprint(body, poses, X_BR),
        limits,
        _rounded(speed),
        _rounded(yaw_rate),
        _rounded(acceleration),
        _rounded(min(_YAW_ACCELERATION, _SHARE * limits.yaw_acceleration)),
        tuple(notes),
    )


def _scans(body: Body, poses: Mapping[str, Pose]) -> Iterator[Scan]:
    scanners = [x for x in body.devices if isinstance(x, RangeSensor) and x.is_planar]
    tokens = names.topic_tokens(x.name for x in scanners)
    floor = lowest(body.links, poses)
    for scanner, X_RC in level_scans(body, poses):
        token = tokens[scanner.name]
        topic = names.scan_topic(token, only_one=len(scanners) == 1)
        height = float(X_RC.p[2]) - floor
        yield Scan(token, topic, height, scanner.min_distance, scanner.max_distance)


def _footprint(body: Body, poses: Mapping[str, Pose], X_BR: Pose) -> Array:
    """Return the convex polygon around the projection of all collision shapes."""
    placed = []
    for link in body.links:
        if (vertices := link_vertices(link)) is not None:
            pose = X_BR @ poses[link.name]
            placed.append((vertices @ pose.R.T + pose.p)[:, :2])
    if not placed:
        raise ValueError(f"'{body.name}' has no collision shapes, whose outline Nav2 needs")
    return convex_outline(np.concatenate(placed))


def convex_outline(points: Array) -> Array:
    """Return the corners of the convex hull of points of a plane, counterclockwise.

    A hull of more than 16 corners becomes a polygon around it: that of its supporting lines in 16
    directions.

    Args:
        points: Shape (n, 2).
    """
    hull = _hull(points)
    if len(hull) <= _MAX_CORNERS:
        return hull
    angles = 2.0 * np.pi / _MAX_CORNERS * np.arange(_MAX_CORNERS)
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = (hull @ normals.T).max(axis=0)
    pairs = zip(range(_MAX_CORNERS), [*range(1, _MAX_CORNERS), 0], strict=True)
    return np.array([np.linalg.solve(normals[[i, j]], reach[[i, j]]) for i, j in pairs])


def _hull(points: Array) -> Array:
    """Return the convex hull of points of a plane, by Andrew's monotone chain."""
    rows = sorted(set(map(tuple, np.round(points, 4).tolist())))

    def half(ordered: list[Any]) -> list[Any]:
        chain: list[Any] = []
        for p in ordered:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], p) <= 0.0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return np.array([*half(rows), *half(rows[::-1])])


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def nav2_parameters(vehicle: Vehicle) -> Values:
    """Return the parameters of the nodes, by their names."""
    nodes: Values = {
        "controller_server": _controller(vehicle),
        "planner_server": _planner(vehicle),
        "smoother_server": {
            "robot_base_frame": vehicle.base,
            "smoother_plugins": ["simple_smoother"],
            "simple_smoother": {"plugin": "nav2_smoother::SimpleSmoother", "tolerance": 1e-10},
        },
        "behavior_server": _behaviors(vehicle),
        "bt_navigator": _navigator(vehicle),
        "waypoint_follower": {"stop_on_failure": False},
        "velocity_smoother": _smoother(vehicle),
        "collision_monitor": _collision_monitor(vehicle),
        "amcl": _amcl(vehicle),
        "slam_toolbox": {
            "base_frame": vehicle.base,
            "odom_frame": "odom",
            "map_frame": "map",
            "scan_topic": vehicle.scans[0].topic,
            "mode": "mapping",
            "resolution": _RESOLUTION,
            "max_laser_range": vehicle.scans[0].max_range,
            "map_update_interval": 2.0,
            "minimum_distance_penalty": 0.5,  # as in its example: its own default is lower
            "transform_timeout": 0.5,  # [s] ahead, as scans are matched late on a busy processor
        },
        "local_costmap/local_costmap": _local_costmap(vehicle),
        "global_costmap/global_costmap": _global_costmap(vehicle),
    }
    return {f"/**/{name}": {"ros__parameters": values} for name, values in nodes.items()}


def _navigator(vehicle: Vehicle) -> Values:
    navigators = {"navigate_to_pose": "NavigateToPoseNavigator"}
    if vehicle.turns_on_the_spot:  # the other default tree spins
        navigators["navigate_through_poses"] = "NavigateThroughPosesNavigator"
    return {
        "global_frame": "map",
        "robot_base_frame": vehicle.base,
        "odom_topic": "odom",
        "transform_tolerance": 0.2,
        "default_server_timeout": 1000,  # [ms], as Nav2 shares the processor with the simulation
        "error_code_names": ["compute_path_error_code", "follow_path_error_code"],
        "navigators": [*navigators],
        **{name: {"plugin": f"nav2_bt_navigator::{x}"} for name, x in navigators.items()},
    }


def _controller(vehicle: Vehicle) -> Values:
    v, w = vehicle.speed, vehicle.yaw_rate
    far = max(1.5 * v, vehicle.radius)
    follow: Values = {
        "plugin": "nav2_regulated_pure_pursuit_controller::RegulatedPurePursuitController",
        "desired_linear_vel": v,
        "use_velocity_scaled_lookahead_dist": True,
        "lookahead_time": 1.5,
        "min_lookahead_dist": _rounded(0.4 * far),
        "max_lookahead_dist": _rounded(far),
        "min_approach_linear_velocity": _rounded(min(0.05, 0.1 * v)),
        "approach_velocity_scaling_dist": _rounded(far),
        "transform_tolerance": 0.2,
        "use_collision_detection": True,
        "max_allowed_time_to_collision_up_to_carrot": 1.0,
        "use_regulated_linear_velocity_scaling": True,
        "use_cost_regulated_linear_velocity_scaling": False,
        "regulated_linear_scaling_min_radius": _rounded(v / w),
        "regulated_linear_scaling_min_speed": _rounded(0.3 * v),
        # Half of what is possible, as commands to stop at the goal arrive late.
        "max_angular_accel": _rounded(0.5 * vehicle.yaw_acceleration),
        # Backwards on the cusps of a path; one cannot be turned to on the spot.
        "use_rotate_to_heading": vehicle.turns_on_the_spot,
        "allow_reversing": not vehicle.turns_on_the_spot,
    }
    if vehicle.turns_on_the_spot:
        follow |= {"rotate_to_heading_angular_vel": w, "rotate_to_heading_min_angle": 0.785}
    return {
        "controller_frequency": 20.0,
        "odom_topic": "odom",
        "failure_tolerance": 0.3,
        "progress_checker_plugins": ["progress_checker"],
        "progress_checker": {
            "plugin": "nav2_controller::PoseProgressChecker",
            "required_movement_radius": _rounded(min(0.5, 2.0 * v)),
            "required_movement_angle": _rounded(min(0.5, 2.0 * w)),
            "movement_time_allowance": 10.0,
        },
        "goal_checker_plugins": ["goal_checker"],
        "goal_checker": {
            "plugin": "nav2_controller::SimpleGoalChecker",
            "xy_goal_tolerance": 0.1 if vehicle.turns_on_the_spot else 0.2,
            "yaw_goal_tolerance": 0.1 if vehicle.turns_on_the_spot else 0.2,
            "stateful": True,
        },
        "controller_plugins": ["FollowPath"],
        "FollowPath": follow,
    }


def _planner(vehicle: Vehicle) -> Values:
    grid: Values = {
        "plugin": "nav2_navfn_planner::NavfnPlanner",
        "tolerance": 0.2,
        "use_astar": False,
        "allow_unknown": True,
    }
    if not vehicle.turns_on_the_spot:
        grid = {
            "plugin": "nav2_smac_planner::SmacPlannerHybrid",
            "motion_model_for_search": "REEDS_SHEPP",
            # With room for the controller to correct.
            "minimum_turning_radius": _rounded(1.1 * vehicle.limits.min_radius),
            "allow_unknown": True,
        }
    return {"planner_plugins": ["GridBased"], "GridBased": grid}


def _behaviors(vehicle: Vehicle) -> Values:
    kinds = {"backup": "BackUp", "drive_on_heading": "DriveOnHeading", "wait": "Wait"}
    if vehicle.turns_on_the_spot:
        kinds = {"spin": "Spin", **kinds}
    return {
        "local_frame": "odom",
        "global_frame": "map",
        "robot_base_frame": vehicle.base,
        "transform_tolerance": 0.2,
        "behavior_plugins": [*kinds],
        **{name: {"plugin": f"nav2_behaviors::{kind}"} for name, kind in kinds.items()},
        "max_rotational_vel": vehicle.yaw_rate,
        "min_rotational_vel": _rounded(0.3 * vehicle.yaw_rate),
        "rotational_acc_lim": vehicle.yaw_acceleration,
    }


def _smoother(vehicle: Vehicle) -> Values:
    velocity = [vehicle.speed, 0.0, vehicle.yaw_rate]
    acceleration = [vehicle.acceleration, 0.0, vehicle.yaw_acceleration]
    return {
        "smoothing_frequency": 20.0,
        "feedback": "OPEN_LOOP",
        "odom_topic": "odom",
        "velocity_timeout": 0.25,  # [s], after which it brakes if the controller died
        # A car keeps its curvature.
        "scale_velocities": not vehicle.turns_on_the_spot,
        "max_velocity": velocity,
        "min_velocity": [-x + 0.0 for x in velocity],
        "max_accel": acceleration,
        "max_decel": [-x + 0.0 for x in acceleration],
    }


def _collision_monitor(vehicle: Vehicle) -> Values:
    # A scan has no limits of height here, unlike a cloud of points.
    sources: Values = {
        scan.name: {"type": "scan", "topic": scan.topic, "enabled": True} for scan in vehicle.scans
    }
    return {
        "base_frame_id": vehicle.base,
        "odom_frame_id": "odom",
        "cmd_vel_in_topic": "cmd_vel_smoothed",
        "cmd_vel_out_topic": "cmd_vel",
        "state_topic": "collision_monitor_state",
        "transform_tolerance": 0.2,
        "source_timeout": 1.0,
        "polygons": ["FootprintApproach"],
        "FootprintApproach": {
            "type": "polygon",
            "action_type": "approach",
            "footprint_topic": "local_costmap/published_footprint",
            "time_before_collision": 1.2,
            "simulation_time_step": 0.1,
            "min_points": 6,
            "enabled": True,
        },
        "observation_sources": [*sources],
        **sources,
    }


def _amcl(vehicle: Vehicle) -> Values:
    return {
        "base_frame_id": vehicle.base,
        "odom_frame_id": "odom",
        "global_frame_id": "map",
        "scan_topic": vehicle.scans[0].topic,
        "robot_model_type": "nav2_amcl::DifferentialMotionModel",
        "laser_max_range": vehicle.scans[0].max_range,
        "update_min_d": 0.1,
        "update_min_a": 0.1,
    }


def _local_size(vehicle: Vehicle) -> int:
    """Return the width of the local costmap in [m]."""
    # What the vehicle reaches within three seconds, and a carrot ahead.
    reach = 3.0 * vehicle.speed + 2.0 * vehicle.radius
    return 2 * ceil(max(reach, 1.5))


def _local_costmap(vehicle: Vehicle) -> Values:
    size = _local_size(vehicle)
    return {
        "update_frequency": 5.0,
        "publish_frequency": 2.0,
        "global_frame": "odom",
        "robot_base_frame": vehicle.base,
        "rolling_window": True,
        "width": size,
        "height": size,
        "resolution": _RESOLUTION,
        **_layers(vehicle, []),
    }


def _global_costmap(vehicle: Vehicle) -> Values:
    return {
        "update_frequency": 1.0,
        "publish_frequency": 1.0,
        "global_frame": "map",
        "robot_base_frame": vehicle.base,
        "resolution": _RESOLUTION,
        "track_unknown_space": True,
        **_layers(vehicle, ["static_layer"]),
        "static_layer": {
            "plugin": "nav2_costmap_2d::StaticLayer",
            "map_subscribe_transient_local": True,
        },
    }


def _layers(vehicle: Vehicle, first: list[str]) -> Values:
    corners = ", ".join(f"[{x + 0.0:.4g}, {y + 0.0:.4g}]" for x, y in vehicle.footprint)
    top = max(2.0, *(scan.height + 0.5 for scan in vehicle.scans))
    return {
        "footprint": f"[{corners}]",
        "transform_tolerance": 0.3,
        "plugins": [*first, "obstacle_layer", "inflation_layer"],
        "obstacle_layer": {
            "plugin": "nav2_costmap_2d::ObstacleLayer",
            "max_obstacle_height": _rounded(top),
            "observation_sources": " ".join(scan.name for scan in vehicle.scans),
            **{scan.name: _source(scan, top) for scan in vehicle.scans},
        },
        "inflation_layer": {
            "plugin": "nav2_costmap_2d::InflationLayer",
            "inflation_radius": _rounded(vehicle.radius + 0.2),
            "cost_scaling_factor": 3.0,
        },
        "always_send_full_costmap": True,
    }


def _source(scan: Scan, top: float) -> Values:
    return {
        "topic": f"/{scan.topic}",
        "data_type": "LaserScan",
        "marking": True,
        "clearing": True,
        "inf_is_valid": True,
        # The plane of the scan lies between.
        "min_obstacle_height": 0.0,
        "max_obstacle_height": _rounded(top),
        "raytrace_min_range": 0.0,
        "raytrace_max_range": _rounded(scan.max_range),
        "obstacle_min_range": _rounded(scan.min_range),
        "obstacle_max_range": _rounded(_SAFE_RANGE * scan.max_range),
    }


def nav2_text(vehicle: Vehicle) -> str:
    """Return the parameter file."""
    limits = vehicle.limits
    turn = f"on the spot, about x = {round(limits.turn_center, 6) + 0.0:.3g} m of the root"
    if not vehicle.turns_on_the_spot:
        turn = f"with a radius of at least {limits.min_radius:.3g} m"
    scans = ", ".join(f"{x.topic} {x.height:.3g} m above the ground" for x in vehicle.scans)
    lines = (
        "Parameters of Nav2 1.3 and slam_toolbox for nav2.launch.py, from the model of the robot.",
        f"Drive: {limits.kind.value}, turns {turn}.",
        f"Scans: {scans}.",
        *(f"{note[0].upper()}{note[1:]}." for note in vehicle.notes),
    )
    comment = "".join(f"# {line}\n" for line in lines)
    return comment + yaml_text(nav2_parameters(vehicle), width=1000)


def _view_text(robot: PackagedRobot, vehicle: Vehicle) -> str:
    body = robot.conversion.body
    displays = [
        rviz.occupancy_map("Map", "/map"),
        rviz.occupancy_map("Global costmap", "/global_costmap/costmap", is_costmap=True),
        rviz.occupancy_map("Local costmap", "/local_costmap/costmap", is_costmap=True),
        rviz.robot_model("Robot", f"/{names.ROBOT_DESCRIPTION}", ""),
        *(rviz.scan(scan.name, f"/{scan.topic}") for scan in vehicle.scans),
        rviz.path("Path", "/plan"),
        rviz.polygon("Footprint", "/local_costmap/published_footprint"),
    ]
    box = rviz.body_box(body, root_poses(body))
    reach = _local_size(vehicle) / 3.0
    around = BoundingBox(
        np.array([-reach, -reach, box.low[2]]), np.array([reach, reach, box.high[2]])
    )
    return rviz.document(
        displays,
        "map",
        around,
        comment="The robot, its scans, maps and path, as nav2.launch.py shows them.",
        floor_height=0.0,
        frames_on=False,
        followed=Frame(vehicle.base, "map", Pose()),
        from_above=True,
        is_simulation=True,
    )


def _topics(vehicle: Vehicle) -> list[str]:
    """Return the topics that the view names, which have another namespace for each robot."""
    fixed = ("map", "plan", "goal_pose", "initialpose", "clicked_point", names.ROBOT_DESCRIPTION)
    costmaps = [f"{x}_costmap/costmap" for x in ("global", "local")]
    updates = [f"{topic}_updates" for topic in ("map", *costmaps)]
    shown = ["local_costmap/published_footprint", *costmaps, *updates]
    return [*fixed, *shown, *(scan.topic for scan in vehicle.scans)]


def _nav2_part(robot: PackagedRobot) -> Part:
    vehicle = nav2_vehicle(robot.conversion.body, robot.conversion.frames)
    launch = fill_template(
        "nav2.launch.py",
        PACKAGE=robot.package,
        BASE=json.dumps(vehicle.base),
        BASE_LINKS=json.dumps(robot.options.base.value),
        SCANS=json.dumps({scan.name: scan.topic for scan in vehicle.scans}),
        TOPICS=_list(_topics(vehicle)),
        TREE="" if vehicle.turns_on_the_spot else _TREE,
        PARAMETERS=_PARAMETERS,
        VIEW=_VIEW,
    )
    texts = {
        _LAUNCH: launch,
        _PARAMETERS: nav2_text(vehicle),
        _VIEW: _view_text(robot, vehicle),
    }
    if not vehicle.turns_on_the_spot:
        texts[_TREE] = fill_template("nav2_tree.xml")
    planner = _PLANNERS[vehicle.turns_on_the_spot]
    return Part(
        texts,
        {_LAUNCH: "simulates it under Nav2"},
        dependencies=(*_PACKAGES, planner),
    )


def _list(values: Iterable[str]) -> str:
    return "[\n" + "".join(f"    {json.dumps(value)},\n" for value in values) + "]"


NAV2 = Addition(("--nav2",), _LAUNCH, _nav2_part)
