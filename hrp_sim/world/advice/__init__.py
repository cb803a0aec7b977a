"""Checks of a world for settings that ODE simulates badly, before the first step.

Each rule is a function that yields diagnostics with a remedy. Thresholds come from experiments
described beside them. Rules examine the initial state of a world, and bodies spawned later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from hrp_model import Diagnostic, Severity
from hrp_model.diagnostics import listed, number_text

from ...engine.engine import PhysicsSettings
from ...engine.materials import DEFAULT
from ...engine.state import PairCost, SimulatedBody
from ..config import BodyEntry, WorldConfig
from . import contacts, couplings, joints, links
from .initial_state import InitialState, Starts, norm, rounded_down

# Cubes and a standing humanoid rest correctly up to 20 ms; at 50 ms they sink in by 5 mm and
# vibrate, at 100 ms a 1 kg cube sinks in by half its 10 cm.
_MAX_STEP = 0.02
# Tolerated compliance of stops and contacts under the weight of a body, in [m].
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
    """Stops and contacts do not give way visibly under the weight of a body.

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
            f"with cfm {physics.cfm:g} stops and contacts that carry the {number_text(weight)} N "
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


__all__ = ["advise", "advise_costs", "advise_spawned", "failure_hint", "remarks"]

_RULES = (
    steps_resolve_a_fall,
    constraints_carry_the_weight,
    materials_are_used_by_links,
    links.movable_links_have_mass_and_inertia,
    joints.joints_start_within_their_stops,
    joints.drives_hold_the_start,
    joints.chains_are_even_for_quick,
    couplings.loops_start_closed,
    couplings.gears_start_closed,
    couplings.gears_hold_both_ways,
    joints.steps_resolve_servos,
    joints.effort_controllers_have_a_damping_limit,
    contacts.bodies_start_apart,
    contacts.loads_suit_the_solver,
    contacts.nothing_skips_its_contacts,
    contacts.free_bodies_can_land,
    links.meshes_collide_as,
)


def advise(world: WorldConfig) -> list[Diagnostic]:
    """Return warnings and notes about a world that an engine has accepted.

    Warnings predict wrong or failing motion; notes describe limits that matter to few users.
    ``hrp_sim.world.reporting`` explains the codes.
    """
    joined: dict[str, list[tuple[str, str, str]]] = {}
    for joint in world.joints:
        (a, b), (link_a, link_b) = joint.bodies, joint.links
        joined.setdefault(a, []).append((link_a, b, link_b))
        joined.setdefault(b, []).append((link_b, a, link_a))
    starts = [
        InitialState(entry, world.physics, joined.get(entry.placement.name, ()))
        for entry in world.bodies
    ]
    found = chain.from_iterable(rule(world.physics, starts) for rule in _RULES)
    return [*found, *couplings.body_joints_start_closed(world.joints, starts)]


def advise_costs(world: WorldConfig, costs: Sequence[PairCost]) -> list[Diagnostic]:
    """Return a warning if collision detection takes longer than a step of the world.

    Args:
        world: The world.
        costs: Of one of its steps.
    """
    starts = [InitialState(entry, world.physics) for entry in world.bodies]
    return list(links.slow_meshes(world.physics, starts, costs))


def advise_spawned(
    entry: BodyEntry,
    bodies: Mapping[str, SimulatedBody],
    is_fixed: Callable[[str], bool],
    physics: PhysicsSettings,
) -> Iterator[Diagnostic]:
    """Yield notes on a new body, and a warning for each body that overlaps it deeply.

    Args:
        entry: The entry of the new body.
        bodies: All present bodies by name, with or without the new one.
        is_fixed: Returns whether the root of a body, given by name, is fixed to the world.
        physics: Settings of the world.
    """
    if (simulated := bodies.get(entry.placement.name)) is not None:
        yield from remarks([simulated])
    others = [body for name, body in bodies.items() if name != entry.placement.name]
    yield from contacts.spawned_overlaps(entry, others, is_fixed, physics)


def remarks(bodies: Iterable[SimulatedBody]) -> Iterator[Diagnostic]:
    """Yield what an engine remarked on bodies when they were added to it, as notes."""
    for simulated in bodies:
        for remark in simulated.remarks:
            message = f"body '{simulated.name}': {remark}"
            yield Diagnostic(Severity.NOTE, "links-overlap", message)


def failure_hint(found: Iterable[Diagnostic]) -> str:
    """Return a hint for users whose physics has failed, without a full stop.

    Args:
        found: Diagnostics reported at the start.
    """
    codes = dict.fromkeys(x.code for x in found if x.severity is Severity.WARNING)
    if codes:
        return f"a warning reported at the start may be the cause: {', '.join(codes)}"
    return "check the latest commands: an effort, gain, velocity or wrench may be too large"
