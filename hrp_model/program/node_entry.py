"""Where programs with ROS begin, so that they have words for a machine without ROS."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence

from ..printable import printable
from .command import GOOD, WRONG_USE, allow_interrupts, run_program
from .console import configure_streams, print_message, print_text

_NO_ROS = (
    "source a ROS 2 installation (its setup.bash), or let scripts/bootstrap.sh of hrp_ros install "
    "what is needed without one"
)
# Options that stand after --ros-args.
_ROS_OPTIONS = ("-p", "--param", "-r", "--remap", "--params-file", "--log-level", "-e", "--enclave")

_ASSIGNMENT = re.compile(r"[A-Za-z_][\w.]*:=")


def run_node(module: str, program: str) -> int:
    """Run ``main`` of a module that imports ROS, or print its help if asked for it.

    Args:
        module: Name of the module.
        program: What users know it as; the module's ``PARAMETERS`` are told as its own.

    Returns:
        Its exit status; 2 where ROS cannot be imported, or an argument is outside of
        ``--ros-args``, after printing a message.
    """
    configure_streams()
    try:
        node = importlib.import_module(module)
        params = importlib.import_module("hrp_msgs.node.parameters")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == module.partition(".")[0]:
            raise  # a defect of this package says nothing about ROS
        print_message(f"error: ROS 2 cannot be imported ({error}): {_NO_ROS}")
        return WRONG_USE
    if {"-h", "--help"}.intersection(sys.argv[1:]):
        return run_program(program, lambda: _print_help(params.usage(program, node.PARAMETERS)))
    if words := _arguments_not_for_ros(sys.argv[1:]):
        print_message(_advice(program, node.PARAMETERS[0].name, words))
        return WRONG_USE
    allow_interrupts()
    status: int = node.main()
    return status


def _print_help(text: str) -> int:
    print_text(text)
    return GOOD


def _arguments_not_for_ros(arguments: Sequence[str]) -> list[str]:
    """Return what stands before ``--ros-args`` or after the ``--`` that ends these.

    Also each ``NAME:=VALUE`` between them that no option stands before.
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
    """Whether a word among the arguments for ROS is no option that waits for its value."""
    return word == "--ros-args" or not word.startswith("-")


def _advice(program: str, parameter: str, words: Sequence[str]) -> str:
    """Return the message for arguments outside of ``--ros-args``, with a correction."""
    command = " ".join(printable(word) for word in words)
    meant = command
    if not words[0].startswith("-"):
        is_parameter = any(":=" in word for word in words)
        meant = f"-p {command}" if is_parameter else f"-p {parameter}:={printable(words[0])}"
    elif words[0] not in _ROS_OPTIONS:
        name = next((word for word in words if not word.startswith("-")), "FILE")
        meant = f"-p {printable(name)}" if ":=" in name else f"-p {parameter}:={printable(name)}"
    return (
        f"error: '{command}' is outside of --ros-args. Did you mean '{program} --ros-args {meant}'?"
    )
