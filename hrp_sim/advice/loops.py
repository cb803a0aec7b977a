"""Rules for closed loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import pi

import numpy as np

from hrp_model import Diagnostic, JointType
from hrp_model.kinematics.loops.closure import LoopClosure, LoopError
from hrp_model.kinematics.loops.constraints import LoopConstraints, loop_name
from hrp_model.rigid import Array
from hrp_model.validate.common import first_few

from ..physics.engine import PhysicsSettings
from .start import Start

# What is drawn by hand and rounded to millimetres and degrees; the blow is erp * gap / h, 0.4 m/s
# from 1 mm at 1 ms, and soon over.
_SMALL_GAP, _SMALL_ANGLE = 1e-3, pi / 180.0


def loops_start_closed(_: PhysicsSettings, starts: Sequence[Start]) -> Iterator[Diagnostic]:
    """Loops are closed where a body starts: an engine pulls open ones together with a jerk."""
    for start in starts:
        if not start.body.extra_joints:
            continue
        try:
            constraints = LoopConstraints(start.body)
        except ValueError:  # of a size that no mechanism has: there is nothing to say about it
            continue
        residual = np.abs(constraints.residual(start.state.q[constraints.joints]))
        lengths = constraints.lengths
        open_rows = residual > np.where(lengths, _SMALL_GAP, _SMALL_ANGLE)
        if not open_rows.any():
            continue
        owner = np.repeat(np.arange(len(constraints.rows)), constraints.rows)
        names = [
            loop_name(start.body.extra_joints[i]) for i in dict.fromkeys(owner[open_rows].tolist())
        ]
        gaps = [
            *([f"{1e3 * residual[lengths].max():.3g} mm"] if open_rows[lengths].any() else []),
            *(
                [f"{180.0 / pi * residual[~lengths].max():.3g} degrees"]
                if open_rows[~lengths].any()
                else []
            ),
        ]
        message = (
            f"closed loops start open by up to {' and '.join(gaps)} "
            f"({first_few([repr(name) for name in names], 4)}): they are pulled together with a "
            f"jerk; {_cure(start)}"
        )
        yield start.warning("open-at-start", message)


RULES = (loops_start_closed,)


def _cure(start: Start) -> str:
    """Return where the joints close the loops, if they can."""
    closure = LoopClosure(start.body)
    try:
        q: Array = closure.close(start.state.q.copy())
    except LoopError:
        q = start.state.q
    moved = [
        f"{link.joint.name}: {q[i]:.6g}"
        for i, link in start.joints()
        if abs(q[i] - start.state.q[i]) > (1e-6 if link.joint.type is JointType.REVOLUTE else 1e-9)
    ]
    if not moved:
        return "no joint can change that, so check the points and axes of the extra joints"
    return f"start with joints: {{{first_few(moved, 8)}}}"
