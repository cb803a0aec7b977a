"""Quality of service of every published topic (REP 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Qos:
    """Quality of service of a topic.

    Attributes:
        depth: Number of messages that are kept for delayed subscribers.
        reliable: Whether lost messages are sent again.
        latched: Whether late subscribers receive the last messages.
    """

    depth: int
    reliable: bool = True
    latched: bool = False


# Images, point clouds and markers. Reliable, so that reliable and best-effort subscribers match and
# big messages are not lost.
IMAGE = Qos(5)
# Late subscribers receive the last message.
LATCHED = Qos(1, latched=True)
CLOCK = Qos(1)
COMMAND = Qos(1)
DIAGNOSTICS = Qos(10)
TF = Qos(1000)
TF_STATIC = LATCHED
# Not latched, as a later change does not repeat the earlier ones.
PLANNING_SCENE = Qos(10)

# History of a sensor for delayed subscribers: the samples of two seconds, so that after a pause of
# one second another one is left for resending; at most the size of five colour images of
# 640 x 480; and at least as many samples as of an image.
_HISTORY_SECONDS = 2.0
_HISTORY_BYTES = 4 * 2**20


def sensor(rate_hz: float, size: int) -> Qos:
    """Return the quality of service of a topic of small messages.

    Args:
        rate_hz: Messages per second of simulation time.
        size: Approximate size of one message, in bytes.
    """
    depth = min(ceil(_HISTORY_SECONDS * rate_hz), _HISTORY_BYTES // size)
    return Qos(max(depth, IMAGE.depth))
