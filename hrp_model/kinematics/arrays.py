"""Arrays of a BodyState, for one posture or a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from ..rigid import Array
from .sweep import aligned


@dataclass(frozen=True, eq=False)
class Arrays:
    """Joint vectors (..., n) and link arrays (..., k, 3), see BodyState; R is (..., k, 3, 3)."""

    q: Array
    dq: Array
    ddq: Array
    u: Array
    p: Array
    R: Array
    v: Array
    w: Array
    dv: Array
    dw: Array

    @staticmethod
    def zeros(joints: int, links: int, batch: int | None) -> Arrays:
        """Return arrays of zeros.

        In a batch, postures are the innermost axis in the memory of link arrays, along which
        computations are vectorised.
        """
        lead = () if batch is None else (batch,)
        q, dq, ddq, u = (np.zeros((*lead, joints)) for _ in range(4))
        if batch is None:
            p, v, w, dv, dw = np.zeros((5, links, 3))
            R = np.zeros((links, 3, 3))
        else:
            vectors = (aligned((links, 3, batch), np.zeros) for _ in range(5))
            p, v, w, dv, dw = (array.transpose(2, 0, 1) for array in vectors)
            R = aligned((links, 3, 3, batch), np.zeros).transpose(3, 0, 2, 1)
        return Arrays(q, dq, ddq, u, p, R, v, w, dv, dw)

    def part(self, postures: slice) -> Arrays:
        """Return views of some postures of a batch."""
        return Arrays(*(array[postures] for array in self))

    def first(self) -> Arrays:
        """Return views of the first posture of a batch."""
        return Arrays(*(array[0] for array in self))

    def assign(self, other: Arrays) -> None:
        """Copy all values; one posture is broadcast over a batch."""
        for mine, theirs in zip(self, other, strict=True):
            mine[...] = theirs

    def __iter__(self) -> Iterator[Array]:
        return (getattr(self, field.name) for field in fields(self))
