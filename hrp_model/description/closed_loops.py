"""Compute joint positions that are missing in joint states: mimic joints and closed loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..body import Body
from ..frames import BodyFrames
from ..kinematics.loops import Gap, LoopClosure, LoopError, Mimic, loop_closures, mimic_joints
from ..kinematics.loops.constraints import loop_name

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
