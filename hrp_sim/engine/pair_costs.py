"""Times of collision detection by pair of links."""

from __future__ import annotations

from typing import NamedTuple


class PairCost(NamedTuple):
    """Time that a step spent on finding the contacts of two links.

    Attributes:
        bodies: Names of both bodies.
        links: Indices of both links in the models of their bodies.
        seconds: In [s].
    """

    bodies: tuple[str, str]
    links: tuple[int, int]
    seconds: float
