"""Run a node as the program of its own until a signal is received."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from hrp_msgs.node.executor import ExecutorThread
from hrp_msgs.node.start import creating, destroy, init_ros

from ..program.command import StopSignals

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
