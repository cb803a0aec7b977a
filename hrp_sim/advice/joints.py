"""Rules for joints: where they start, what they can hold, and how unlike masses hang on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hrp_model import Diagnostic, Link
from hrp_model.rigid import Array
from hrp_model.validate.common import first_few

from ..control import ControlMode, JointControl
from ..engine import PHYSICS_RANGES, PhysicsSettings, Solver
from .start import Group, Start, norm, unit

# A stop takes back erp of the error in each step, at any speed. Below this one the blow is
# smaller than that of a step on a stair, in [rad/s] or [m/s].
_GENTLE_STOP = 1.0
# More than this share of what a drive can do is wanted to hold still.
_WHOLE_EFFORT = 1.0
# QUICK, swinging chains of links of 1 kg and 0.2 m: joints come apart by 1 mm within 0.5 s
#   at 20, 50, 200 iterations
#   where three links end in a load of 35, 70, 300 times a link's mass,
#   where the link before the last has a moment of inertia that is 2e3, 4e3, 2e4 times less than
#     what hangs on it has about its centre, m d^2,
# and by ten times as much at ten times these ratios. Light links at the ends of chains do no
# harm: 1e-6 kg on 1 kg is as good as equal masses. WORLD is exact in all of this to 1e5.
_MASS_RATIO_PER_ITERATION = 2.0
_INERTIA_RATIO_PER_ITERATION = 80.0


def joints_start_within_their_stops(
    physics: PhysicsSettings, starts: Sequence[Start]
) -> Iterator[Diagnostic]:
    """No joint starts so far beyond a limit that its stop throws it back."""
    if not physics.joint_limits:
        return
    for start in starts:
        thrown: list[tuple[float, Link, str]] = []
        for i, link in start.joints():
            lower, upper = link.joint.position
            if lower > upper:  # holds nothing and is ignored
                continue
            q = float(start.state.q[i])
            beyond = max(lower - q, q - upper)
            speed = physics.erp * beyond / physics.time_step
            if speed > _GENTLE_STOP:
                limit = lower if q < lower else upper
                text = f"'{link.joint.name}' at {q:.4g} {unit(link)} (limit {limit:.4g})"
                thrown.append((speed, link, text))
        if thrown:
            speed, link, _ = max(thrown, key=lambda x: x[0])
            message = (
                f"joints start beyond their limits: {first_few([x for _, _, x in thrown], 4)}; "
                f"their stops throw them back at up to {speed:.3g} {unit(link)}/s. Start within "
                "the range (key 'joints'), or write joint_limits: false"
            )
            yield start.warning("start-beyond-limit", message, link)


def drives_hold_the_start(
    physics: PhysicsSettings, starts: Sequence[Start]
) -> Iterator[Diagnostic]:
    """The drives that shall hold a body with a fixed root are stronger than gravity there."""
    x, y, z = physics.gravity
    if x != 0.0 or y != 0.0 or z >= 0.0:
        return
    for start in starts:
        if start.is_free or start.body.extra_joints or not start.body.moving_links:
            continue
        needed = start.state.gravity_torque(-z)
        weak: list[tuple[float, Link, str]] = []
        for i, link in start.joints():
            lower, upper = link.joint.effort
            if not lower <= 0.0 <= upper or not _is_held(start, link):
                continue
            most, need = (upper if needed[i] > 0.0 else -lower), abs(float(needed[i]))
            if need > _WHOLE_EFFORT * most:
                text = f"'{link.joint.name}' needs {need:.3g} {_effort_unit(link)}, has {most:.3g}"
                weak.append((need - most, link, text))
        if weak:
            _, link, _ = max(weak, key=lambda x: x[0])
            message = (
                "drives are too weak to hold the start against gravity: "
                f"{first_few([text for _, _, text in weak], 4)}; check the effort limits and their "
                "unit, or start in a posture that needs less"
            )
            yield start.warning("too-weak", message, link)


def chains_are_even_for_quick(
    physics: PhysicsSettings, starts: Sequence[Start]
) -> Iterator[Diagnostic]:
    """Under the solver QUICK no link carries many times its own mass or inertia."""
    if physics.solver is not Solver.QUICK:
        return
    for start in starts:
        worst = max(_ratios(start.groups), key=lambda found: found[0], default=None)
        if worst is None:
            continue
        needed, carrier, child, told = worst
        if needed <= physics.iterations:
            continue
        enough = _rounded_up(needed)
        iterate = f"iterations: {enough}, or " if enough <= PHYSICS_RANGES["iterations"][1] else ""
        message = (
            f"link '{carrier.link.name}' carries {told} in joint '{child.link.joint.name}' and "
            f"what hangs on it: with the solver 'quick' and {physics.iterations} iterations that "
            f"joint comes apart by millimetres; write solver: world, or {iterate}give the link "
            "more mass and inertia"
        )
        yield start.warning("uneven-chain", message, carrier.link)


RULES = (joints_start_within_their_stops, drives_hold_the_start, chains_are_even_for_quick)


def _is_held(start: Start, link: Link) -> bool:
    control = start.entry.control
    own = control.joints.get(link.joint.name, JointControl()).mode
    return (control.mode if own is None else own) is ControlMode.POSITION


def _effort_unit(link: Link) -> str:
    return "N m" if unit(link) == "rad" else "N"


def _ratios(groups: Sequence[Group]) -> Iterator[tuple[float, Group, Group, str]]:
    """Yield for every joint between groups the iterations it needs, and why, in words."""
    mass = [group.whole.mass for group in groups]
    for i in reversed(range(len(groups))):
        above = groups[i].parent
        if above is not None:
            mass[above] += mass[i]
    moments = _least_moments(groups)
    for i, group in enumerate(groups):
        if group.parent is None:
            continue
        carrier = groups[group.parent]
        if carrier.floats:
            continue
        own, moment = carrier.whole.mass, float(moments[group.parent])
        if own <= 0.0 or moment <= 0.0:
            continue
        distance = norm(group.anchor - carrier.whole.center_of_mass)
        by_mass = mass[i] / own
        by_inertia = mass[i] * distance**2 / moment
        needed = by_mass / _MASS_RATIO_PER_ITERATION
        told = f"{by_mass:.3g} times its own mass"
        if by_inertia / _INERTIA_RATIO_PER_ITERATION > needed:
            needed = by_inertia / _INERTIA_RATIO_PER_ITERATION
            told = f"{by_inertia:.3g} times its own moment of inertia"
        yield needed, carrier, group, told


def _least_moments(groups: Sequence[Group]) -> Array:
    if not groups:
        return np.zeros(0)
    return np.linalg.eigvalsh(np.array([group.whole.inertia for group in groups]))[:, 0]


def _rounded_up(iterations: float) -> int:
    return int(np.ceil(iterations / 50.0) * 50.0)
