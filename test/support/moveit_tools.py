"""A client of MoveIt's move_group, beside the true motion of a simulated robot."""

import threading
from collections import deque
from copy import copy
from types import SimpleNamespace

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.action import ExecuteTrajectory, MoveGroup
from moveit_msgs.msg import (
    BoundingVolume,
    Constraints,
    JointConstraint,
    LinkPadding,
    MoveItErrorCodes,
    OrientationConstraint,
    PlanningScene,
    PlanningSceneComponents,
    PositionConstraint,
    RobotState,
)
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetPlanningScene,
    GetPositionFK,
    GetStateValidity,
)
from ros_peer import LATCHED, matrix_of, stamp_ns
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from tf2_msgs.msg import TFMessage

from hrp_model.rigid import matrix_quaternion

SUCCESS = MoveItErrorCodes.SUCCESS
# As those of MoveGroupInterface: [rad] or [m]; of poses [m] and [rad].
JOINT_TOLERANCE, POSITION_TOLERANCE, ROTATION_TOLERANCE = 1e-4, 1e-4, 1e-3
PLANNING_TIME = 10.0  # [s], at most
SPEED = 0.5  # of the limits
STILL = 2e-3  # [rad/s] or [m/s]
STILL_FOR = 200_000_000  # [ns]


def pose_message(T):
    """Return the message of a pose, shape (4, 4)."""
    message = Pose()
    message.position.x, message.position.y, message.position.z = map(float, T[:3, 3])
    q = message.orientation
    q.x, q.y, q.z, q.w = matrix_quaternion(T[:3, :3])
    return message


def pose_matrix(pose):
    return matrix_of(SimpleNamespace(translation=pose.position, rotation=pose.orientation))


class MoveIt:
    """Asks move_group for motions of one group, and watches what the simulation does.

    Args:
        peer: The node.
        group: Planning group.
        tip: Its last link.
        world: Frame in which MoveIt plans.
        namespace: Of move_group and the robot.
    """

    def __init__(self, peer, group, tip, world="world", namespace=""):
        self.peer, self.group, self.tip, self.world = peer, group, tip, world
        self._prefix = f"{namespace}/" if namespace else ""
        self._lock = threading.Lock()
        self._poses = {}
        self._count = 0
        self.states = deque(maxlen=100_000)
        # The newest messages: what is done is known from them, and a busy machine drops old ones.
        peer.node.create_subscription(JointState, f"{self._prefix}joint_states", self._keep, 10)
        for topic, qos in (("/tf", 10), ("/tf_static", LATCHED)):
            peer.node.create_subscription(TFMessage, topic, self._place, qos)
        self._move = peer.action_client(MoveGroup, f"{self._prefix}move_action")
        self._execute = peer.action_client(ExecuteTrajectory, f"{self._prefix}execute_trajectory")
        peer.wait_until("move_group", self._move.server_is_ready)
        peer.wait_until("joint states", lambda: self.states)
        peer.wait_until(f"the pose of {tip}", lambda: self.tip_pose() is not None)

    def of_group(self, group, tip=None):
        """Return the same client for another group."""
        other = copy(self)  # which shares the states, but not their number
        other.group, other.tip = group, self.tip if tip is None else tip
        return other

    def _keep(self, message):
        self.states.append(message)
        self._count += 1

    def _place(self, message):
        with self._lock:
            for x in message.transforms:
                self._poses[x.child_frame_id] = x.header.frame_id, matrix_of(x.transform)

    # What the simulation does

    def pose(self, frame):
        """Return the true pose of a frame in the world; None while it is unknown."""
        T = np.eye(4)
        with self._lock:
            while frame != self.world:
                if frame not in self._poses:
                    return None
                frame, X = self._poses[frame]
                T = X @ T
        return T

    def tip_pose(self):
        return self.pose(self.tip)

    def positions(self):
        """Return the true position of each joint."""
        return dict(zip(self.states[-1].name, self.states[-1].position, strict=True))

    def speed(self):
        """Return the largest speed of a joint."""
        return max(map(abs, self.states[-1].velocity))

    def wait_until_still(self):
        """Return when no joint has moved for a while."""
        self.peer.wait_until("a robot at rest", self._is_still)

    def _is_still(self):
        now = stamp_ns(self.states[-1].header.stamp)
        for state in reversed(list(self.states)):
            if max(map(abs, state.velocity)) > STILL:
                return False
            if stamp_ns(state.header.stamp) < now - STILL_FOR:
                return True
        return False

    def wait_for_states(self, count):
        """Return when so many further states were published."""
        end = self._count + count
        self.peer.wait_until(f"{count} joint states", lambda: self._count >= end)

    def recorded(self, act):
        """Act; return the positions of the joints in all states meanwhile."""
        first = stamp_ns(self.states[-1].header.stamp)
        act()
        new = [x for x in list(self.states) if stamp_ns(x.header.stamp) > first]
        return [dict(zip(x.name, x.position, strict=True)) for x in new]

    # What MoveIt knows

    def call(self, kind, service, **fields):
        return self.peer.call(f"{self._prefix}{service}", kind, **fields)

    def state(self, positions):
        """Return the present state, with other positions of some joints."""
        joints = JointState(name=list(positions), position=[float(x) for x in positions.values()])
        return RobotState(is_diff=True, joint_state=joints)

    def is_valid(self, positions, group=None):
        """Return whether MoveIt finds a state within the limits and without collision."""
        group = self.group if group is None else group
        state = self.state(positions)
        return self.call(GetStateValidity, "check_state_validity", group_name=group,
                         robot_state=state).valid  # fmt: skip

    def forward(self, positions):
        """Return MoveIt's pose of the tip, in the world."""
        request = {"fk_link_names": [self.tip], "robot_state": self.state(positions)}
        header = type(self.states[-1].header)(frame_id=self.world)
        found = self.call(GetPositionFK, "compute_fk", header=header, **request)
        assert found.error_code.val == SUCCESS
        return pose_matrix(found.pose_stamped[0].pose)

    def scene(self):
        """Return the planning scene."""
        everything = PlanningSceneComponents(components=1023)
        return self.call(GetPlanningScene, "get_planning_scene", components=everything).scene

    def objects(self):
        return {x.id for x in self.scene().world.collision_objects}

    def attached(self):
        """Return the link to which each object is attached."""
        held = self.scene().robot_state.attached_collision_objects
        return {x.object.id: x.link_name for x in held}

    def pad(self, links, padding):
        """Have MoveIt keep links away from the world, in [m]: motors lag behind their plan."""
        found = [LinkPadding(link_name=link, padding=padding) for link in links]
        scene = PlanningScene(is_diff=True, link_padding=found)
        scene.robot_state.is_diff = True
        assert self.call(ApplyPlanningScene, "apply_planning_scene", scene=scene).success

    # Motions

    def joint_goal(self, positions):
        return Constraints(
            joint_constraints=[
                JointConstraint(
                    joint_name=name, position=float(value), weight=1.0,
                    tolerance_above=JOINT_TOLERANCE, tolerance_below=JOINT_TOLERANCE,
                )
                for name, value in positions.items()
            ]
        )  # fmt: skip

    def pose_goal(self, T, *, turned=True, tolerance=POSITION_TOLERANCE):
        """Return the goal of a pose of the tip; without ``turned`` of its position alone."""
        message = pose_message(T)
        sphere = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[tolerance])
        region = BoundingVolume(primitives=[sphere], primitive_poses=[
            Pose(position=message.position)
        ])  # fmt: skip
        position = PositionConstraint(link_name=self.tip, constraint_region=region, weight=1.0)
        position.header.frame_id = self.world
        found = Constraints(position_constraints=[position])
        if turned:
            rotation = OrientationConstraint(
                link_name=self.tip, orientation=message.orientation, weight=1.0,
                absolute_x_axis_tolerance=ROTATION_TOLERANCE,
                absolute_y_axis_tolerance=ROTATION_TOLERANCE,
                absolute_z_axis_tolerance=ROTATION_TOLERANCE,
            )  # fmt: skip
            rotation.header.frame_id = self.world
            found.orientation_constraints = [rotation]
        return found

    def start(self, goal, *, group=None, pipeline="", planner="", only_plan=False, speed=SPEED):
        """Send a goal; return its handle."""
        sent = MoveGroup.Goal()
        request = sent.request
        request.group_name = self.group if group is None else group
        request.pipeline_id, request.planner_id = pipeline, planner
        request.num_planning_attempts, request.allowed_planning_time = 1, PLANNING_TIME
        request.max_velocity_scaling_factor = request.max_acceleration_scaling_factor = speed
        request.start_state.is_diff = True
        request.goal_constraints = [goal]
        options = sent.planning_options
        options.plan_only = only_plan
        options.planning_scene_diff.is_diff = True
        options.planning_scene_diff.robot_state.is_diff = True
        return self._sent(self._move, sent)

    def _sent(self, client, goal):
        future = self.peer.at_once(client.send_goal_async, goal)
        self.peer.wait_until("acceptance", future.done)
        assert future.result().accepted
        return future.result()

    def result(self, handle):
        """Return the result of a goal, once it has one."""
        future = self.peer.at_once(handle.get_result_async)
        self.peer.wait_until("the result of a motion", future.done)
        return future.result().result

    def go(self, goal, **options):
        """Plan and execute; return MoveIt's error code and the trajectory."""
        found = self.result(self.start(goal, **options))
        return found.error_code.val, found.planned_trajectory.joint_trajectory

    def straight(self, *poses, step=0.01):
        """Return the fraction of a Cartesian path that MoveIt can plan, and its trajectory."""
        request = GetCartesianPath.Request(
            group_name=self.group, link_name=self.tip, max_step=step, avoid_collisions=True,
            start_state=RobotState(is_diff=True), waypoints=[pose_message(T) for T in poses],
            max_velocity_scaling_factor=SPEED, max_acceleration_scaling_factor=SPEED,
        )  # fmt: skip
        request.header.frame_id = self.world
        fields = {name: getattr(request, name) for name in request.get_fields_and_field_types()}
        found = self.call(GetCartesianPath, "compute_cartesian_path", **fields)
        return found.fraction, found.solution

    def execute(self, trajectory):
        """Execute a trajectory; return MoveIt's error code."""
        handle = self._sent(self._execute, ExecuteTrajectory.Goal(trajectory=trajectory))
        return self.result(handle).error_code.val
