"""Mimic joints: those that the model declares, and those that closed loops imply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from math import pi
from weakref import WeakKeyDictionary

import numpy as np

from ...body import Body, ExtraJoint, JointType, Link, Mimic
from ...rigid import Array
from .closure import LoopClosure, LoopError
from .constraints import loop_joints

_MAX_ERROR = 1e-9  # of a relation, in [rad] or [m]
_SAMPLES = 12  # to either side of the initial posture
_CHECKS = 6  # random postures in which a relation is checked
_CHECK_RANGE = 0.3  # of the other independent joints in checks, in [rad] or [m]

_CACHE: WeakKeyDictionary[Body, dict[str, Mimic]] = WeakKeyDictionary()


def loop_groups(body: Body) -> list[tuple[ExtraJoint, ...]]:
    """Return the extra joints of a body in groups whose loops share joints."""
    groups: list[tuple[set[int], list[ExtraJoint]]] = []
    for joint in body.extra_joints:
        moved = set(loop_joints(body, joint))
        touching = [group for group in groups if moved & group[0]]
        groups = [group for group in groups if not moved & group[0]]
        members = [*(x for _, some in touching for x in some), joint]
        groups.append((moved.union(*(joints for joints, _ in touching)), members))
    return [tuple(members) for _, members in groups]


def loop_closures(body: Body) -> tuple[list[LoopClosure], list[str]]:
    """Return a closure for each group of loops, and a message for each invalid group."""
    closures, problems = [], []
    for group in loop_groups(body):
        try:
            closures.append(LoopClosure(body, group))
        except ValueError as error:  # noqa: PERF203 (few loops)
            problems.append(str(error))
    return closures, problems


def _moving_closures(body: Body) -> Iterator[LoopClosure]:
    """Yield closures of loops with joints: a model may have a thousand without any."""
    for group in loop_groups(body):
        if any(loop_joints(body, joint) for joint in group):
            with suppress(ValueError):
                yield LoopClosure(body, group)


def mimic_joints(body: Body, closures: Iterable[LoopClosure] | None = None) -> dict[str, Mimic]:
    """Return the joints whose positions are linear functions of another joint's.

    They are declared by the model or implied by closed loops, such as parallelograms and
    pantographs. The latter are found by moving the loops through the range of the leading joint,
    and hold to 1e-9 everywhere. A joint that follows nonlinearly, or follows several joints, is
    not a mimic joint.

    Args:
        body: The model.
        closures: Those of ``loop_closures(body)``, if already computed.

    Returns:
        By the name of the follower's link, in the order of ``body.moving_links``. No leading
        joint follows another.
    """
    declared = {x.name: x.joint.mimic for x in body.moving_links if x.joint.mimic is not None}
    if not body.extra_joints:
        return declared
    cached = _CACHE.get(body)
    if cached is None:
        mimics: dict[str, Mimic] = {}
        for closure in _moving_closures(body) if closures is None else closures:
            mimics |= _mimics(closure)
        mimics |= declared
        cached = {x.name: mimics[x.name] for x in body.moving_links if x.name in mimics}
        _CACHE[body] = cached
    return dict(cached)


def _mimics(closure: LoopClosure) -> Mapping[str, Mimic]:
    if not closure.closes:
        return {}
    mimics: dict[str, Mimic] = {}
    for start in closure.regular:
        mimics = dict(_relations(closure, start))
        if mimics:  # folded flat, the same bars form a parallelogram and a crossed one
            break
    return mimics


def _relations(closure: LoopClosure, start: Array) -> Iterator[tuple[str, Mimic]]:
    """Yield the linear relations that hold on the branch of a posture."""
    links = closure.body.moving_links
    slopes = np.array([closure.slopes(q) for q in (start, *_nearby(closure, start))])
    leads = np.abs(slopes).max(axis=0) > _MAX_ERROR
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
    """Return a line fitted to samples, with round numbers where these are within rounding."""
    if np.ptp(x) < 1e-3:
        return None
    multiplier, offset = np.polyfit(x, y, 1)
    return Mimic(leader, _round(multiplier), _round(offset))


def _round(value: float) -> float:
    short = round(float(value), 9)
    return short + 0.0 if abs(short - value) < 1e-11 else float(value)


def _holds(mimic: Mimic, postures: Array, leader: int, follower: int) -> bool:
    expected = mimic.multiplier * postures[:, leader] + mimic.offset
    return bool(np.abs(expected - postures[:, follower]).max() < _MAX_ERROR)


def _samples(closure: LoopClosure, start: Array, leader: int) -> Array:
    """Return closed postures over the range of one joint, as far as the loops permit.

    Irregular steps avoid the singular posture in which a parallelogram is flat.
    """
    low, high = _range(closure.body.moving_links[leader], start[leader])
    random = np.random.default_rng(1)
    postures = [start]
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
            postures.append(near)
    return np.array(postures)


def _checks(closure: LoopClosure, start: Array, leader: int) -> Array:
    """Return random closed postures, with all independent joints moved."""
    random = np.random.default_rng(2)
    low, high = _range(closure.body.moving_links[leader], start[leader])
    postures = [start]
    for _ in range(_CHECKS):
        q = start.copy()
        size = len(closure.independent)
        q[closure.independent] += random.uniform(-_CHECK_RANGE, _CHECK_RANGE, size)
        q[leader] = random.uniform(low, high)
        try:
            postures.append(closure.close(q, given=closure.independent, near=start))
        except LoopError:
            continue
    return np.array(postures)


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
    """Return the positions to sample: the joint's limits, else half a turn or 1 m each way."""
    reach = pi if link.joint.type is JointType.REVOLUTE else 1.0
    lower, upper = link.joint.position_limits
    low, high = max(lower, start - 2.0 * reach), min(upper, start + 2.0 * reach)
    if not np.isfinite(lower):
        low = start - reach
    if not np.isfinite(upper):
        high = start + reach
    return (low, high) if low <= start <= high else (start - reach, start + reach)
