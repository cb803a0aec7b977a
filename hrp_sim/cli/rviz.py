"""``hrp-sim rviz``: an RViz configuration for a world."""

from __future__ import annotations

import argparse

from hrp_model import ModelError
from hrp_model.program.command import GOOD, PROBLEMS, UsageError
from hrp_model.program.console import print_message, working
from hrp_model.program.outputs import Kind, Output, check_outputs, print_or_write
from hrp_msgs.names import NameCollisionError

from ..ros.rviz_config import RvizOptions, world_rviz
from ..world.reporting import printed_warnings
from .run_options import project_options


def print_rviz(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim rviz``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        UsageError: An option is invalid, or the file cannot be written.
    """
    outputs = [Output("-o", options.output, Kind.RVIZ)]
    check_outputs(outputs, inputs=[options.world], force=options.force)
    names = RvizOptions(
        options.namespace,
        options.frame_prefix,
        options.world_frame,
        options.naming,
        options.contacts,
    )
    try:
        with printed_warnings(options.world) as diagnostics, working(f"reading {options.world}"):
            text = world_rviz(options.world, names, diagnostics, project_options(options))
    except ModelError:
        raise  # a subclass of ValueError, which is handled below
    except NameCollisionError as error:
        print_message(f"error: {error}")
        return PROBLEMS
    except ValueError as error:
        raise UsageError(str(error)) from None
    print_or_write(text, options.output)
    return GOOD
