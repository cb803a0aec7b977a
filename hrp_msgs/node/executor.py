"""Serving nodes for as long as there are any, whatever their callbacks do, and whoever goes."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import Executor, ExternalShutdownException

# What fails again and again at once must not take a whole core. In [s].
_BREATH = 0.01
_LOOK = 0.1  # [s]; how often who waits for a thread looks whether there still is one
_SELDOM = 5.0  # [s]; how often one and the same failure is told


class ExecutorThread:
    """Serves nodes in a thread of its own until ``close``, whatever their callbacks do.

    An exception costs the callback that raised it, and whoever waits for its answer: it is told
    as an error, with its traceback, and all others are served on. Of one that comes time and
    again only the first in a while is told.

    Args:
        executor: Has the nodes.
        logger: Where failures are told, such as that of a node.
        name: Of the thread.
    """

    def __init__(self, executor: Executor, logger: Any, name: str = "executor") -> None:
        self._executor = executor
        self._logger = logger
        self._told: dict[str, float] = {}  # when, by the place of the failure
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def do(self, action: Callable[[], None]) -> None:
        """Have something done by the thread, between two callbacks; return when it is done."""
        done = threading.Event()

        def act() -> None:
            action()
            done.set()

        self._executor.create_task(act)
        while not done.wait(_LOOK):
            if not self._thread.is_alive():  # with its context: then nobody is in the way
                action()
                return

    def close(self) -> None:
        """End the thread, then the executor; the nodes are still there.

        An executor that is shut down by another thread takes away what would wake its own, which
        may be just about to wait: then it waits for as long as nothing comes.
        """
        self._ended.set()
        self._executor.create_task(lambda: None)  # ends a ``spin_once``, as waking does not
        self._thread.join()
        self._executor.shutdown()

    def _serve(self) -> None:
        while not self._ended.is_set() and self._serves_on():
            pass

    def _serves_on(self) -> bool:
        """Serve until something was done; return whether there is more to come."""
        try:
            self._executor.spin_once()
        except ExternalShutdownException:
            return False
        except Exception as error:
            self._tell(error)
            time.sleep(_BREATH)
        return True

    def _tell(self, error: Exception) -> None:
        # Its place, not its words: these may differ each time.
        place = traceback.format_tb(error.__traceback__)[-1]
        if time.monotonic() - self._told.get(place, -_SELDOM) >= _SELDOM:
            self._told[place] = time.monotonic()
            text = "".join(traceback.format_exception(error))
            self._logger.error(f"a callback has failed; the node goes on\n{text}")


def remove_destroyed(group: CallbackGroup) -> None:
    """Forget what was destroyed of a callback group; rclpy remembers that it was there.

    To be called in the thread that makes what is in the group, when some of it has ended.
    """
    entities = group.entities
    entities.difference_update([entity for entity in entities if entity() is None])
