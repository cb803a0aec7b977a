"""How a program with ROS begins and ends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import rclpy


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


def end_ros() -> None:
    """Do what ``rclpy.try_shutdown`` does, even while rclpy's signal handler does the same."""
    with suppress(RuntimeError):  # the other one was faster
        rclpy.try_shutdown()
