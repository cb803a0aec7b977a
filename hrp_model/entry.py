"""Where programs with ROS begin, so that they have words for a machine without ROS."""

from __future__ import annotations

import importlib
import sys

from .cli_tools import discard_output

_NO_ROS = (
    "source a ROS 2 installation (its setup.bash), or let scripts/bootstrap.sh of hrp_ros install "
    "what is needed without one"
)


def run_node(module: str, program: str) -> int:
    """Run ``main`` of a module that imports ROS, or tell how to if asked for help.

    Args:
        module: Name of the module.
        program: What users know it as; the module's ``PARAMETERS`` are told as its own.

    Returns:
        Its exit status; 2 where ROS cannot be imported, after telling what to do.
    """
    try:
        node = importlib.import_module(module)
        params = importlib.import_module("hrp_msgs.params")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == module.partition(".")[0]:
            raise  # a defect of this package says nothing about ROS
        print(f"error: ROS 2 cannot be imported ({error}): {_NO_ROS}", file=sys.stderr)
        return 2
    if {"-h", "--help"}.intersection(sys.argv[1:]):
        try:
            print(params.usage(program, node.PARAMETERS), flush=True)
        except BrokenPipeError:
            discard_output()  # whose reader has seen enough
        return 0
    status: int = node.main()
    return status


def model_node() -> int:
    """Run ``model_node``."""
    return run_node("hrp_model.node", "model_node")
