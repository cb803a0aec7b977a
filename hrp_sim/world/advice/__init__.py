"""Checks of a world for settings that ODE simulates badly, before the first step.

Each rule is a function that yields diagnostics with a remedy. Thresholds come from experiments
described beside them. Rules examine the initial state of a world, and bodies spawned later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from hrp_model import Diagnostic, Severity

from ...engine.engine import PhysicsSettings
from ...engine.state import PairCost, SimulatedBody
from ..config import BodyEntry, WorldConfig
from . import contacts, couplings, joints, links, settings
from .initial_state import InitialState

__all__ = ["advise", "advise_costs", "advise_spawned", "failure_hint", "remarks"]

_RULES = (
    settings.steps_resolve_a_fall,
    settings.constraints_carry_the_weight,
    settings.materials_are_used_by_links,
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
