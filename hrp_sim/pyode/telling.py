"""What a world tells of its contacts, to who asked for it: ``ode/_core_told.c``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..articulation.articulation import STATIC
from .assembly import Assembly, Geom


class Told:
    """The contacts of the step that was taken last.

    Attributes:
        is_on: Whether anybody wants to know of them.
    """

    def __init__(self) -> None:
        self.is_on = False
        self._joints: list[tuple[Any, bool]] = []
        self._who: list[tuple[int, int, int, int]] = []
        self._what: list[tuple[float, ...]] = []

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._who)

    def begin(self) -> None:
        """Forget the contacts of the take before: those of the next one are made."""
        self._joints.clear()
        self._who.clear()
        self._what.clear()

    def add(
        self, owners: tuple[Assembly, Assembly], geoms: tuple[Geom, Geom], contact: Any, joint: Any
    ) -> None:
        """Keep a contact that has just been made.

        Args:
            owners: Bodies of its shapes.
            geoms: Its shapes; the normal points into the first.
            contact: Point, normal, depth, ...
            joint: Made of it.
        """
        (a, b), (first, second) = owners, geoms
        p, normal, depth, _, _ = contact
        joint.setFeedback(True)
        self._joints.append((joint, first.group != STATIC))
        self._who.append((a.number, first.link, b.number, second.link))
        self._what.append((*p, *normal, depth))

    def take(self) -> None:
        """Take in the forces of the step, before the joints go.

        ODE tells that on a joint's first body: of the first shape, unless that one stands still.
        """
        for i, (joint, is_first) in enumerate(self._joints):
            x, y, z = joint.getFeedback()[0]
            force = (x, y, z) if is_first else (-x, -y, -z)
            *place, depth = self._what[i]
            self._what[i] = (*place, *force, depth)
            joint.setFeedback(False)  # PyODE would, too late, of a joint that is gone
        self._joints.clear()

    def write(self, who: NDArray[np.int32], what: Array) -> None:
        """Write body and link of both sides; and point, normal, force and depth."""
        who[:], what[:] = self._who, self._what
