"""Actions of MoveIt's controllers, as listed in its file moveit_controllers.yaml."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rclpy.node import Node

from hrp_model import Diagnostics, Severity
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.late_dataclass import dataclass
from hrp_model.read_context import read_source
from hrp_model.readers.yaml.nodes import Mapping as YamlMapping
from hrp_model.readers.yaml.nodes import Scalar
from hrp_model.readers.yaml.tree import parse
from hrp_msgs import names
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.sanitize import one_line
from hrp_msgs.topics.action_servers import (
    GRIPPER,
    PARALLEL_GRIPPER,
    TRAJECTORY,
    GripperAction,
    TrajectoryAction,
    is_available,
)
from hrp_msgs.topics.joint_actions import JointAction

from ..control import TrajectoryRun
from ..topics.commands import BodyCommands

_MANAGER = "moveit_simple_controller_manager"
_TYPES = (TRAJECTORY, GRIPPER, PARALLEL_GRIPPER)
_CODE = "moveit-controllers"
# In a parameter file it is below the name of a node, or /**, and this.
_PARAMETERS = "ros__parameters"
# Each is an action of three services and two topics.
MAX_CONTROLLERS = 100


@dataclass(frozen=True)
class MoveItController:
    """A controller that MoveIt sends its motions to.

    Attributes:
        action: Name of its action, such as "arm_controller/follow_joint_trajectory".
        type: Type of the action in control_msgs.
        joints: Names of its joints.
        is_parallel: Of a gripper: whether its position is the sum of those of its joints.
    """

    action: str
    type: str
    joints: tuple[str, ...]
    is_parallel: bool = False

    def create(
        self,
        node: Node,
        action: str,
        commands: BodyCommands,
        followers: Iterable[str],
    ) -> JointAction[TrajectoryRun] | None:
        """Create the action; return None after a warning if control_msgs lacks its type.

        Args:
            node: The node of the action.
            action: Its name, in the namespace of the body.
            commands: Moves the joints.
            followers: Joints of the body that follow others.

        Raises:
            WrongUseError: The name is invalid.
        """
        if not is_available(self.type):
            node.get_logger().warning(
                f"there is no action {action}: control_msgs, as installed, lacks {self.type}"
            )
            return None
        if self.type == TRAJECTORY:
            return TrajectoryAction(node, action, commands, self.joints)
        leaders = [joint for joint in self.joints if joint not in set(followers)] or self.joints
        return GripperAction(node, self.type, action, commands, leaders, is_sum=self.is_parallel)


def read_moveit_controllers(uri: str) -> list[MoveItController]:
    """Read a file of controllers, which may also be a parameter file of move_group.

    Args:
        uri: Path of the file, or its ``file://`` or ``package://`` URI.

    Raises:
        WrongUseError: It cannot be read, or a controller in it is invalid.
    """
    diagnostics = Diagnostics.silent()
    try:
        root = parse(read_source(resolve(uri, Path.cwd())), diagnostics)
    except (ResourceError, OSError) as error:
        reason = f"'{uri}' is a folder; give the YAML file in it"
        if not os.path.isdir(uri):
            reason = f"cannot read '{uri}': {error}"
        raise WrongUseError(f"moveit_controllers: {reason}") from None
    found: list[MoveItController] = []
    manager = _manager(root)
    if manager is not None:
        found = list(_controllers(manager))
    elif not diagnostics.found:
        message = f"there is no '{_MANAGER}' with 'controller_names', as MoveIt reads it"
        diagnostics.error(_CODE, message, None if root is None else root.span)
    for problem in diagnostics.found:
        if problem.severity is Severity.ERROR:
            raise WrongUseError(f"moveit_controllers: {problem}")
    return found


def _manager(root: object) -> YamlMapping | None:
    """Return the part of a file that lists controllers; None if there is none."""
    if not isinstance(root, YamlMapping):
        return None
    nodes = [node for _, node in root.items() if isinstance(node, YamlMapping)]
    inner = [node.get(_PARAMETERS) for node in nodes]
    for node in (root, *inner):
        if isinstance(node, YamlMapping) and node.get(_MANAGER) is not None:
            return node.mapping(_MANAGER)
    return None


def _controllers(manager: YamlMapping) -> Iterator[MoveItController]:
    """Yield the controllers of a file; reports those that are invalid."""
    listed = manager.sequence("controller_names")
    items = [] if listed is None else listed.items
    taken: set[str] = set()
    for item in items[:MAX_CONTROLLERS]:
        name = item.text if isinstance(item, Scalar) else ""
        node = manager.mapping(name) if name else None
        if node is None:
            message = f"'controller_names' lists '{name}', which has no mapping of this name"
            manager.diagnostics.error(_CODE, message, item.span)
            continue
        level = node.text("action_ns", default="")
        action = f"{name}/{level}" if level else name
        joints = node.sequence("joints")
        found = MoveItController(
            action,
            node.choice("type", choices={kind: kind for kind in _TYPES}, default=TRAJECTORY),
            () if joints is None else tuple(j.text for j in joints.items if isinstance(j, Scalar)),
            node.boolean("parallel", default=False),
        )
        problem = names.namespace_error(action)
        if not found.joints:
            problem = f"controller '{name}' has no joints"
        elif len(set(found.joints)) < len(found.joints):
            twice = next(x for i, x in enumerate(found.joints) if x in found.joints[:i])
            problem = f"controller '{name}' lists joint '{twice}' twice"
        elif action in taken:
            problem = f"there are two actions '{action}'"
        taken.add(action)
        if problem:
            manager.diagnostics.error(_CODE, problem, node.span)
        yield found
    if len(items) > MAX_CONTROLLERS:
        message = f"{len(items)} controllers are more than {MAX_CONTROLLERS}"
        manager.diagnostics.error(_CODE, message, manager.at("controller_names"))


def controllers_of(
    controllers: Iterable[MoveItController], joints: Iterable[str]
) -> list[MoveItController]:
    """Return the controllers whose joints a body has, all of them."""
    own = set(joints)
    return [found for found in controllers if own.issuperset(found.joints)]


def unmatched(
    controllers: Iterable[MoveItController], bodies: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield a warning for each controller whose joints no body has.

    Args:
        controllers: The controllers.
        bodies: Names of the joints of each body.
    """
    every = [joint for joints in bodies.values() for joint in joints]
    for controller in controllers:
        if any(controllers_of([controller], joints) for joints in bodies.values()):
            continue
        unknown = next((joint for joint in controller.joints if joint not in every), None)
        reason = "no single robot has all of its joints"
        if unknown is not None:
            hint = did_you_mean_or_all(unknown, every)
            reason = f"no robot has its joint '{unknown}'.{hint}"
        yield one_line(f"moveit_controllers: no action '{controller.action}': {reason}")
