"""Failures of ODE: their kinds, and their messages with body, link, time and what to change.

Another engine that calls the same library uses these too: ODE aborts the process when it fails,
unless an error handler jumps out of it, and importing the extension installs such handlers for
the whole process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import fields

import numpy as np

from hrp_model.diagnostics import number_text

from ..articulation.articulation import Articulation, link_error
from ..engine import PhysicsError
from ..state import MAX_DRIVE_VALUE, SimulatedBody
from . import _core
from ._core import (
    FAULT_CONTACTS,
    FAULT_DRIVE,
    FAULT_STATE,
    FAULT_SURFACE,
    FAULT_TRACK,
    FAULT_WRENCH,
    MAX_CONTACTS,
    OdeError,
    guarded,
    take_messages,
)

__all__ = [
    "FAULT_CONTACTS",
    "FAULT_DRIVE",
    "FAULT_STATE",
    "FAULT_SURFACE",
    "FAULT_TRACK",
    "FAULT_WRENCH",
    "MANY_MESSAGES",
    "MAX_CONTACTS",
    "MAX_ROWS",
    "OdeError",
    "body_error",
    "guarded",
    "solver_error",
    "take_messages",
    "warn_of_failed_contacts",
    "warn_of_messages",
]

_log = logging.getLogger("hrp_sim")

# Constraint rows of an island for dWorldStep, whose matrix takes 800 MB then.
MAX_ROWS = 10_000
# A sudden change of speed may cause one message of ODE's solver; this many mean trouble.
MANY_MESSAGES = 10


def warn_of_messages(time_ns: int) -> None:
    """Warn that ODE's solver has difficulties, at a simulation time in [ns]."""
    _log.warning(
        "ODE's solver has numerical difficulties at %.6g s: bodies may be jammed; a larger cfm "
        "(1e-7) or another solver may help",
        time_ns / 1e9,
    )


def warn_of_failed_contacts(
    pairs: Iterable[tuple[tuple[Articulation, int], tuple[Articulation, int]]], time_ns: int
) -> None:
    """Warn of links, by body and index, of which ODE misses contacts at a time in [ns]."""
    for pair in pairs:
        (link_a, a), (link_b, b) = (
            (articulation.placement.body.links[link].name, articulation.placement.name)
            for articulation, link in pair
        )
        _log.warning(
            "ODE cannot find all contacts of link '%s' of body '%s' and link '%s' of body '%s' at "
            "%.6g s: simpler collision shapes, or convex_meshes: true, may help",
            *(link_a, a, link_b, b, time_ns / 1e9),
        )


def solver_error(when: str) -> PhysicsError:
    """Return the error of a step that ODE could not solve, of unknown cause."""
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
        index: Of a group, a link or a joint coordinate, depending on the kind.
        articulation: The flattened body.
        simulated: The body in its state before the step.
        when: Time of the step, such as "at 0.5 s (step 500)".
    """
    placement = articulation.placement
    body = placement.body
    if kind == FAULT_CONTACTS:
        problem = (
            f"the world has more than {MAX_CONTACTS} contacts {when}, the last of them here; "
            "separate bodies that overlap, or use a smaller max_contacts"
        )
        return link_error(placement, body.links[index], problem)
    if kind in (FAULT_STATE, _core.FAULT_BLOCKS):
        i = int(np.argmax(articulation.links.group == index))
        is_lost = kind == FAULT_STATE
        problem = _diverged(simulated, i, when) if is_lost else _crowded(when)
        return link_error(placement, body.links[i], problem)
    drive, wrench, links, and_more = simulated.drive, simulated.wrench, body.links, ""
    if kind == FAULT_WRENCH:
        force, torque = wrench.force[index].tolist(), wrench.torque[index].tolist()
        what = f"external force {force} N and torque {torque} N m"
    elif kind == FAULT_TRACK:
        what = f"track speed {drive.track_speed[index]:g} m/s"
    elif kind == FAULT_SURFACE:
        what = f"surface velocity {drive.surface_velocity[index].tolist()}"
    else:
        values = (f"{f.name} {getattr(drive, f.name)[index]:g}" for f in fields(drive)[:5])
        what = f"drive of its joint ({', '.join(values)})"
        links, and_more = body.moving_links, "with gains of at least 0, "
    problem = f"the {what} must be finite and below {MAX_DRIVE_VALUE:g}, {and_more}{when}"
    return link_error(placement, links[index], problem)


def _diverged(simulated: SimulatedBody, link: int, when: str) -> str:
    v, w = (float(np.linalg.norm(a[link])) for a in (simulated.motion.v, simulated.motion.w))
    return (
        f"its motion has diverged {when}; before, it moved at {number_text(v)} m/s and "
        f"{number_text(w)} rad/s. A shorter time_step, weaker drives, or more mass and "
        "inertia of this link may help"
    )


def _crowded(when: str) -> str:
    return (
        f"too many bodies touch each other {when}: the matrix of solver: world would have more "
        f"than {_core.MAX_BLOCKS} blocks; use solver: quick, or fewer bodies in one place"
    )
