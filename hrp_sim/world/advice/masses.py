"""Rules for masses: missing masses and inertias, and their simulated replacements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hrp_model import Diagnostic, Link
from hrp_model.diagnostics import listed
from hrp_model.rigid import Array

from ...engine.articulation.mass_repair import MassRepair
from ...engine.engine import PhysicsSettings, Solver
from .initial_state import Starts

# Up to this many links of a body are reported separately, more of them in one message.
_MAX_SEPARATE = 3
_MAX_NAMES = 4
_HINT_FOR_QUICK = "; solver: world needs much smaller replacements"


def movable_links_have_mass_and_inertia(
    physics: PhysicsSettings, starts: Starts
) -> Iterator[Diagnostic]:
    """All links that are accelerated have a mass and a positive definite inertia."""
    is_quick = physics.solver is Solver.QUICK
    tail = _HINT_FOR_QUICK if is_quick else ""
    for start in starts:
        # The inertia of a link that stands still does not matter, and only QUICK needs more mass
        # between joints than would be noticed.
        found = [
            x
            for x in start.mass_repairs.values()
            if (x.lacked_mass or not x.is_static) and (is_quick or not x.link.is_between_joints)
        ]
        for text, link in _messages([x for x in found if x.lacked_mass], _mass, _masses):
            yield start.warning("mended-mass", text + tail, link)
        for text, link in _messages([x for x in found if not x.lacked_mass], _inertia, _inertias):
            yield start.warning("mended-inertia", text + tail, link)


def _messages(
    found: Sequence[MassRepair],
    single: Callable[[MassRepair], str],
    combined: Callable[[Sequence[MassRepair]], str],
) -> list[tuple[str, Link]]:
    if len(found) > _MAX_SEPARATE:
        return [(combined(found), found[0].link)]
    return [(single(change), change.link) for change in found]


def _mass(change: MassRepair) -> str:
    if change.is_static:
        return (
            f"link '{change.link.name}', fixed by a force sensor, has no mass; it is simulated "
            f"with {change.after.mass:.2g} kg: write its mass"
        )
    used = f"{change.after.mass:.2g} kg, {change.share:.2g} of the mass it carries or hangs on"
    if change.lacked_inertia:
        used += f", and moments of inertia of {_listed(change.after.inertia)} kg m^2"
    return (
        f"link '{change.link.name}' can move but has no mass; it is simulated with {used}: write "
        "its mass and inertia"
    )


def _masses(found: Sequence[MassRepair]) -> str:
    names = listed([f"'{x.link.name}' {x.after.mass:.2g} kg" for x in found], _MAX_NAMES)
    return (
        f"{len(found)} links can move but have no mass; they are simulated with "
        f"{found[0].share:.2g} of the mass they carry or hang on: {names}; write their masses and "
        "inertias"
    )


def _inertia(change: MassRepair) -> str:
    return (
        f"the inertia of link '{change.link.name}' is not positive definite, with principal "
        f"moments {_listed(change.before.inertia)} kg m^2; it is simulated with "
        f"{_listed(change.after.inertia)} kg m^2: correct the inertia"
    )


def _inertias(found: Sequence[MassRepair]) -> str:
    shown = [
        f"'{x.link.name}' from {_smallest_moment(x.before.inertia):.2g} to "
        f"{_smallest_moment(x.after.inertia):.2g}"
        for x in found
    ]
    return (
        f"the inertias of {len(found)} links are not positive definite; their smallest principal "
        f"moments are increased, in kg m^2: {listed(shown, _MAX_NAMES)}; correct the inertias"
    )


def _smallest_moment(inertia: Array) -> float:
    return float(np.linalg.eigvalsh(inertia)[0])


def _listed(inertia: Array) -> str:
    return ", ".join(f"{m:.3g}" for m in np.linalg.eigvalsh(inertia))
