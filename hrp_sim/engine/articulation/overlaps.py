"""Links of one body that an engine never lets collide, because of how they start."""

from __future__ import annotations

from collections.abc import Sequence

from hrp_model.diagnostics import listed

from .articulation import Articulation, Contact

_MAX_LISTED = 12


def overlap_remarks(
    articulation: Articulation, pairs: Sequence[tuple[int, int]]
) -> tuple[str, ...]:
    """Return sentences about links that do not collide.

    Args:
        articulation: The body.
        pairs: The links that overlap or touch at the start, by index.
    """
    links = articulation.placement.body.links
    remarks = []
    for kind, why in (
        (Contact.UNLESS_OVERLAPPING, "overlap by more than 1 mm at the start"),
        (Contact.UNLESS_TOUCHING, "touch at the start, and one carries the other"),
    ):
        names = [
            f"{links[a].name}-{links[b].name}"
            for a, b in pairs
            if articulation.contacts[a, b] == kind
        ]
        if names:
            remarks.append(f"links do not collide that {why}: {listed(names, _MAX_LISTED)}")
    return tuple(remarks)
