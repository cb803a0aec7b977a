"""Executor thread that survives exceptions in callbacks."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.impl.rcutils_logger import RcutilsLogger

_FAILURE_DELAY = 0.01  # [s] after a failure, so that repeated ones do not occupy a whole core
_ALIVE_PERIOD = 0.1  # [s] between checks whether the thread is alive
_LOG_PERIOD = 5.0  # [s] between logs of the same failure


class ExecutorThread:
    """Spins an executor in a background thread until ``close``.

    An exception in a callback is logged with its traceback, and the executor continues. A
    repeated exception is logged at most once in a while.

    Args:
        executor: The executor with its nodes.
        logger: Logger of failures, such as that of a node.
        name: Name of the thread.
    """

    def __init__(self, executor: Executor, logger: RcutilsLogger, name: str = "executor") -> None:
        self._executor = executor
        self._logger = logger
        self._logged: dict[str, float] = {}  # time by location of the failure
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._spin, name=name, daemon=True)
        self._thread.start()

    def do(self, action: Callable[[], None]) -> None:
        """Execute an action in the thread between two callbacks; return when it is done."""
        done = threading.Event()

        def act() -> None:
            action()
            done.set()

        self._executor.create_task(act)
        while not done.wait(_ALIVE_PERIOD):
            if not self._thread.is_alive():  # ended with its context: no concurrent callbacks
                action()
                return

    def close(self) -> None:
        """End the thread, then shut down the executor; its nodes are not destroyed.

        The thread ends first: shutting down an executor destroys the guard condition that would
        wake its thread, which may be just about to wait.
        """
        self._ended.set()
        self._executor.create_task(lambda: None)  # ends a ``spin_once``; ``wake`` does not
        self._thread.join()
        self._executor.shutdown()

    def _spin(self) -> None:
        while not self._ended.is_set() and self._spin_once():
            pass

    def _spin_once(self) -> bool:
        """Execute one callback; return False after a shutdown."""
        try:
            self._executor.spin_once()
        except ExternalShutdownException:
            return False
        except Exception as error:
            self._log(error)
            time.sleep(_FAILURE_DELAY)
        return True

    def _log(self, error: Exception) -> None:
        # Identified by its location, because messages may vary.
        location = traceback.format_tb(error.__traceback__)[-1]
        if time.monotonic() - self._logged.get(location, -_LOG_PERIOD) >= _LOG_PERIOD:
            self._logged[location] = time.monotonic()
            text = "".join(traceback.format_exception(error))
            self._logger.error(f"a callback has failed; the node continues\n{text}")


def remove_destroyed(group: CallbackGroup) -> None:
    """Remove destroyed entities from a callback group, which rclpy keeps as dead references.

    To be called in the thread that creates entities of the group, after some were destroyed.
    """
    entities = group.entities
    entities.difference_update([entity for entity in entities if entity() is None])
