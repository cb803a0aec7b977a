"""Where bodies touch, and with what forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactPoints:
    """The contacts of one step, of two links each: a and b, in that order.

    Places are those that the step found, forces are what it answered with: on average over it.
    What two links exert on each other at several points is the sum over these.

    Attributes:
        time_ns: When the step ended, in simulated time, in [ns].
        bodies: Names of both bodies of each contact.
        links: Indices of both links in the models of their bodies, shape (n, 2).
        position: In W, in [m], shape (n, 3).
        normal: From b into a, unit vectors in W, shape (n, 3).
        depth: How far the shapes are in each other along the normal, in [m], shape (n,).
        force: What b exerts on a, friction included, in W, in [N], shape (n, 3): at rest on a
            floor b, a is pushed up. a exerts the opposite on b.
    """

    time_ns: int
    bodies: tuple[tuple[str, str], ...]
    links: NDArray[np.int32]
    position: Array
    normal: Array
    depth: Array
    force: Array

    def __len__(self) -> int:
        """Return how many contacts there are."""
        return len(self.bodies)

    @classmethod
    def empty(cls, time_ns: int) -> ContactPoints:
        """Return those of a step in which nothing touched, or that nobody has watched."""
        return cls.from_arrays(time_ns, (), np.zeros((0, 4), dtype=np.int32), np.zeros((0, 10)))

    @classmethod
    def from_arrays(
        cls,
        time_ns: int,
        bodies: tuple[tuple[str, str], ...],
        who: NDArray[np.int32],
        what: Array,
    ) -> ContactPoints:
        """Return the contacts of tables as engines have them.

        Args:
            time_ns: When the step ended, in [ns].
            bodies: Names of both bodies of each contact.
            who: Number of a body and index of its link, for a and b, shape (n, 4).
            what: Position, normal, force and depth of each contact, shape (n, 10).
        """
        return cls(
            time_ns=time_ns,
            bodies=bodies,
            links=who[:, 1::2],
            position=what[:, 0:3],
            normal=what[:, 3:6],
            force=what[:, 6:9],
            depth=what[:, 9],
        )

    def force_on(self, body: str, link: int | None = None) -> Array:
        """Return the sum of all forces on a body or one of its links, in W, in [N], shape (3,).

        What links of one body exert on each other adds nothing to the body's.
        """
        total = np.zeros(3)
        for side, sign in enumerate((1.0, -1.0)):
            at = [
                pair[side] == body and (link is None or index == link)
                for pair, index in zip(self.bodies, self.links[:, side], strict=True)
            ]
            total += sign * self.force[np.array(at, dtype=bool)].sum(axis=0)
        return total
