"""Serving nodes for as long as there are any, whatever their callbacks do, and whoever goes."""

from __future__ import annotations

import time
import traceback
from typing import Any

from rclpy.executors import Executor, ExternalShutdownException
from rclpy.node import Node

# What fails again and again at once must not take a whole core. In [s].
_BREATH = 0.01
_SELDOM = 5.0  # [s]; how often one and the same failure is told


def serve(executor: Executor, logger: Any) -> None:
    """Spin until the executor or its context is shut down.

    An exception costs the callback that raised it, and whoever waits for its answer: it is told
    as an error, with its traceback, and all others are served on. Of one that comes time and
    again only the first in a while is told.

    Args:
        executor: Has the nodes.
        logger: Where failures are told, such as that of a node.
    """
    told: dict[str, float] = {}
    while (error := _failure(executor)) is not None:
        # Its place, not its words: these may differ each time.
        place = traceback.format_tb(error.__traceback__)[-1]
        if time.monotonic() - told.get(place, -_SELDOM) >= _SELDOM:
            told[place] = time.monotonic()
            text = "".join(traceback.format_exception(error))
            logger.error(f"a callback has failed; the node goes on\n{text}")
        time.sleep(_BREATH)


def _failure(executor: Executor) -> Exception | None:
    """Spin; return what a callback has raised, or None after a shutdown."""
    try:
        executor.spin()
    except ExternalShutdownException:
        return None
    except Exception as error:
        return error
    return None


def forget_ended(node: Node) -> None:
    """Forget what was destroyed of a node's topics and services; rclpy remembers that they were.

    To be called in the thread that serves the node, when many of them have ended.
    """
    entities = node.default_callback_group.entities
    entities.difference_update([entity for entity in entities if entity() is None])
