"""Rules for masses: what a model lacks, and what is simulated in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hrp_model import Diagnostic, Link
from hrp_model.rigid import Array
from hrp_model.validate.common import first_few

from ..articulation.mass_repair import MassRepair
from ..physics.engine import PhysicsSettings, Solver
from .start import Start

# So many links of a body are told one by one, more of them in one line.
_ONE_BY_ONE = 3
_SHOWN = 4
_WORLD_NEEDS_LESS = "; solver: world would need next to nothing of it"


def what_moves_has_mass_and_inertia(
    physics: PhysicsSettings, starts: Sequence[Start]
) -> Iterator[Diagnostic]:
    """Nothing had to be filled up to be accelerated."""
    tail = _WORLD_NEEDS_LESS if physics.solver is Solver.QUICK else ""
    for start in starts:
        # The inertia of what stands is no matter.
        found = [x for x in start.mass_repairs.values() if x.lacked_mass or not x.is_static]
        for text, link in _told([x for x in found if x.lacked_mass], _mass, _masses):
            yield start.warning("mended-mass", text + tail, link)
        for text, link in _told([x for x in found if not x.lacked_mass], _inertia, _inertias):
            yield start.warning("mended-inertia", text + tail, link)


RULES = (what_moves_has_mass_and_inertia,)


def _told(
    found: Sequence[MassRepair],
    one: Callable[[MassRepair], str],
    all_of_them: Callable[[Sequence[MassRepair]], str],
) -> list[tuple[str, Link]]:
    if len(found) > _ONE_BY_ONE:
        return [(all_of_them(found), found[0].link)]
    return [(one(change), change.link) for change in found]


def _mass(change: MassRepair) -> str:
    if change.is_static:
        return (
            f"link '{change.link.name}', which a force sensor holds in place, has no mass; it is "
            f"weighed with {change.after.mass:.2g} kg: write its mass"
        )
    gets = f"{change.after.mass:.2g} kg, {change.share:.2g} of what it carries or hangs on"
    if change.lacked_inertia:
        gets += f", and moments of inertia of {_listed(change.after.inertia)} kg m^2"
    return (
        f"link '{change.link.name}' moves but has no mass; it is simulated with {gets}: write its "
        "mass and inertia"
    )


def _masses(found: Sequence[MassRepair]) -> str:
    names = first_few([f"'{x.link.name}' {x.after.mass:.2g} kg" for x in found], _SHOWN)
    return (
        f"{len(found)} links move but have no mass; they are simulated with {found[0].share:.2g} "
        f"of what they carry or hang on: {names}; write their masses and inertias"
    )


def _inertia(change: MassRepair) -> str:
    return (
        f"the inertia of link '{change.link.name}' is not positive definite, of moments "
        f"{_listed(change.before.inertia)} kg m^2; it is simulated with "
        f"{_listed(change.after.inertia)} kg m^2: write what it really is"
    )


def _inertias(found: Sequence[MassRepair]) -> str:
    shown = [
        f"'{x.link.name}' from {_least(x.before.inertia):.2g} to {_least(x.after.inertia):.2g}"
        for x in found
    ]
    return (
        f"the inertias of {len(found)} links are not positive definite; their least moments are "
        f"raised, in kg m^2: {first_few(shown, _SHOWN)}; write what they really are"
    )


def _least(inertia: Array) -> float:
    return float(np.linalg.eigvalsh(inertia)[0])


def _listed(inertia: Array) -> str:
    return ", ".join(f"{m:.3g}" for m in np.linalg.eigvalsh(inertia))
