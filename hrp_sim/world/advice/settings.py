"""Rules for physics settings and materials."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from hrp_model import Diagnostic, Severity
from hrp_model.diagnostics import listed, number_text

from ...engine.engine import PhysicsSettings
from ...engine.materials import DEFAULT
from .initial_state import Starts, norm, rounded_down

# Cubes and a standing humanoid rest correctly up to 20 ms; at 50 ms they sink in by 5 mm and
# vibrate, at 100 ms a 1 kg cube sinks in by half its 10 cm.
_MAX_STEP = 0.02
# Tolerated compliance of joints and contacts under the weight of a body, in [m].
_MAX_SAG = 1e-3
# With this erp an error is corrected within about 50 steps.
_MIN_ERP = 0.02


def steps_resolve_a_fall(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """Bodies fall only slightly into their support in one step: g h^2 is small."""
    h, g = physics.time_step, norm(np.array(physics.gravity))
    if h > _MAX_STEP and g > 0.0 and any(any(start.mobile) for start in starts):
        message = (
            f"in a time step of {1e3 * h:.3g} ms a body at rest falls {1e3 * g * h * h:.3g} mm "
            f"into its support, sinks in and vibrates; write time_step: {_MAX_STEP:g} "
            "or less, 0.001 suits most robots"
        )
        yield Diagnostic(Severity.WARNING, "coarse-step", message)


def constraints_carry_the_weight(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """Joints and contacts do not give way visibly under the weight of a body.

    A constraint with force F rests at erp / h * error = cfm * F.
    """
    if physics.erp < _MIN_ERP:
        message = (
            f"with erp {physics.erp:g} constraint errors are hardly corrected: joints drift apart "
            "and bodies sink in; write erp: 0.4, or 0.2 to 0.8"
        )
        yield Diagnostic(Severity.WARNING, "uncorrected-errors", message)
        return
    moving = [start for start in starts if any(start.mobile)]
    heaviest = max(moving, key=lambda start: start.body.total_mass, default=None)
    if heaviest is None:
        return
    weight = heaviest.body.total_mass * norm(np.array(physics.gravity))
    sag = weight * physics.cfm * physics.time_step / physics.erp
    if sag > _MAX_SAG:
        good = rounded_down(_MAX_SAG / sag * physics.cfm)
        message = (
            f"with cfm {physics.cfm:g} joints and contacts that carry the {number_text(weight)} N "
            f"of '{heaviest.name}' give way by {1e3 * sag:.3g} mm; write cfm: {good:g}"
        )
        yield Diagnostic(Severity.WARNING, "soft-constraints", message)


def materials_are_used_by_links(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """A table of materials concerns at least one link of the world."""
    table = physics.materials
    named = sorted({*table.materials, *chain.from_iterable(table.pairs)})
    used = {
        start.entry.placement.contact_material(link)
        for start in starts
        for link in start.body.links
        if link.collision
    }
    if not named or DEFAULT in named or not used.isdisjoint(named):
        return
    message = (
        f"no link has a material of the table ({listed(named, 4)}), so all have the friction "
        f"coefficient {physics.friction:g}; write 'material: {named[0]}' in a link of a .body, or "
        f"add a material named {DEFAULT}"
    )
    yield Diagnostic(Severity.WARNING, "unused-materials", message)
