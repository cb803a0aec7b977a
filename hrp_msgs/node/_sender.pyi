"""Sends serialized messages by a thread of its own, so that their publisher does not wait.

There is one queue, so that messages are sent in the order in which they were put, those of
different topics, too. It is bounded: while it is full, ``put`` waits. The thread runs without the
GIL; rclpy holds that while it publishes. In a process that was forked from that of a sender, the
sender and its outlets are closed.
"""

class Sender:
    """A queue of messages and the thread that sends them, until ``close``.

    Args:
        publish: Address of ``rcl_publish_serialized_message``.
        count_subscriptions: Address of ``rcl_publisher_get_subscription_count``.
        get_error: Address of ``rcutils_get_error_string``; 0 without it and the next.
        reset_error: Address of ``rcutils_reset_error``.

    Attributes:
        error: Why sending failed last, or "".

    Raises:
        RuntimeError: There can be no further thread.
    """

    def __init__(
        self, publish: int, count_subscriptions: int, get_error: int = 0, reset_error: int = 0
    ) -> None: ...
    @property
    def error(self) -> str: ...
    def flush(self, patience: float, /) -> bool:
        """Send all messages put so far, in this thread, too; return False if it is closed.

        Args:
            patience: What was not sent within this time, in [s], is sent later.
        """

    def close(self, patience: float, /) -> bool:
        """Accept no more messages, send those that were put, and end the thread; idempotent.

        Args:
            patience: What was not sent within this time, in [s], is dropped, and has failed.

        Returns:
            Whether all were sent in time.
        """

class Outlet:
    """Puts the messages of one publisher into the queue of a sender; for any thread.

    Args:
        sender: The sender.
        publisher: Address of the ``rcl_publisher_t``, which must live until either is closed.

    Attributes:
        failed: Number of messages that could not be sent.

    Raises:
        RuntimeError: The sender is closed.
    """

    def __init__(self, sender: Sender, publisher: int) -> None: ...
    @property
    def failed(self) -> int: ...
    def put(self, data: bytes, /) -> bool:
        """Queue a message; return False if outlet or sender are closed."""

    def subscriptions(self) -> int:
        """Return the number of subscribers; 0 if outlet or sender are closed."""

    def has_subscribers(self) -> bool:
        """Return whether there are subscribers."""

    def close(self, patience: float, /) -> bool:
        """Accept no more messages, and send those that were put, as ``Sender.close`` does."""
