"""What went wrong in a step, in words: which body and link, when, and what to try."""

from __future__ import annotations

import logging
from dataclasses import fields

import numpy as np

from ..articulation.articulation import Articulation, link_error
from ..physics.engine import PhysicsError
from ..physics.state import SimulatedBody
from . import _core

_log = logging.getLogger("hrp_sim")

# A sudden change of speed may cost ODE's solver one message; this many mean trouble.
MANY_MESSAGES = 10


def warn_of_messages(time_ns: int) -> None:
    """Warn that ODE's solver has difficulties, at a simulated time in [ns]."""
    _log.warning(
        "ODE's solver has difficulties at %.6g s; bodies may be jammed, or a larger cfm "
        "(1e-7) or the solver 'quick' suit the scene better",
        time_ns / 1e9,
    )


def solver_error(when: str) -> PhysicsError:
    """Return the error of a step that ODE gave up, with no body to blame."""
    return PhysicsError(
        f"ODE could not solve the step {when}; a shorter time_step, solver: quick, or a larger "
        "cfm may help"
    )


def body_error(
    kind: int, index: int, articulation: Articulation, simulated: SimulatedBody, when: str
) -> PhysicsError:
    """Return the error of a step that failed because of one body.

    Args:
        kind: A ``_core.FAULT_...`` other than FAULT_SOLVER.
        index: Of a group, a link or a joint coordinate, as the kind has it.
        articulation: The body, flattened.
        simulated: The same, as it was before the step.
        when: Such as "at 0.5 s (step 500)".
    """
    placement = articulation.placement
    body = placement.body
    if kind == _core.FAULT_CONTACTS:
        problem = (
            f"with it there are more than {_core.MAX_CONTACTS} contacts {when}; move apart what "
            "lies in each other, or use a smaller max_contacts"
        )
        return link_error(placement, body.links[index], problem)
    if kind in (_core.FAULT_STATE, _core.FAULT_ROWS):
        i = int(np.argmax(articulation.links.group == index))
        problem = _absurd(simulated, i, when) if kind == _core.FAULT_STATE else _crowd(when)
        return link_error(placement, body.links[i], problem)
    if kind == _core.FAULT_WRENCH:
        wrench = simulated.wrench
        force, torque = wrench.force[index].tolist(), wrench.torque[index].tolist()
        problem = f"it cannot be pushed with the force {force} and torque {torque}, {when}"
        return link_error(placement, body.links[index], problem)
    drive = simulated.drive
    if kind == _core.FAULT_TRACK:
        problem = f"its track cannot run at {drive.track_speed[index]:g} m/s, {when}"
        return link_error(placement, body.links[index], problem)
    told = ", ".join(f"{f.name} {getattr(drive, f.name)[index]:g}" for f in fields(drive)[:5])
    problem = f"its joint cannot be driven with {told}, {when}"
    return link_error(placement, body.moving_links[index], problem)


def _absurd(simulated: SimulatedBody, link: int, when: str) -> str:
    v, w = (float(np.linalg.norm(a[link])) for a in (simulated.motion.v, simulated.motion.w))
    return (
        f"its motion is no longer finite, or absurd, {when}; before, it moved at {v:.3g} m/s and "
        f"{w:.3g} rad/s. A shorter time_step, weaker drives, or more mass and inertia here may help"
    )


def _crowd(when: str) -> str:
    return (
        f"it and all that hangs together with it come to more than {_core.MAX_ROWS} rows of "
        f"constraints, too many for solver: world, {when}; use solver: quick, or a smaller "
        "max_contacts"
    )
