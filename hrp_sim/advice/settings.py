"""Rules for the settings of physics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from hrp_model import Diagnostic, Severity
from hrp_model.validate.common import first_few

from ..physics.engine import PhysicsSettings
from ..physics.materials import DEFAULT
from .start import Start, norm, rounded_down

# Cubes and a standing humanoid rest as they should up to 20 ms; at 50 ms they sink in by 5 mm
# and tremble, at 100 ms a 1 kg cube sinks in by half its 10 cm.
_COARSEST_STEP = 0.02
# How far joints and contacts may give way under the weight of a body, in [m].
_MOST_SAG = 1e-3
# A share of the error that is taken back within 50 steps.
_LEAST_ERP = 0.02


def steps_resolve_a_fall(physics: PhysicsSettings, starts: Sequence[Start]) -> Iterator[Diagnostic]:
    """In one step nothing falls deep into what it rests on: g h^2 is small."""
    h, g = physics.time_step, norm(np.array(physics.gravity))
    if h > _COARSEST_STEP and g > 0.0 and any(any(start.mobile) for start in starts):
        message = (
            f"in a time step of {1e3 * h:.3g} ms a body at rest falls {1e3 * g * h * h:.3g} mm "
            f"into its support: it sinks in and trembles; write time_step: {_COARSEST_STEP:g} "
            "or less, 0.001 suits most robots"
        )
        yield Diagnostic(Severity.WARNING, "coarse-step", message)


def constraints_carry_the_weight(
    physics: PhysicsSettings, starts: Sequence[Start]
) -> Iterator[Diagnostic]:
    """Under the weight of a body no joint or contact gives way visibly.

    A constraint with force F rests where erp / h * error = cfm * F.
    """
    if physics.erp < _LEAST_ERP:
        message = (
            f"with erp {physics.erp:g} hardly any of a constraint's error is taken back: joints "
            "drift apart and bodies sink in; write erp: 0.4, or 0.2 to 0.8"
        )
        yield Diagnostic(Severity.WARNING, "uncorrected-errors", message)
        return
    moving = [start for start in starts if any(start.mobile)]
    heaviest = max(moving, key=lambda start: start.body.total_mass, default=None)
    if heaviest is None:
        return
    weight = heaviest.body.total_mass * norm(np.array(physics.gravity))
    sag = weight * physics.cfm * physics.time_step / physics.erp
    if sag > _MOST_SAG:
        good = rounded_down(_MOST_SAG / sag * physics.cfm)
        message = (
            f"with cfm {physics.cfm:g} joints and contacts that carry the {weight:.3g} N of "
            f"'{heaviest.name}' give way by {1e3 * sag:.3g} mm; write cfm: {good:g}"
        )
        yield Diagnostic(Severity.WARNING, "soft-constraints", message)


def materials_are_those_of_links(
    physics: PhysicsSettings, starts: Sequence[Start]
) -> Iterator[Diagnostic]:
    """A table of materials says something about a link that is there."""
    table = physics.materials
    named = sorted({*table.materials, *chain.from_iterable(table.pairs)})
    links = [link for start in starts for link in start.body.links if link.collision]
    if not named or DEFAULT in named or any(link.contact_material in named for link in links):
        return
    message = (
        f"no link has a material of the table ({first_few(named, 4)}), so all have friction "
        f"{physics.friction:g}; write 'material: {named[0]}' in a link of a .body, or a material "
        f"named {DEFAULT}"
    )
    yield Diagnostic(Severity.WARNING, "unused-materials", message)


RULES = (steps_resolve_a_fall, constraints_carry_the_weight, materials_are_those_of_links)
