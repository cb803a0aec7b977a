"""The numbers of a BodyState: of one posture, or of many."""

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

        In a batch the postures are innermost in the memory of p and R: forward kinematics
        walks along them.
        """
        lead = () if batch is None else (batch,)
        q, dq, ddq, u = (np.zeros((*lead, joints)) for _ in range(4))
        v, w, dv, dw = (np.zeros((*lead, links, 3)) for _ in range(4))
        if batch is None:
            p, R = np.zeros((links, 3)), np.zeros((links, 3, 3))
        else:
            p = aligned((links, 3, batch)).transpose(2, 0, 1)
            R = aligned((links, 3, 3, batch)).transpose(3, 0, 2, 1)
            p[...], R[...] = 0.0, 0.0
        return Arrays(q, dq, ddq, u, p, R, v, w, dv, dw)

    def part(self, chosen: slice) -> Arrays:
        """Return views of some postures of a batch."""
        return Arrays(*(array[chosen] for array in self))

    def first(self) -> Arrays:
        """Return views of the first posture of a batch."""
        return Arrays(*(array[0] for array in self))

    def assign(self, other: Arrays) -> None:
        """Copy all numbers; those of one posture are repeated."""
        for mine, theirs in zip(self, other, strict=True):
            mine[...] = theirs

    def __iter__(self) -> Iterator[Array]:
        return (getattr(self, field.name) for field in fields(self))
