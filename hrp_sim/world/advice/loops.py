"""Rules for closed loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import pi

import numpy as np

from hrp_model import Diagnostic, JointType
from hrp_model.diagnostics import listed
from hrp_model.kinematics.loops.closure import LoopClosure, LoopError
from hrp_model.kinematics.loops.constraints import LoopConstraints, loop_name
from hrp_model.rigid import Array

from ...engine.engine import PhysicsSettings
from .initial_state import InitialState

# Errors of models rounded to millimetres and degrees. The correcting velocity is erp * gap / h,
# 0.4 m/s from 1 mm at 1 ms, for a short time.
_TOLERATED_GAP, _TOLERATED_ANGLE = 1e-3, pi / 180.0


def loops_start_closed(_: PhysicsSettings, starts: Sequence[InitialState]) -> Iterator[Diagnostic]:
    """Loops are closed in the initial posture; an engine pulls open ones together with a jerk."""
    for start in starts:
        if not start.body.extra_joints:
            continue
        try:
            constraints = LoopConstraints(start.body)
        except ValueError:  # implausibly large numbers, for which no advice is possible
            continue
        residual = np.abs(constraints.residual(start.state.q[constraints.joints]))
        lengths = constraints.lengths
        open_rows = residual > np.where(lengths, _TOLERATED_GAP, _TOLERATED_ANGLE)
        if not open_rows.any():
            continue
        owner = np.repeat(np.arange(len(constraints.rows)), constraints.rows)
        names = [
            loop_name(start.body.extra_joints[i]) for i in dict.fromkeys(owner[open_rows].tolist())
        ]
        gaps = []
        if open_rows[lengths].any():
            gaps.append(f"{1e3 * residual[lengths].max():.3g} mm")
        if open_rows[~lengths].any():
            gaps.append(f"{180.0 / pi * residual[~lengths].max():.3g} degrees")
        message = (
            f"closed loops are open by up to {' and '.join(gaps)} in the initial posture "
            f"({listed([repr(name) for name in names], 4)}) and will be pulled together with a "
            f"jerk; {_remedy(start)}"
        )
        yield start.warning("open-at-start", message)


RULES = (loops_start_closed,)


def _remedy(start: InitialState) -> str:
    """Return joint positions that close the loops, if any do."""
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
        return "no joint position closes them, so check the points and axes of the extra joints"
    return f"start with joints: {{{listed(moved, 8)}}}"
