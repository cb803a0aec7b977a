"""Action servers of control_msgs/GripperCommand and ParallelGripperCommand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ..convert.basic import NS_PER_S, doubles, set_header
from ..messages import Message
from ..sanitize import one_line
from .joint_actions import ActiveGoal, Canceler, JointAction, Progress, R, check_joints

try:
    from control_msgs import action as _actions
except ImportError:
    _actions = None

GRIPPER, PARALLEL_GRIPPER = "GripperCommand", "ParallelGripperCommand"
# A gripper stalls if no joint is faster than this for this long, as in gripper_controllers.
STALL_SPEED = 0.001  # [rad/s] or [m/s]
STALL_NS = NS_PER_S


def is_available(kind: str) -> bool:
    """Return whether the installed control_msgs has a kind of action."""
    return hasattr(_actions, kind)


class Gripper(Canceler[R], Protocol[R]):
    """Interface of a body with a gripper; called in the executor thread."""

    def grip(self, action: str, positions: Mapping[str, float], speeds: Mapping[str, float]) -> R:
        """Move joints to positions, and hold or press there until the next command.

        Args:
            action: Name of the action.
            positions: By joint name, in [rad] or [m].
            speeds: Maximum speeds by joint name, in [rad/s] or [m/s]; by default those of the
                model.

        Raises:
            ValueError: The joints cannot move there.
        """


class _GripperGoal(ActiveGoal[R]):
    """A gripper on its way; it arrives, or stalls on an object.

    Args:
        handle: Handle of the goal.
        run: The motion.
        action_type: Class of the action.
        names: Joints of the gripper that move.
        scale: Position of the gripper per position of a joint.
    """

    def __init__(
        self,
        handle: ServerGoalHandle,
        run: R,
        action_type: Any,  # one of two classes
        names: Sequence[str],
        scale: float,
    ) -> None:
        super().__init__(handle, run)
        self._type = action_type
        self._names = list(names)
        self._scale = scale
        self._stalled = False
        self._moved_ns: int | None = None

    def check(self) -> bool:
        """Return whether the goal is over; called once after each step."""
        progress = self.run.progress
        if self.run.is_over or progress is None:
            return self.run.is_over
        now_ns, speed = progress.time_ns, np.abs(progress.actual[1]).max()
        if self._moved_ns is None or speed > STALL_SPEED:
            self._moved_ns = now_ns
        self._stalled = now_ns - self._moved_ns >= STALL_NS
        return self._stalled

    @property
    def succeeded(self) -> bool:
        """Whether the gripper is at its goal, or holds what is between its fingers."""
        return self._stalled or super().succeeded

    def feedback(self, progress: Progress) -> Message:
        """Return the feedback of a progress."""
        return self._fill(self._type.Feedback(), progress)

    def result(self) -> Message:
        """Return the result of the goal, which is over."""
        return self._fill(self._type.Result(), self.run.progress)

    def _fill(self, message: Any, progress: Progress | None) -> Message:
        if progress is not None:
            position, velocity, effort = progress.actual
            if hasattr(message, "state"):
                message.state = JointState(
                    name=self._names,
                    position=doubles(position),
                    velocity=doubles(velocity),
                    effort=doubles(effort),
                )
                set_header(message.state.header, progress.time_ns, "")
            else:
                message.position = float(position.mean()) * self._scale
                message.effort = float(np.abs(effort).max())
        if hasattr(message, "stalled"):
            message.stalled = self._stalled
            message.reached_goal = super().succeeded
        return message


class GripperAction(JointAction[R]):
    """Action server that opens and closes a gripper.

    A position of GripperCommand is that of each joint, or with ``is_sum`` the sum of all. The
    effort limit of a goal is ignored, as gripper_controllers does for joints that take positions.
    The action has no error string: why a goal was refused is logged.

    Args:
        node: The node of the action.
        kind: ``GRIPPER`` or ``PARALLEL_GRIPPER``.
        name: Name of the action.
        gripper: Moves the joints.
        joints: Names of the joints, without those that follow others.
        is_sum: Whether positions are sums.

    Raises:
        ImportError: The installed control_msgs has no such action.
        WrongUseError: The name is invalid.
    """

    def __init__(
        self,
        node: Node,
        kind: str,
        name: str,
        gripper: Gripper[R],
        joints: Sequence[str],
        *,
        is_sum: bool = False,
    ) -> None:
        if not is_available(kind):
            raise ImportError(f"control_msgs has no {kind}")
        self._node = node
        self._type = getattr(_actions, kind)
        self._gripper = gripper
        self._joints = joints
        self._is_sum = is_sum
        super().__init__(node, self._type, name, gripper)

    def begin(self, handle: ServerGoalHandle) -> ActiveGoal[R]:
        """Begin to open or close the gripper."""
        command, scale = handle.request.command, 1.0
        speeds: dict[str, float] = {}
        if isinstance(command, JointState):
            names = list(command.name) or list(self._joints[:1])
            positions = dict(zip(names, command.position, strict=False))
            speeds = dict(zip(names, command.velocity, strict=False))
            if not len(positions) == len(names) == len(command.position):
                numbers = f"{len(command.position)} positions for {len(names)} joints"
                raise ValueError(f"a gripper needs one position for each joint, not {numbers}")
            check_joints(names, self._joints)
        else:
            names = list(self._joints)
            scale = float(len(names)) if self._is_sum else 1.0
            positions = dict.fromkeys(names, command.position / scale)
        run = self._gripper.grip(self._name, positions, speeds)
        return _GripperGoal(handle, run, self._type, names, scale)

    def refusal(self, error: ValueError | None) -> Message:
        """Return the result of a goal that was refused; None: the robot was removed."""
        if error is not None:
            problem = one_line(f"{self._name}: {error}")
            self._node.get_logger().warning(problem, throttle_duration_sec=1.0)
        return self._type.Result()
