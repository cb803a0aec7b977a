"""A second process that listens to the topics, and what it says of them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping

# Of the messages published between its first and its last report, a listener must have
# heard this share; both are counted at moments that differ by some milliseconds.
ENOUGH = 0.9
# A listener that lags works off its queue; it reports once a second.
SETTLING_REPORTS = 10
SETTLING_TIME = 3.0  # [s]


def unheard(
    first: Mapping[str, tuple[int, int]],
    last: Mapping[str, tuple[int, int]],
    sent: Mapping[str, int],
) -> dict[str, int]:
    """Return how many messages were not heard yet of each topic of which some were not.

    Args:
        first: (heard, published) of each topic, in a listener's first report of it.
        last: The same, in its last report.
        sent: How many were published up to the moment that counts.
    """
    missing = {}
    for topic, (heard, published) in first.items():
        if (lacking := sent.get(topic, 0) - published - (last[topic][0] - heard)) > 0:
            missing[topic] = lacking
    return missing


class Listener:
    """Runs ``python -m hrp_msgs.topics.listen`` and keeps what it reports.

    Args:
        published: Gives the messages published so far, by topic.
    """

    def __init__(self, published: Callable[[], Mapping[str, int]]) -> None:
        self._published = published
        self._first: dict[str, tuple[int, int]] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self._reported = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hrp_msgs.topics.listen"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the simulation; this ends with it
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def share(self, topic: str) -> float | None:
        """Return which share of a topic's messages was heard, None before anything was.

        Counted from the first report on, since discovery takes its time; a topic that was
        published once is heard or not.
        """
        if topic not in self._last:
            return None
        heard, sent = (b - a for a, b in zip(self._first[topic], self._last[topic], strict=True))
        return min(1.0, heard / sent) if sent else 1.0

    def wait_for_discovery(self) -> None:
        """Wait until it has found the topics, as what is latched there tells, but not for ever."""
        with self._reported:
            for _ in range(SETTLING_REPORTS):
                if self._last or not self._reported.wait(SETTLING_TIME):
                    return

    def settle(self) -> None:
        """Wait until it has worked off what was published before now, or hears no more of it."""
        sent = self._published()
        with self._reported:
            for _ in range(SETTLING_REPORTS):
                before = unheard(self._first, self._last, sent)
                if not before or not self._reported.wait(SETTLING_TIME):
                    return
                if unheard(self._first, self._last, sent) == before:
                    return

    def missed(self) -> list[str]:
        """Return what was published but not heard, or not enough of it, one line per topic."""
        missing = []
        for topic, count in self._published().items():
            share = self.share(topic)
            if count and (share is None or share < ENOUGH):
                heard = "nothing" if share is None else f"only {share:.0%}"
                missing.append(f"{topic}: {heard} was heard of {count} messages")
        return missing

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            report: dict[str, int] = json.loads(line)
            published = self._published()
            with self._reported:
                for topic, heard in report.items():
                    if heard:
                        counts = heard, published.get(topic, 0)
                        self._first.setdefault(topic, counts)  # first: ``missed`` runs meanwhile
                        self._last[topic] = counts
                self._reported.notify_all()
