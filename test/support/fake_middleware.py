"""A middleware in place of rcl, which can block and fail, and remembers what it was given."""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager

from hrp_msgs.node._sender import Sender

PATIENCE = 300.0
_PUBLISH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p
)
_COUNT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t))


class Middleware:
    """Takes messages as rcl does.

    Attributes:
        sent: Publisher and data of each message.
        before: Called before each is taken; returns whether it cannot be.
        listeners: Number of subscribers of every publisher.
    """

    def __init__(self):
        self.sent = []
        self.before = lambda _publisher: False
        self.listeners = 1
        self._functions = _PUBLISH(self._publish), _COUNT(self._count)

    def sender(self):
        return Sender(*(ctypes.cast(f, ctypes.c_void_p).value for f in self._functions))

    def _publish(self, publisher, message, _):
        if self.before(publisher):
            return 1
        self.sent.append((publisher, ctypes.string_at(message[0], message[1])))
        return 0

    def _count(self, _, count):
        count[0] = self.listeners
        return 0


@contextmanager
def blocked(middleware):
    """Let the middleware block within its first message; yield what is set to end that."""
    go_on = threading.Event()
    middleware.before = lambda _: not go_on.wait(PATIENCE)
    try:
        yield go_on
    finally:
        go_on.set()
