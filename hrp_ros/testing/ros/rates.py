"""Measure the rates of topics in a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from hrp_msgs.node.executor import ExecutorThread
from hrp_msgs.node.start import creating, destroy
from hrp_msgs.topics.listen import Listener
from hrp_sim.run.summary import Expectation

# Periods of wall time, in [s].
_LOOK_PERIOD = 0.1  # between looks for new topics
_QUIET_PERIOD = 0.5  # without a message, after which none is on its way any more
_MAX_SETTLING = 10.0


class RateMeter:
    """Counts the messages of topics.

    Args:
        rates: Expected rates, whose quantities are topics.
        context: Context of its node.

    Raises:
        WrongUseError: The name of a topic is invalid.
    """

    def __init__(self, rates: Sequence[Expectation], context: Context) -> None:
        topics: set[str] = set()
        self._node = Listener(topics, context)
        self._rates: list[tuple[str, Expectation]] = []
        for rate in rates:
            with creating(f"the rate of '{rate.quantity}'"):
                self._rates.append((self._node.resolve_topic_name(rate.quantity), rate))
        topics.update(topic for topic, _ in self._rates)
        self._node.create_timer(
            _LOOK_PERIOD, self._node.subscribe_to_new, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(self._node)
        self._serving = ExecutorThread(executor, self._node.get_logger(), "rates")

    def missing(self, sim_node: Node) -> set[str]:
        """Return the topics that it does not receive yet, as far as it and a publisher know.

        Args:
            sim_node: The node of the simulation, which publishes some of them.
        """
        publishers = {s.topic_name: s.get_publisher_count() for s in self._node.subscriptions}
        topics = {topic for topic, _ in self._rates}
        return {t for t in topics if not (publishers.get(t) and sim_node.count_subscribers(t))}

    def settle(self) -> None:
        """Wait until the messages that were published have arrived."""
        end, before = time.monotonic() + _MAX_SETTLING, None
        while self._rates and self._node.counts != before and time.monotonic() < end:
            before = dict(self._node.counts)
            threading.Event().wait(_QUIET_PERIOD)

    def missed(self, duration: float) -> Iterator[str]:
        """Yield a message for each expectation that is not met.

        Args:
            duration: Simulation time of the run, in [s].
        """
        for topic, rate in self._rates:
            count = self._node.counts.get(topic)
            outcome = rate.evaluate({rate.quantity: (count or 0) / duration})
            if outcome.holds:
                continue
            if count is None:
                yield f"expected {rate.text}, but nothing has published on '{topic}'"
            else:
                yield f"{outcome}: {count} messages in {duration:.9g} s"

    def close(self) -> None:
        """Stop counting."""
        self._serving.close()
        destroy(self._node)
