"""What MuJoCo refuses in a URDF although the model is like that, in a word or two."""

from __future__ import annotations

import re
from typing import NamedTuple


class Refusal(NamedTuple):
    """A kind of refusal.

    Attributes:
        words: Its name.
        why: What in the model MuJoCo refuses.
    """

    words: str
    why: str


# By what MuJoCo says.
REFUSALS = {
    r"A \+ B >= C|positive eigenvalues": Refusal(
        "impossible inertia", "no rigid body has such an inertia"
    ),
    r"coplanar|at least 4 vertices|volume is too small": Refusal(
        "flat mesh", "a mesh encloses no volume"
    ),
    r"inconsistent orientation|number of faces": Refusal(
        "unfit mesh", "a mesh has faces of both orientations, or too many or too few"
    ),
    r"must be positive": Refusal("flat shape", "a box, sphere or cylinder has a size of zero"),
    r"free joint": Refusal("floating link", "a link floats below another one"),
    r"mass and inertia": Refusal("massless link", "a link moves without mass or without inertia"),
}
_LONG = 60


def in_words(message: str) -> str:
    """Return the name of a refusal, or what MuJoCo says itself, shortened, if it has none."""
    for pattern, refusal in REFUSALS.items():
        if re.search(pattern, message):
            return refusal.words
    return message if len(message) <= _LONG else f"{message[: _LONG - 1]}…"
