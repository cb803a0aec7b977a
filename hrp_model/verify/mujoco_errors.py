"""Short names of the reasons for which MuJoCo refuses a URDF that matches its model."""

from __future__ import annotations

import re
from typing import NamedTuple


class ErrorKind(NamedTuple):
    """A kind of error.

    Attributes:
        name: A word or two.
        reason: What in the model causes it.
    """

    name: str
    reason: str


# By regular expressions of MuJoCo's messages.
ERROR_KINDS = {
    r"A \+ B >= C|positive eigenvalues": ErrorKind(
        "impossible inertia", "no rigid body has such an inertia"
    ),
    r"coplanar|qhull|at least 4 vertices|volume is too small": ErrorKind(
        "flat mesh", "a mesh encloses no volume"
    ),
    r"inconsistent orientation|number of faces": ErrorKind(
        "unfit mesh", "a mesh has faces of both orientations, or too many or too few"
    ),
    r"must be positive": ErrorKind("flat shape", "a box, sphere or cylinder has a size of zero"),
    r"free joint": ErrorKind("floating link", "a link floats below another one"),
    r"mass and inertia": ErrorKind("massless link", "a link moves without mass or inertia"),
}
_MAX_LENGTH = 60


def short_reason(message: str) -> str:
    """Return the name of an error's kind, or else MuJoCo's own message, shortened."""
    for pattern, kind in ERROR_KINDS.items():
        if re.search(pattern, message):
            return kind.name
    return message if len(message) <= _MAX_LENGTH else f"{message[: _MAX_LENGTH - 1]}…"
