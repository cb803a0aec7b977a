"""What ODE will struggle with in a world, told before the first step, with what to change.

Each rule is a function that yields diagnostics; thresholds come from experiments, which are
told beside them. Rules judge how a world starts; what happens to it later is another matter, but
for bodies that are spawned into others.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from hrp_model import Diagnostic, Severity

from ..world.config import WorldConfig
from .contacts import RULES as CONTACT_RULES
from .joints import RULES as JOINT_RULES
from .loops import RULES as LOOP_RULES
from .masses import RULES as MASS_RULES
from .servos import RULES as SERVO_RULES
from .settings import RULES as SETTING_RULES
from .spawned import advise_spawned
from .start import Start

__all__ = ["advise", "advise_spawned", "after_failure"]

_RULES = (
    *SETTING_RULES,
    *MASS_RULES,
    *JOINT_RULES,
    *LOOP_RULES,
    *SERVO_RULES,
    *CONTACT_RULES,
)


def advise(world: WorldConfig) -> list[Diagnostic]:
    """Return what to expect trouble from in a world that an engine has accepted.

    Warnings are about motion that will be wrong or will fail; notes tell limits that only
    matter to some. Codes are explained in ``hrp_sim.world.codes``.

    Args:
        world: Bodies that an engine can take: finite numbers, masses that can move.
    """
    starts = [Start(entry, world.physics) for entry in world.bodies]
    return list(chain.from_iterable(rule(world.physics, starts) for rule in _RULES))


def after_failure(found: Iterable[Diagnostic]) -> str:
    """Return what to look for when the physics failed, without an end stop.

    Args:
        found: What was told at the start.
    """
    codes = dict.fromkeys(x.code for x in found if x.severity is Severity.WARNING)
    if codes:
        return f"what was warned of at the start may be the cause: {', '.join(codes)}"
    return "look for what was asked last: an effort, a gain, a speed or a push no step can take"
