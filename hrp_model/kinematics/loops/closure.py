"""Postures in which closed loops are closed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import degrees, pi
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...body import Body, ExtraJoint, JointType
from ...rigid import Array
from .constraints import LoopConstraints, loop_name
from .equations import LoopEquations, independent_columns
from .relative_poses import Indices

if TYPE_CHECKING:
    from ...body import Link

_NAMED = 6  # joints that a message tells the positions of
_ELSEWHERE = 4  # starts of searches for other postures
_FAR = 0.1  # relative to the mechanism: how far to look for a posture that is not singular


class Miss(NamedTuple):
    """How far a loop is open.

    Attributes:
        length: In [m].
        angle: In [rad].
    """

    length: float
    angle: float

    def __str__(self) -> str:
        length, angle = self
        shown = f"{length:.4g} m" if length >= 1.0 else f"{1e3 * length:.4g} mm"
        parts = [shown] if length > 1e-9 or angle <= 1e-9 else []
        parts += [f"{degrees(angle):.3g} degrees"] if angle > 1e-9 else []
        return " and ".join(parts)


class LoopError(ValueError):
    """Loops cannot be closed; the message says which one, where, and by how much.

    Attributes:
        q: The posture that comes closest, shape (n,).
    """

    def __init__(self, message: str, q: Array) -> None:
        super().__init__(message)
        self.q = q


class LoopClosure:
    """Closes the loops that extra joints make in a body.

    Of the joints round the loops as many depend on the others as the loops take away freedom.
    Which ones is a choice: joints without an id come before those with one, and later ones
    before earlier ones, so that the joints that are driven stay independent.

    What no joint can change is no matter of closing: the distance along the common axis of a
    planar four-bar is as the model has it, and ``gaps`` tells where it is not zero.

    Attributes:
        body: The model.
        extra_joints: The constraints that make the loops.
        ends: Pose of each extra joint's frame J in link A, and in link B when it holds.
        axes: The axis of each extra joint, expressed in its frame J.
        joints: Joints round the loops, as elements of the joint vector, shape (m,).
        dependent: Those of them that follow from the others.
        independent: The others; as many as the loops have degrees of freedom.
        size: Longest arm that a joint moves an end of a loop by, in [m].
        assembled: Joint vector nearest to the model's initial posture with all loops closed, by
            the dependent joints if possible, shape (n,).
        closes: Whether they are closed there; no other posture closes them if not.
        regular: Postures in which the dependent joints follow surely: ``assembled``, or some
            about it if two ways of moving meet there.

    Args:
        body: The model.
        extra_joints: Some of its extra joints; by default all.
        prefer: Names of links whose joints shall be independent before any others.

    Raises:
        KeyError: An extra joint names a link that is none.
        ValueError: A number is not finite, or larger than any mechanism, or an axis is zero.
    """

    def __init__(
        self,
        body: Body,
        extra_joints: Sequence[ExtraJoint] | None = None,
        prefer: Iterable[str] = (),
    ) -> None:
        self.body = body
        self._constraints = LoopConstraints(body, extra_joints)
        self.extra_joints = self._constraints.extra_joints
        self.ends, self.axes = self._constraints.ends, self._constraints.axes
        self.joints = self._constraints.joints
        self._elements = self.joints.tolist()
        self._links = [body.moving_links[i] for i in self.joints]
        sliding = np.array([x.joint.type is JointType.PRISMATIC for x in self._links], dtype=bool)
        self._equations = LoopEquations(self._constraints, sliding)
        self._sums = self._constraints.sums()
        self.size = self._equations.size
        everything = np.ones(len(self.joints), dtype=bool)
        initial = self._equations.scaled(self._constraints.initial)
        x = self._equations.settled(initial, everything)
        regular = self._regular_postures(x)
        preferred = np.isin([link.name for link in self._links], list(prefer))
        self._moved = self._dependent(regular, preferred)
        if (preferred & self._moved).any() and (~preferred & ~self._moved).any():
            regular += self._postures_elsewhere(x)
            self._moved = self._dependent(regular, preferred)
        self.dependent: Indices = self.joints[self._moved]
        self.independent: Indices = self.joints[~self._moved]
        if self._equations.is_closed(x):
            held = self._equations.followed(x, initial, self._moved)
            x = x if held is None else held
        self.closes = self._equations.is_closed(x)
        rest = np.array([link.joint.initial for link in body.moving_links])
        self.assembled = self._whole(x, rest, everything)
        starts = [x] if self._is_regular(x) else [y for y in regular if self._is_regular(y)]
        self.regular = tuple(self._whole(y, rest, everything) for y in starts)

    def residual(self, q: Array) -> Array:
        """Return what the extra joints miss, in [m] and [rad], shape (r,).

        Args:
            q: Joint positions, shape (n,).

        Returns:
            The rows of one extra joint after the other; see ``LoopConstraints``.
        """
        return self._constraints.residual(q[self.joints])

    def jacobian(self, q: Array) -> Array:
        """Return the derivative of ``residual`` by the joint positions, shape (r, n)."""
        J = np.zeros((sum(self._constraints.rows), len(q)))
        J[:, self.joints] = self._constraints.evaluate(q[self.joints])[1]
        return J

    def slopes(self, q: Array) -> Array:
        """Return how the dependent joints follow the independent ones at a closed posture.

        Returns:
            Derivatives, one row per element of ``dependent`` and one column per element of
            ``independent``; also the velocities of the ones, multiplied by those of the others.
        """
        return self._equations.slopes(self._equations.scaled(q[self.joints]), self._moved)

    @np.errstate(over="ignore", invalid="ignore")  # such positions are out of reach
    def close(
        self, q: Array, given: Iterable[int] | None = None, near: Array | None = None
    ) -> Array:
        """Return a joint vector that closes the loops.

        The loops stay assembled the way they are: given joints move to where they shall be in
        steps so small that no other solution is mistaken for theirs. Only where that way is
        blocked is another sought.

        Args:
            q: Joint positions, shape (n,); those that are not given are a first guess.
            given: Joints that keep their positions, as elements of ``q``; by default all but
                the dependent ones. If they leave some freedom, the others move little.
            near: A posture with closed loops to begin at. By default ``q`` itself if the
                loops are nearly closed there, else ``assembled``.

        Returns:
            As ``q``, but for the joints that are not given.

        Raises:
            LoopError: No posture was found; it holds the one that misses least.
        """
        moved = self._moved
        if given is not None:
            kept = set(given)
            moved = np.array([i not in kept for i in self._elements], dtype=bool)
        equations = self._equations
        target = equations.scaled(q[self.joints])
        x = equations.corrected(target, moved) if near is None else None
        if x is not None:
            return self._whole(x, q, moved)
        starts = [self.assembled if near is None else near, *self.regular[:1]]
        begins = [equations.scaled(start[self.joints]) for start in starts]
        usual = moved is self._moved or np.array_equal(moved, self._moved)
        rank = len(self.dependent) if usual else 0
        ways = (equations.followed(begin, target, moved, rank) for begin in begins)
        x = next((way for way in ways if way is not None), None)
        if x is not None:
            return self._whole(x, q, moved)
        x = equations.settled(np.where(moved, begins[0], target), moved, pushes=1)
        closed = self._whole(x, q, moved)
        if not equations.is_closed(x):
            raise LoopError(self._complaint(x, closed, moved), closed)
        return closed

    def misses(self, q: Array) -> list[Miss]:
        """Return how far each extra joint is open, but for what no joint can change.

        Args:
            q: Joint positions, shape (n,).
        """
        residual, upright = self._constraints.check(q[self.joints])
        misses = self._misses(self._equations.changing(residual))
        return [
            miss if way else Miss(miss.length, pi)
            for miss, way in zip(misses, upright, strict=True)
        ]

    def where(self, q: Array, joints: Collection[int]) -> str:
        """Return the positions of joints in words.

        Args:
            q: Joint positions, shape (n,).
            joints: Elements of it; of those that are round the loops the first few are told.
        """
        told = [
            f"{link.joint.name} = {_position(link, q[i])}"
            for i, link in zip(self._elements, self._links, strict=True)
            if i in joints
        ]
        return ", ".join(told[:_NAMED] + ["..."] * (len(told) > _NAMED))

    def gaps(self, tolerance: float = 1e-6) -> list[str]:
        """Return a sentence for each loop that is open by more than this in ``assembled``.

        Args:
            tolerance: In [m] and [rad].
        """
        residual = self.residual(self.assembled)
        sentences = []
        for joint, miss in zip(self.extra_joints, self._misses(residual), strict=True):
            if max(miss) > tolerance:
                what = "in every posture" if self.closes else "and no posture closes it"
                sentences.append(f"the loop '{loop_name(joint)}' is open by {miss} {what}")
        return sentences

    def _whole(self, x: Array, q: Array, moved: NDArray[np.bool_]) -> Array:
        whole = np.array(q, dtype=np.float64)
        whole[self.joints[moved]] = self._equations.unscaled(x)[moved]
        return whole

    def _regular_postures(self, x: Array) -> list[Array]:
        """Return a posture, and closed ones about it if there are.

        A model is often drawn in a special posture, say folded flat, where the equations
        depend on one another as they do nowhere else.
        """
        equations = self._equations
        if not equations.is_closed(x):
            return [x]
        random = np.random.default_rng(0)
        found = [x]
        for _ in range(4):
            step = equations.free_direction(x, random)
            y = equations.corrected(x + _FAR * step, np.ones(len(x), dtype=bool))
            if y is not None and equations.is_closed(y):
                found.append(y)
        return found

    def _postures_elsewhere(self, x: Array) -> list[Array]:
        """Return closed postures far from one.

        Two ways of moving may meet in the posture that a model is drawn in, and what the joints
        do on the one way says nothing about the other.
        """
        random, everything = np.random.default_rng(0), np.ones(len(x), dtype=bool)
        starts = (x + random.normal(size=len(x)) for _ in range(_ELSEWHERE))
        found = (self._equations.settled(start, everything, pushes=0) for start in starts)
        return [y for y in found if self._equations.is_closed(y)]

    def _is_regular(self, x: Array) -> bool:
        """Whether the dependent joints follow the others surely."""
        J = self._equations.jacobian(x)[:, self._moved]
        count = int(J.shape[1])
        return len(independent_columns(J, range(count))) == count

    def _dependent(self, postures: list[Array], preferred: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Choose the dependent joints: the first columns that span the equations.

        In special postures a column may fail that does well elsewhere.
        """
        # Joints with ids come first in every joint vector.
        order = sorted(range(len(self.joints)), key=lambda i: (preferred[i], -i))
        bases = [independent_columns(self._equations.jacobian(x), order) for x in postures]
        rank = max(map(len, bases))
        chosen = min((x for x in bases if len(x) == rank), key=lambda x: [*map(order.index, x)])
        moved = np.zeros(len(order), dtype=bool)
        moved[chosen] = True
        return moved

    def _misses(self, residual: Array) -> list[Miss]:
        """Return how far each extra joint is off."""
        squares = self._sums @ (residual * residual)
        return list(map(Miss, *np.sqrt(squares).tolist()))

    def _complaint(self, x: Array, whole: Array, moved: NDArray[np.bool_]) -> str:
        residual, upright = self._constraints.check(self._equations.unscaled(x))
        misses = self._misses(residual)
        worst = max(range(len(misses)), key=lambda i: (not upright[i], max(misses[i])))
        name = loop_name(self.extra_joints[worst])
        where = self.where(whole, self.joints[~moved].tolist())
        at = f" at {where}" if where else ""
        if not upright.all():
            return f"the loop '{name}' cannot close{at}: its axis would point backwards"
        return f"the loop '{name}' cannot close{at}: off by {misses[worst]}"


def _position(link: Link, q: float) -> str:
    return f"{q:.4g} {link.joint.type.units.position}"
