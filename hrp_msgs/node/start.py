"""How a program with ROS begins and ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.exceptions import NameValidationException
from rclpy.qos_overriding_options import InvalidQosOverridesError

from ..sanitize import one_line


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


@contextmanager
def creating(what: str) -> Iterator[None]:
    """Make something of ROS in a block, whose name or quality somebody else has chosen.

    Raises:
        WrongUseError: rclpy does not take the name, or what ``qos_overrides`` asks for.
    """
    try:
        yield
    except (NameValidationException, InvalidQosOverridesError, RuntimeError) as error:
        advice = "look at names, remappings and qos_overrides"
        raise WrongUseError(f"{what} cannot be made: {one_line(str(error))}; {advice}") from None


_IDENTITY = re.compile(r"(__ns|__node|__name):=")  # of any node; "NODE:__ns:=X" is of one only


def shared_ros_arguments(arguments: Sequence[str]) -> list[str]:
    """Return what of a command line a further node of the process is to hear.

    That is all that is for ROS, but for the rules that give nodes another name or namespace: by
    these all nodes of a process would have the same.
    """
    words: list[str] = []
    for_ros = False
    for word in arguments:
        if word in ("--ros-args", "--"):
            for_ros = word == "--ros-args"
        elif for_ros and _IDENTITY.match(word) and words[-1:] in (["-r"], ["--remap"]):
            words.pop()
        elif for_ros:
            words.append(word)
    return ["--ros-args", *words] if words else []
