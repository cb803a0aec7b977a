"""Checks of a world for settings that ODE simulates badly, before the first step.

Each rule is a function that yields diagnostics with a remedy. Thresholds come from experiments
described beside them. Rules examine the initial state of a world, and bodies spawned later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from hrp_model import Diagnostic, Severity

from ...engine.pair_costs import PairCost
from ..config import WorldConfig
from .body_joints import body_joints_start_closed
from .contacts import RULES as CONTACT_RULES
from .gears import RULES as GEAR_RULES
from .initial_state import InitialState
from .joints import RULES as JOINT_RULES
from .loops import RULES as LOOP_RULES
from .masses import RULES as MASS_RULES
from .meshes import RULES as MESH_RULES
from .meshes import slow_meshes
from .servos import RULES as SERVO_RULES
from .settings import RULES as SETTING_RULES
from .spawned import advise_spawned, remarks

__all__ = ["advise", "advise_costs", "advise_spawned", "failure_hint", "remarks"]

_RULES = (
    *SETTING_RULES,
    *MASS_RULES,
    *JOINT_RULES,
    *LOOP_RULES,
    *GEAR_RULES,
    *SERVO_RULES,
    *CONTACT_RULES,
    *MESH_RULES,
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
    return [*found, *body_joints_start_closed(world.joints, starts)]


def advise_costs(world: WorldConfig, costs: Sequence[PairCost]) -> list[Diagnostic]:
    """Return a warning if collision detection takes longer than a step of the world.

    Args:
        world: The world.
        costs: Of one of its steps.
    """
    starts = [InitialState(entry, world.physics) for entry in world.bodies]
    return list(slow_meshes(world.physics, starts, costs))


def failure_hint(found: Iterable[Diagnostic]) -> str:
    """Return a hint for users whose physics has failed, without a full stop.

    Args:
        found: Diagnostics reported at the start.
    """
    codes = dict.fromkeys(x.code for x in found if x.severity is Severity.WARNING)
    if codes:
        return f"a warning reported at the start may be the cause: {', '.join(codes)}"
    return "check the latest commands: an effort, gain, velocity or wrench may be too large"
