"""Motions, forces and inertias of a tree of links: the functions of ``dynamics`` in C.

``places`` and ``constants`` are those of ``Tree``. Every other array has a leading axis of m
postures, or none for one posture, and may have any strides.
"""

from ..rigid import Array
from .tree import Indices

def poses(places: Indices, constants: Array, q: Array, p: Array, R: Array) -> None:
    """Write ``p`` and ``R`` of all links but the root."""

def columns(
    places: Indices,
    constants: Array,
    p: Array,
    R: Array,
    links: Indices,
    signs: Array,
    point: Array,
    matrix: Array,
) -> None:
    """Write the velocity of a point, shape (m, 3), per unit of velocity of the joints of a path.

    The matrix has the shape (m, 2, 3, joints): linear, then angular velocity.
    """

def motions(
    places: Indices,
    constants: Array,
    p: Array,
    R: Array,
    dq: Array,
    ddq: Array,
    v: Array,
    w: Array,
    dv: Array,
    dw: Array,
    accelerations: bool,
) -> None:
    """Write ``v`` and ``w`` of all links but the root and, on request, ``dv`` and ``dw``."""

def forces(
    places: Indices,
    constants: Array,
    p: Array,
    R: Array,
    dq: Array,
    ddq: Array,
    v: Array,
    w: Array,
    dv: Array,
    dw: Array,
    u: Array,
    wrench: Array,
    link: int,
) -> None:
    """Write all motions, ``u``, and the wrench that supports a link, shape (m, 6)."""

def weights(
    places: Indices, constants: Array, p: Array, R: Array, u: Array, gravity: float
) -> None:
    """Write the joint efforts that balance gravity, in [m/s^2] along -Z of the world."""

def inertias(
    places: Indices, constants: Array, p: Array, R: Array, matrix: Array, joints: int, first: int
) -> None:
    """Write the inertia matrix without its first 0 or 6 rows and columns.

    Entries between joints of different branches, which are zero, are not written. A matrix of
    6 columns gets the first six only.
    """
