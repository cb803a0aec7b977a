"""Entry point of the ROS nodes: --help, and messages for missing ROS and wrong arguments."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence

from ..diagnostics import MissingLibraryError
from ..printable import printable
from .command import GOOD, WRONG_USE, allow_interrupts, missing_ros, run_program, silence_libraries
from .console import configure_streams, print_message, print_text

# Options that belong after --ros-args.
_ROS_OPTIONS = ("-p", "--param", "-r", "--remap", "--params-file", "--log-level", "-e", "--enclave")

_ASSIGNMENT = re.compile(r"[A-Za-z_][\w.]*:=")


def run_node(module: str, program: str) -> int:
    """Run ``main`` of a module that imports ROS, or print its help.

    Args:
        module: Name of the module, with ``PARAMETERS`` and ``main``.
        program: Name of the program.

    Returns:
        Its exit status; 2 if ROS cannot be imported, or an argument is outside of
        ``--ros-args``.
    """
    configure_streams()
    silence_libraries()
    try:
        node = importlib.import_module(module)
        params = importlib.import_module("hrp_msgs.node.parameters")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == module.partition(".")[0]:
            raise  # a defect of this package, not a missing ROS
        print_message(f"error: {missing_ros(error)}")
        return WRONG_USE
    except MissingLibraryError as error:
        print_message(f"error: {error}")
        return WRONG_USE
    if {"-h", "--help"}.intersection(sys.argv[1:]):
        return run_program(program, lambda: _print_help(params.usage(program, node.PARAMETERS)))
    if words := _non_ros_arguments(sys.argv[1:]):
        print_message(_correction(program, node.PARAMETERS[0].name, words))
        return WRONG_USE
    allow_interrupts()
    status: int = node.main()
    return status


def _print_help(text: str) -> int:
    print_text(text)
    return GOOD


def _non_ros_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments before ``--ros-args`` and after the ``--`` that ends them.

    Also each ``NAME:=VALUE`` between them that does not follow an option.
    """
    words: list[str] = []
    for_ros = False
    previous = ""
    for word in arguments:
        if word in ("--ros-args", "--"):
            for_ros = word == "--ros-args"
        elif not for_ros or (_ASSIGNMENT.match(word) and _is_complete(previous)):
            words.append(word)
        previous = word
    return words


def _is_complete(word: str) -> bool:
    """Return whether a word among the ROS arguments is not an option that needs a value."""
    return word == "--ros-args" or not word.startswith("-")


def _correction(program: str, parameter: str, words: Sequence[str]) -> str:
    """Return the message for arguments outside of ``--ros-args``, with a correction."""
    command = " ".join(printable(word) for word in words)
    fixed = command
    if not words[0].startswith("-"):
        is_parameter = any(":=" in word for word in words)
        fixed = f"-p {command}" if is_parameter else f"-p {parameter}:={printable(words[0])}"
    elif words[0] not in _ROS_OPTIONS:
        name = next((word for word in words if not word.startswith("-")), "FILE")
        fixed = f"-p {printable(name)}" if ":=" in name else f"-p {parameter}:={printable(name)}"
    return (
        f"error: '{command}' is outside of --ros-args. Did you mean '{program} --ros-args {fixed}'?"
    )
