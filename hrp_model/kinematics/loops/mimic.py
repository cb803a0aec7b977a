"""Mimic joints, declared or implied by closed loops, and positions that follow from others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from math import pi
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ...body import Body, ExtraJoint, JointType, Link, Mimic
from ...frames import BodyFrames
from ...rigid import Array
from .closure import Gap, LoopClosure, LoopError
from .constraints import loop_joints, loop_name

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


_MAX_CLOSURES = 16  # cached for messages with different joints
# Gap caused by errors of encoders: an angle, which opens a loop by this fraction of its longest
# arm, and a minimum length.
_ENCODER_ERROR = Gap(length=1e-3, angle=1e-2)


class Completed(NamedTuple):
    """Joint positions with those that follow from them.

    Attributes:
        positions: By joint name, in [rad] or [m].
        problems: A sentence for each group of loops with a gap larger than encoder errors,
            because no posture closes them or the given positions contradict each other. The
            computed positions then minimise the gap.
        residual: Largest gap of any loop, without the part that no joint can change.
    """

    positions: dict[str, float]
    problems: tuple[str, ...]
    residual: Gap


class ClosedLoops:
    """Computes the positions of joints that joint states leave out.

    Sliders move independent joints only, and a robot may have no encoder on a passive joint.
    Given positions are used unchanged; they may be those of any joints in a loop. Loops keep
    the assembly mode of the last call. Loops with invalid numbers are ignored. Mimic joints of
    the model follow their leaders.

    Args:
        body: The robot; without loops and mimic joints nothing is ever added.
        frames: Names of its joints.
    """

    def __init__(self, body: Body, frames: BodyFrames) -> None:
        closures, _ = loop_closures(body)
        mimics = mimic_joints(body, closures)
        self._loops = [_Loops(closure, frames, mimics) for closure in closures]
        self._followers = [
            (frames.joints[link.name], frames.joints[link.joint.mimic.link], link.joint.mimic)
            for link in body.moving_links
            if link.joint.mimic is not None
        ]

    def __bool__(self) -> bool:
        """Return whether positions may follow from others."""
        return bool(self._loops or self._followers)

    def complete(self, positions: Mapping[str, float]) -> Completed:
        """Return the positions with those of the joints that follow from them.

        Args:
            positions: By joint name, finite, in [rad] or [m]; other joints of loops are assumed
                to keep their last positions.
        """
        completed = dict(positions)
        for follower, leader, mimic in self._followers:
            if leader in completed and follower not in completed:
                completed[follower] = mimic.position(completed[leader])
        for loops in self._loops:
            loops.complete(completed)
        return Completed(
            completed,
            tuple(loops.problem for loops in self._loops if loops.problem),
            _largest(loops.residual for loops in self._loops),
        )


class _Loops:
    """Loops that share joints.

    Attributes:
        problem: Why the loops are open in the last positions; empty if they are closed.
        residual: Their largest gap.
    """

    def __init__(
        self, closure: LoopClosure, frames: BodyFrames, mimics: Mapping[str, Mimic]
    ) -> None:
        body = self._body = closure.body
        self._extra_joints = closure.extra_joints
        links = [(int(i), body.moving_links[i]) for i in closure.joints]
        self._names = {i: frames.joints[link.name] for i, link in links}
        self._links = {i: link.name for i, link in links}
        index = {link.name: i for i, link in links}
        self._mimics = {
            i: (index[mimics[link.name].link], mimics[link.name])
            for i, link in links
            if link.name in mimics and mimics[link.name].link in index
        }
        self._closures = {frozenset[int](): closure}
        self._posture = closure.assembled.copy()
        self._closed = closure.assembled
        length = max(_ENCODER_ERROR.length, _ENCODER_ERROR.angle * closure.size)
        self._tolerance = Gap(length, _ENCODER_ERROR.angle)
        self.problem, self.residual = "", _largest(closure.gaps(self._posture))

    def complete(self, positions: dict[str, float]) -> None:
        """Add the positions that follow from those of joints in these loops."""
        known = frozenset(i for i, name in self._names.items() if name in positions)
        if not known:
            return
        for i in known:
            self._posture[i] = positions[self._names[i]]
        closure, q = self._closure(known), self._posture
        followers = [i for i in closure.dependent.tolist() if i not in known]
        others = []
        for i in followers:
            leader, mimic = self._mimics.get(i, (-1, None))
            if mimic is not None and leader in known:
                q[i] = mimic.position(q[leader])
            else:
                others.append(i)
        problem = self._close(closure, others) if others else ""
        positions.update((self._names[i], float(q[i])) for i in followers)
        gaps = closure.gaps(q)
        self.residual = largest = _largest(gaps)
        if largest.length <= self._tolerance.length and largest.angle <= self._tolerance.angle:
            self.problem = ""
        else:
            gap, name = max(zip(gaps, map(loop_name, self._extra_joints), strict=True))
            at = closure.positions_text(q, known)
            self.problem = problem or f"the loop '{name}' is open by {gap} at {at}"

    def _close(self, closure: LoopClosure, followers: list[int]) -> str:
        """Move joints so that the loops close; return the reason if that is impossible."""
        problem = ""
        try:
            q = self._closed = closure.close(self._posture, near=self._closed)
        except LoopError as error:
            q, problem = error.q, str(error)
        self._posture[followers] = q[followers]
        return problem

    def _closure(self, known: frozenset[int]) -> LoopClosure:
        """Return a closure in which known joints are independent as far as possible."""
        if known not in self._closures:
            if len(self._closures) == _MAX_CLOSURES:
                self._closures.clear()
            prefer = [self._links[i] for i in known]
            self._closures[known] = LoopClosure(self._body, self._extra_joints, prefer)
        return self._closures[known]


def _largest(gaps: Iterable[Gap]) -> Gap:
    lengths, angles = zip(Gap(0.0, 0.0), *gaps, strict=True)
    return Gap(max(lengths), max(angles))
