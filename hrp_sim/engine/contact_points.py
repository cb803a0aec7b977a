"""Contact points and forces of a step, and the time that it took to find them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactPoints:
    """The contacts of one step, each between two links a and b.

    Positions are those in the middle of the step, forces are means over the step. The force
    between two links is the sum over their contacts.

    Attributes:
        time_ns: Simulation time at the end of the step, in [ns].
        bodies: Names of both bodies of each contact.
        links: Indices of both links in the models of their bodies, shape (n, 2).
        position: In W, in [m], shape (n, 3).
        normal: From b into a, unit vectors in W, shape (n, 3).
        depth: Penetration depth along the normal, in [m], shape (n,).
        force: Of b on a, friction included, in W, in [N], shape (n, 3): a body a at rest on a
            floor b is pushed up. a exerts the opposite force on b.
    """

    time_ns: int
    bodies: tuple[tuple[str, str], ...]
    links: NDArray[np.int32]
    position: Array
    normal: Array
    depth: Array
    force: Array

    def __len__(self) -> int:
        """Return the number of contacts."""
        return len(self.bodies)

    @classmethod
    def empty(cls, time_ns: int) -> ContactPoints:
        """Return no contacts, of a step without any or without recording."""
        return cls.from_arrays(time_ns, (), np.zeros((0, 4), dtype=np.int32), np.zeros((0, 10)))

    @classmethod
    def from_arrays(
        cls,
        time_ns: int,
        bodies: tuple[tuple[str, str], ...],
        ids: NDArray[np.int32],
        values: Array,
    ) -> ContactPoints:
        """Return contacts from the arrays of the C engine.

        Args:
            time_ns: Simulation time at the end of the step, in [ns].
            bodies: Names of both bodies of each contact.
            ids: Body number and link index of a and of b, shape (n, 4).
            values: Position, normal, force and depth of each contact, shape (n, 10).
        """
        return cls(
            time_ns=time_ns,
            bodies=bodies,
            links=ids[:, 1::2],
            position=values[:, 0:3],
            normal=values[:, 3:6],
            force=values[:, 6:9],
            depth=values[:, 9],
        )

    def force_on(self, body: str, link: int | None = None) -> Array:
        """Return the sum of all forces on a body or one of its links, in W, in [N], shape (3,).

        Forces between links of the same body cancel in the sum of the body.
        """
        total = np.zeros(3)
        for side, sign in enumerate((1.0, -1.0)):
            at = [
                pair[side] == body and (link is None or index == link)
                for pair, index in zip(self.bodies, self.links[:, side], strict=True)
            ]
            total += sign * self.force[np.array(at, dtype=bool)].sum(axis=0)
        return total


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
