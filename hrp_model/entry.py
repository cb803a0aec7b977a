"""Where programs with ROS begin, so that they have words for a machine without ROS."""

from __future__ import annotations

import importlib
import sys

from .console import configure_streams, print_message, print_text
from .program import GOOD, WRONG_USE, allow_interrupts, run_program

_NO_ROS = (
    "source a ROS 2 installation (its setup.bash), or let scripts/bootstrap.sh of hrp_ros install "
    "what is needed without one"
)


def run_node(module: str, program: str) -> int:
    """Run ``main`` of a module that imports ROS, or print its help if asked for it.

    Args:
        module: Name of the module.
        program: What users know it as; the module's ``PARAMETERS`` are told as its own.

    Returns:
        Its exit status; 2 where ROS cannot be imported, after telling what to do.
    """
    configure_streams()
    try:
        node = importlib.import_module(module)
        params = importlib.import_module("hrp_msgs.params")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == module.partition(".")[0]:
            raise  # a defect of this package says nothing about ROS
        print_message(f"error: ROS 2 cannot be imported ({error}): {_NO_ROS}")
        return WRONG_USE
    if {"-h", "--help"}.intersection(sys.argv[1:]):
        return run_program(program, lambda: _print_help(params.usage(program, node.PARAMETERS)))
    allow_interrupts()
    status: int = node.main()
    return status


def _print_help(text: str) -> int:
    print_text(text)
    return GOOD


def model_node() -> int:
    """Run ``model_node``."""
    return run_node("hrp_model.node", "model_node")
