"""Parameters of ``model_node`` and ``view_node``, and how these run until a signal is received."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from hrp_msgs.node.executor import ExecutorThread
from hrp_msgs.node.parameters import Param
from hrp_msgs.node.start import creating, destroy, init_ros

from ..description.publisher import MAX_FREQUENCY
from ..program.command import StopSignals
from ..view.address import DEFAULT_PORT, LOOPBACK

MODEL_NODE = (
    Param(
        "model",
        "",
        "Robot model (.wrl, .body, .urdf): path, relative to the folder in which the node was "
        "started, or file:// or package:// URI.",
        read_only=False,
    ),
    Param("watch", False, "Read the model again when one of its files changes.", read_only=False),
    Param(
        "publish_tf",
        True,
        "Whether to publish /tf and /tf_static; set it to false to use robot_state_publisher.",
    ),
    Param("frame_prefix", "", "Prefix of all TF frame names.", read_only=False),
    Param(
        "world_frame",
        "",
        "Parent frame of the root, which has the pose of the model in it; empty: no such "
        "transform, for instance because a simulator publishes it.",
        read_only=False,
    ),
    Param(
        "publish_frequency",
        MAX_FREQUENCY,
        "Maximum rate of /tf by message stamps [Hz]; 0 = one message for every joint_states.",
        0.0,
        10000.0,
        read_only=False,
    ),
    Param(
        "ignore_timestamp",
        False,
        "Publish /tf for every joint_states regardless of stamps; disables publish_frequency.",
        read_only=False,
    ),
    Param(
        "description_format",
        "urdf",
        "Published descriptions: robot_description (URDF), and with 'urdf+srdf' also "
        "robot_description_semantic (SRDF) for MoveIt.",
        choices=("urdf", "urdf+srdf"),
    ),
    Param(
        "link_naming",
        "joint",
        "Names of links: those of the joints, as in the model, or those of OpenHRP Segment nodes.",
        read_only=False,
        choices=("joint", "segment"),
    ),
    Param(
        "base",
        "auto",
        "Massless links above the root: base_link, or also base_footprint on the floor; "
        "'auto' adds base_link if the root has a mass, which KDL does not support.",
        read_only=False,
        choices=("auto", "none", "base_link", "base_footprint"),
    ),
    Param(
        "collision",
        "as_modelled",
        "Collision shapes in the URDF: those of the model, or convex hulls, boxes or convex "
        "parts of them.",
        read_only=False,
        choices=("as_modelled", "convex", "box", "decomposed"),
    ),
    Param(
        "glb_up",
        "z",
        "Which axis of the GLB meshes is the URDF's z: 'z' for RViz up to ROS 2 Kilted, 'y' as "
        "in glTF for RViz from rviz_rendering 15.1.4 on.",
        read_only=False,
        choices=("z", "y"),
    ),
    Param("gazebo", False, "Whether the URDF has <gazebo> blocks for sensors.", read_only=False),
    Param(
        "ros2_control",
        "none",
        "Hardware of the URDF's <ros2_control> block; 'none' leaves the block out.",
        read_only=False,
        choices=("none", "topic", "mock", "gz", "mujoco"),
    ),
    Param(
        "controllers",
        "",
        "Parameter file of the controllers for ros2_control 'gz'; 'hrp-model urdf' writes one "
        "with --controllers.",
        read_only=False,
    ),
)
VIEW_NODE = (
    Param(
        "port",
        0,
        f"TCP port of the page; 0: {DEFAULT_PORT}, or the next one that is free.",
        0,
        65535,
    ),
    Param(
        "host",
        LOOPBACK,
        "Address of the network interface; '0.0.0.0' shows the page to all machines that reach "
        "this one.",
    ),
)


_Node = TypeVar("_Node", bound=Node)


def serve_until_signal(
    args: Sequence[str] | None,
    make: Callable[[Context], _Node],
    prepare: Callable[[_Node, ExitStack], None],
) -> None:
    """Run a node until a signal is received.

    rclpy's own signal handlers would shut the context down while a callback still publishes, or
    while the node is being created.

    Args:
        args: ROS arguments; None for those of the process.
        make: Returns the node in a context.
        prepare: Called with the node before any of its callbacks; what it adds to the stack is
            called after the last of them, before the node is destroyed.

    Raises:
        KeyboardInterrupt: A signal was received during ``make`` or ``prepare``.
        WrongUseError: The ROS arguments, or a name, are invalid.
    """
    with StopSignals() as signals, ExitStack() as undo:
        context = Context()
        init_ros(args, context=context, signal_handler_options=SignalHandlerOptions.NO)
        undo.callback(context.try_shutdown)
        with creating("the node"):
            node = make(context)
        undo.callback(destroy, node)
        prepare(node, undo)
        signals.stop()
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        undo.callback(ExecutorThread(executor, node.get_logger()).close)
        signals.wait()
