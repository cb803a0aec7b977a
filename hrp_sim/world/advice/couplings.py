"""Rules for what couples joints and bodies: closed loops, mimic joints, joints between bodies.

All are closed at the start; an engine pulls open ones together with a jerk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import pi

import numpy as np

from hrp_model import Diagnostic, JointType, Link
from hrp_model.body import ExtraJointType, Mimic
from hrp_model.diagnostics import listed
from hrp_model.kinematics.loops.closure import LoopClosure, LoopError
from hrp_model.kinematics.loops.constraints import LoopConstraints, loop_name
from hrp_model.rigid import Array, unit_vector

from ...control.handling import JointEntry
from ...engine.engine import PhysicsSettings, Solver
from .initial_state import InitialState, Starts

# Errors of models rounded to millimetres and degrees. The correcting velocity is erp * gap / h,
# 0.4 m/s from 1 mm at 1 ms, for a short time.
_TOLERATED_GAP, _TOLERATED_ANGLE = 1e-3, pi / 180.0
_TOLERATED_MIMIC_GAP = 1e-3  # [rad] or [m]: closed within a millisecond


def loops_start_closed(_: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
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


def gears_start_closed(_: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """Mimic joints start where their leaders are; an engine moves both towards each other."""
    for start in starts:
        q = {link.name: float(start.state.q[i]) for i, link in start.joints()}
        gaps = []
        for link, mimic in _followers(start):
            wanted = mimic.position(q[mimic.link])
            if abs(wanted - q[link.name]) > _TOLERATED_MIMIC_GAP:
                gaps.append((abs(wanted - q[link.name]), f"{link.joint.name}: {wanted:.6g}"))
        if gaps:
            message = (
                f"mimic joints start up to {max(gaps)[0]:.3g} rad or m away from where their "
                "leaders are, and move there at 1 rad/s or 1 m/s; start with joints: "
                f"{{{listed([text for _, text in gaps], 8)}}}"
            )
            yield start.warning("open-at-start", message)


def gears_hold_both_ways(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """Mimic joints are constraints of the exact solver alone."""
    if physics.solver is Solver.WORLD:
        return
    for start in starts:
        names = [f"'{link.joint.name}'" for link, _ in _followers(start)]
        if names:
            message = (
                f"mimic joints ({listed(names, 4)}) exert nothing on their leaders with the "
                f"solver '{physics.solver.value}', whatever they carry or touch; write "
                "solver: world"
            )
            yield start.warning("one-way-gears", message)


def _followers(start: InitialState) -> Iterator[tuple[Link, Mimic]]:
    """Yield the links of mimic joints whose leaders move."""
    names = {link.name for _, link in start.joints()}
    for _, link in start.joints():
        mimic = link.joint.mimic
        if mimic is not None and mimic.link in names:
            yield link, mimic


def body_joints_start_closed(joints: Sequence[JointEntry], starts: Starts) -> Iterator[Diagnostic]:
    """Joints between bodies are closed at the start; an engine pulls open ones with a jerk."""
    bodies = {start.name: start for start in starts}
    for joint in joints:
        start, other = (bodies[name] for name in joint.bodies)
        gap = float(np.linalg.norm(_gap(joint, start, other)))
        if gap > _TOLERATED_GAP:
            message = (
                f"joint '{joint.name}' to body '{other.name}' is open by {1e3 * gap:.3g} mm at the "
                "start and will be pulled together with a jerk; place the bodies so that it is "
                "closed, or correct the positions of the joint"
            )
            yield start.warning("open-at-start", message)


def _gap(joint: JointEntry, start: InitialState, other: InitialState) -> Array:
    """Return the gap in the directions that a joint holds, in link A, in [m], shape (3,)."""
    a, b = start.body.link_index(joint.links[0]), other.body.link_index(joint.links[1])
    p_WA = start.state.p[a] + start.state.R[a] @ joint.X_AJ.p
    p_WB = other.state.p[b] + other.state.R[b] @ joint.X_BJ.p
    gap: Array = start.state.R[a].T @ (p_WB - p_WA)
    axis = unit_vector(joint.axis)
    if axis is None:
        return gap
    along = axis * (axis @ gap)
    if joint.type is ExtraJointType.Z:
        return np.asarray(along)
    if joint.type in (ExtraJointType.XY, ExtraJointType.PISTON):
        return np.asarray(gap - along)
    return gap
