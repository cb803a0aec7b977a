"""Joint positions that nobody tells because they follow from others'. Knows no ROS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..body import Body
from ..kinematics.loops import Gap, LoopClosure, LoopError, Mimic, loop_closures, mimic_joints
from ..kinematics.loops.constraints import loop_name

if TYPE_CHECKING:
    from ..frames import BodyFrames

_MOST = 16  # closures kept for messages that know different joints
# How far encoders may be wrong: an angle, which opens a loop by so much of its longest arm, and
# a length, which is the least to allow.
_NOISE = Gap(length=1e-3, angle=1e-2)


class Completed(NamedTuple):
    """Joint positions with those that follow from them.

    Attributes:
        positions: By joint name, in [rad] or [m].
        problems: A sentence for loops that stay open by more than encoders may be wrong, as
            none can close them or as told positions contradict each other; the joints that
            follow are then as near as they can be.
        residual: How far any loop is open at most, but for what no joint can change.
    """

    positions: dict[str, float]
    problems: tuple[str, ...]
    residual: Gap


class ClosedLoops:
    """Works out the joints that a source of joint states leaves out.

    Sliders move independent joints only, and a robot may have no encoder on a passive joint.
    Positions that are told are used as they are; any joints round a loop may be the known
    ones. Loops stay assembled the way they were in the last call. Loops that have impossible
    numbers are left alone. A joint that follows another by the model's word follows it.

    Args:
        body: The robot; without loops and followers there is never anything to add.
        frames: What its joints are called.
    """

    def __init__(self, body: Body, frames: BodyFrames) -> None:
        closures, _ = loop_closures(body)
        mimics = mimic_joints(body, closures)
        self._loops = [_Loops(closure, frames, mimics) for closure in closures]
        told = ((link.name, link.joint.mimic) for link in body.moving_links)
        self._followers = [
            (frames.joints[name], frames.joints[mimic.link], mimic)
            for name, mimic in told
            if mimic is not None
        ]

    def complete(self, positions: Mapping[str, float]) -> Completed:
        """Return positions and, where leaders or joints round a loop are among them, what follows.

        Args:
            positions: By joint name, finite, in [rad] or [m]; other joints have not moved
                since they were last told or followed.
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
        problem: What is wrong in the last positions; empty if nothing is.
        residual: How far they are open in them.
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
        self._noise = Gap(max(_NOISE.length, _NOISE.angle * closure.size), _NOISE.angle)
        self.problem, self.residual = "", _largest(closure.gaps(self._posture))

    def complete(self, positions: dict[str, float]) -> None:
        """Add what follows from positions, if any of them are round these loops."""
        known = frozenset(i for i, name in self._names.items() if name in positions)
        if not known:
            return
        for i in known:
            self._posture[i] = positions[self._names[i]]
        closure, q = self._closure(known), self._posture
        followers = [i for i in closure.dependent.tolist() if i not in known]
        rest = []
        for i in followers:
            leader, mimic = self._mimics.get(i, (-1, None))
            if mimic is not None and leader in known:
                q[i] = mimic.position(q[leader])
            else:
                rest.append(i)
        problem = self._close(closure, rest) if rest else ""
        positions.update((self._names[i], float(q[i])) for i in followers)
        misses = closure.gaps(q)
        self.residual = worst = _largest(misses)
        if worst.length <= self._noise.length and worst.angle <= self._noise.angle:
            self.problem = ""
        else:
            miss, name = max(zip(misses, map(loop_name, self._extra_joints), strict=True))
            told = f"the loop '{name}' is open by {miss} at {closure.positions_text(q, known)}"
            self.problem = problem or f"{told}, which it does not allow"

    def _close(self, closure: LoopClosure, followers: list[int]) -> str:
        """Move joints to where they close the loops; return why they cannot, if so."""
        problem = ""
        try:
            q = self._closed = closure.close(self._posture, near=self._closed)
        except LoopError as error:
            q, problem = error.q, str(error)
        self._posture[followers] = q[followers]
        return problem

    def _closure(self, known: frozenset[int]) -> LoopClosure:
        """Return a closure in which known joints are independent as far as they can be."""
        if known not in self._closures:
            if len(self._closures) == _MOST:
                self._closures.clear()
            prefer = [self._links[i] for i in known]
            self._closures[known] = LoopClosure(self._body, self._extra_joints, prefer)
        return self._closures[known]


def _largest(misses: Iterable[Gap]) -> Gap:
    lengths, angles = zip(Gap(0.0, 0.0), *misses, strict=True)
    return Gap(max(lengths), max(angles))
