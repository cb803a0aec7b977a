"""Joints that follow another one in proportion, because closed loops make them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from math import pi
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ...body import Body, ExtraJoint, JointType, Mimic
from ...rigid import Array
from .closure import LoopClosure, LoopError
from .constraints import loop_joints

if TYPE_CHECKING:
    from ...body import Link

_EXACT = 1e-9  # largest error of a relation, in [rad] or [m]
_SAMPLES = 12  # to either side of the initial posture
_CHECKS = 6  # of what the samples gave, anywhere
_AROUND = 0.3  # how far the joints that do not lead are moved in checks, in [rad] or [m]


_FOUND: WeakKeyDictionary[Body, dict[str, Mimic]] = WeakKeyDictionary()


def loop_groups(body: Body) -> list[tuple[ExtraJoint, ...]]:
    """Return the extra joints of a body, those together that share joints round their loops."""
    groups: list[tuple[set[int], list[ExtraJoint]]] = []
    for joint in body.extra_joints:
        moved = set(loop_joints(body, joint))
        touching = [group for group in groups if moved & group[0]]
        groups = [group for group in groups if not moved & group[0]]
        members = [*(x for _, some in touching for x in some), joint]
        groups.append((moved.union(*(joints for joints, _ in touching)), members))
    return [tuple(members) for _, members in groups]


def loop_closures(body: Body) -> tuple[list[LoopClosure], list[str]]:
    """Return what closes each group of loops, and a sentence for each that is impossible."""
    closures, problems = [], []
    for group in loop_groups(body):
        try:
            closures.append(LoopClosure(body, group))
        except ValueError as error:  # noqa: PERF203 (few loops)
            problems.append(str(error))
    return closures, problems


def _closures_that_move(body: Body) -> Iterator[LoopClosure]:
    """Yield what closes loops that have joints: a model may hold a thousand that have none."""
    for group in loop_groups(body):
        if any(loop_joints(body, joint) for joint in group):
            with suppress(ValueError):
                yield LoopClosure(body, group)


def mimic_joints(body: Body, closures: Iterable[LoopClosure] | None = None) -> dict[str, Mimic]:
    """Return the joints that follow another one in proportion.

    Those of which the model says so, and those that closed loops make follow: parallelograms,
    pantographs and the like; found by moving the loops through the range of the leading joint,
    and true to 1e-9 wherever they can go. A joint that follows along a curve, or follows more
    than one joint, is not among them.

    Args:
        body: The model.
        closures: What ``loop_closures`` gives for it, where it is at hand.

    Returns:
        By the name of the link whose joint follows, in the order of ``body.moving_links``.
        No leading joint follows another.
    """
    declared = {x.name: x.joint.mimic for x in body.moving_links if x.joint.mimic is not None}
    if not body.extra_joints:
        return declared
    known = _FOUND.get(body)
    if known is None:
        found: dict[str, Mimic] = {}
        for closure in _closures_that_move(body) if closures is None else closures:
            found |= _mimics(closure)
        found |= declared
        known = {x.name: found[x.name] for x in body.moving_links if x.name in found}
        _FOUND[body] = known
    return dict(known)


def _mimics(closure: LoopClosure) -> Mapping[str, Mimic]:
    if not closure.closes:
        return {}
    found: dict[str, Mimic] = {}
    for start in closure.regular:
        found = dict(_relations(closure, start))
        if found:  # drawn folded flat, the same bars make a parallelogram and a crossed one
            break
    return found


def _relations(closure: LoopClosure, start: Array) -> Iterator[tuple[str, Mimic]]:
    """Yield the relations that hold on the way a posture can move."""
    links = closure.body.moving_links
    slopes = np.array([closure.slopes(q) for q in (start, *_nearby(closure, start))])
    leads = np.abs(slopes).max(axis=0) > _EXACT
    for column, leader in enumerate(closure.independent):
        candidates = [
            row
            for row in range(len(closure.dependent))
            if leads[row, column] and leads[row].sum() == 1
        ]
        steady = [i for i in candidates if np.ptp(slopes[:, i, column]) < 1e-6]
        if not steady:
            continue
        samples = _samples(closure, start, int(leader))
        checks = _checks(closure, start, int(leader))
        for row in steady:
            follower = int(closure.dependent[row])
            mimic = _fit(links[leader].name, samples[:, leader], samples[:, follower])
            if mimic and _holds(mimic, np.vstack([samples, checks]), int(leader), follower):
                yield links[follower].name, mimic


def _fit(leader: str, x: Array, y: Array) -> Mimic | None:
    """Return the line through samples, its numbers rounded where they are round."""
    if np.ptp(x) < 1e-3:
        return None
    multiplier, offset = np.polyfit(x, y, 1)
    return Mimic(leader, _round(multiplier), _round(offset))


def _round(value: float) -> float:
    short = round(float(value), 9)
    return short + 0.0 if abs(short - value) < 1e-11 else float(value)


def _holds(mimic: Mimic, postures: Array, leader: int, follower: int) -> bool:
    expected = mimic.multiplier * postures[:, leader] + mimic.offset
    return bool(np.abs(expected - postures[:, follower]).max() < _EXACT)


def _samples(closure: LoopClosure, start: Array, leader: int) -> Array:
    """Return closed postures over the range of one joint, as far as the loops let it go.

    Where a parallelogram lies flat its equations are weak; irregular steps pass such places.
    """
    low, high = _range(closure.body.moving_links[leader], start[leader])
    random = np.random.default_rng(1)
    found = [start]
    for end in (low, high):
        steps = np.cumsum(random.uniform(0.5, 1.5, _SAMPLES))
        near = start
        for share in steps / steps[-1]:
            q = near.copy()
            q[leader] = start[leader] + share * (end - start[leader])
            try:
                near = closure.close(q, given=closure.independent, near=near)
            except LoopError:
                break
            found.append(near)
    return np.array(found)


def _checks(closure: LoopClosure, start: Array, leader: int) -> Array:
    """Return closed postures anywhere, with all independent joints moved."""
    random = np.random.default_rng(2)
    low, high = _range(closure.body.moving_links[leader], start[leader])
    found = [start]
    for _ in range(_CHECKS):
        q = start.copy()
        q[closure.independent] += random.uniform(-_AROUND, _AROUND, len(closure.independent))
        q[leader] = random.uniform(low, high)
        try:
            found.append(closure.close(q, given=closure.independent, near=start))
        except LoopError:
            continue
    return np.array(found)


def _nearby(closure: LoopClosure, start: Array) -> Iterator[Array]:
    random = np.random.default_rng(3)
    for scale in (0.05, 0.1, 0.2):
        q = start.copy()
        q[closure.independent] += scale * random.uniform(-1.0, 1.0, len(closure.independent))
        try:
            yield closure.close(q, near=start)
        except LoopError:
            continue


def _range(link: Link, start: float) -> tuple[float, float]:
    """Return the positions to look at: the joint's range, or a turn; of a slider 1 m each way."""
    reach = pi if link.joint.type is JointType.REVOLUTE else 1.0
    lower, upper = link.joint.position_limits
    low, high = max(lower, start - 2.0 * reach), min(upper, start + 2.0 * reach)
    if not np.isfinite(lower):
        low = start - reach
    if not np.isfinite(upper):
        high = start + reach
    return (low, high) if low <= start <= high else (start - reach, start + reach)
