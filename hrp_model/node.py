"""The ROS 2 face of a robot model: its URDF, and TF from joint states."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from hrp_msgs import names, qos
from hrp_msgs.basic import NS_PER_S
from hrp_msgs.params import MODEL_NODE, Param, declare
from hrp_msgs.tf import tf_message, transform
from hrp_msgs.topic import Topic

from .body import Body
from .diagnostics import Diagnostic, Diagnostics, ModelError, Severity
from .frames import Frame, body_frames
from .load import load_body
from .publishing import StampThrottle, frame_tree, usable_positions
from .rigid import matrix_quaternion
from .urdf import body_to_urdf
from .urdf.meshes import write_meshes


class WrongUseError(ValueError):
    """A node was started with something that makes no sense; the message says what would."""


def init_ros(args: Sequence[str] | None = None, **options: Any) -> None:
    """Do what ``rclpy.init`` does.

    Raises:
        WrongUseError: The arguments for ROS cannot be read.
    """
    try:
        rclpy.init(args=args, **options)
    except RuntimeError as error:  # what all errors of rclpy's C++ part are
        raise WrongUseError(f"ROS cannot start with these arguments: {error}") from None


def logged_diagnostics(node: Node) -> Diagnostics:
    """Return diagnostics that go to a node's log, all but the errors, which end it."""

    def log(diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.WARNING:
            node.get_logger().warning(str(diagnostic))
        elif diagnostic.severity is Severity.NOTE:
            node.get_logger().debug(str(diagnostic))

    return Diagnostics(listener=log)


class ModelNode(Node):
    """Publishes a robot's description and the transforms of its links.

    Publishes: robot_description, /tf_static (both latched), /tf.
    Subscribes: joint_states, once ``listen`` was called.
    Parameters: see ``hrp_msgs.params.MODEL_NODE``; robot_description holds the URDF.

    Args:
        node_options: What rclpy's Node takes, such as ``namespace``.
    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__("model_node", **node_options)
        self.settings = declare(self, MODEL_NODE)

    def start(self, body: Body) -> None:
        """Publish a body: its description, and what never moves.

        Raises:
            OSError: The meshes cannot be written.
        """
        diagnostics = logged_diagnostics(self)
        meshes = write_meshes(body, _cache_folder(), diagnostics=diagnostics)
        urdf = body_to_urdf(body, meshes, diagnostics)
        silent = Diagnostics(listener=lambda _: None)  # the URDF told everything about names
        frames = body_frames(body, silent)
        self._root = frames.links[body.root.name]
        self._tree = frame_tree(body, frames)
        self._throttle = StampThrottle(self.settings["publish_frequency"])
        self._unknown: set[str] = set()
        for link in self._tree.floating:
            self.get_logger().warning(f"no joint tells where '{link}' floats; it gets no transform")

        description = Param(names.ROBOT_DESCRIPTION, urdf, "The URDF that is published.")
        declare(self, [description])
        self._description = Topic(self, String, names.ROBOT_DESCRIPTION, qos.LATCHED)
        self._description.publish(String(data=urdf))
        self._static = Topic(self, TFMessage, names.TF_STATIC, qos.TF_STATIC)
        self._static.publish(tf_message(self._fixed_transforms(body)))
        self._moving = Topic(self, TFMessage, names.TF, qos.TF)
        self.get_logger().info(
            f"'{body.name}': {len(body.links)} links, {len(self._tree.moving)} moving joints, "
            f"{len(body.devices)} devices"
        )

    def listen(self) -> None:
        """Follow joint_states from now on."""
        self.create_subscription(JointState, names.JOINT_STATES, self._follow, qos.SENSOR_INPUT)

    def move(self, time_ns: int, joints: Sequence[str], positions: Sequence[float]) -> None:
        """Publish where joints have moved their links, if it is time to.

        Args:
            time_ns: When they were there, in [ns].
            joints: Names; those that the body does not have are told once.
            positions: In [rad] or [m], one per name; what is not finite is left out.
        """
        known, unknown = usable_positions(joints, positions, self._tree.moving)
        self._warn_of_unknown(unknown)
        if known and self._throttle.lets_through(known, time_ns):
            self._moving.publish(tf_message(self._transforms(time_ns, self._tree.moved(known))))

    @property
    def topics(self) -> list[Topic]:
        """Everything that is published."""
        return [self._description, self._static, self._moving]

    def _follow(self, msg: JointState) -> None:
        if not msg.position:
            return
        if len(msg.position) != len(msg.name):
            counts = f"{len(msg.name)} names but {len(msg.position)} positions"
            self.get_logger().warning(f"joint_states with {counts} is ignored", once=True)
            return
        time_ns = msg.header.stamp.sec * NS_PER_S + msg.header.stamp.nanosec
        if time_ns == 0:  # a publisher that fills in no stamp means now
            time_ns = self.get_clock().now().nanoseconds
        self.move(time_ns, msg.name, msg.position)

    def _warn_of_unknown(self, joints: Sequence[str]) -> None:
        new = [name for name in joints if name not in self._unknown]
        if new:
            self._unknown.update(new)
            text = ", ".join(f"'{name}'" for name in new)
            self.get_logger().warning(f"joint_states: not moving joints of this model: {text}")

    def _fixed_transforms(self, body: Body) -> list[TransformStamped]:
        always = 0  # what never moves holds at any time
        transforms = self._transforms(always, self._tree.fixed)
        world = self.settings["world_frame"]
        if world:  # this frame is shared by robots, so it has no prefix
            X, root = body.root.X_PL, names.frame(self._root, self.settings["frame_prefix"])
            transforms.append(transform(always, world, root, X.p, matrix_quaternion(X.R)))
        return transforms

    def _transforms(self, time_ns: int, frames: Sequence[Frame]) -> list[TransformStamped]:
        prefix = self.settings["frame_prefix"]
        return [
            transform(
                time_ns,
                names.frame(f.parent, prefix),
                names.frame(f.name, prefix),
                f.pose.p,
                matrix_quaternion(f.pose.R),
            )
            for f in frames
        ]


def _cache_folder() -> Path:
    """Return a folder for mesh files that outlives this process, if there can be one."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(cache) / "hrp_ros" / "meshes"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="hrp_ros-"))
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp(prefix="hrp_ros-"))


def _run(args: Sequence[str] | None) -> int:
    """Run the node to its end; return the exit status."""
    try:
        init_ros(args)
        node = ModelNode()
        model = node.settings["model"]
        if not model:
            raise WrongUseError("no model is named; start with: --ros-args -p model:=FILE")
        node.start(load_body(model, logged_diagnostics(node)))
    except (ParameterException, WrongUseError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ModelError as error:  # its lines say "error" themselves
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: the meshes cannot be written: {error}", file=sys.stderr)
        return 1
    node.listen()
    rclpy.spin(node)
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """Run ``model_node``; return 0 after Ctrl-C, 1 for a bad model, 2 for wrong use."""
    try:
        return _run(args)
    except (KeyboardInterrupt, ExternalShutdownException):
        return 0
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut this short
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
