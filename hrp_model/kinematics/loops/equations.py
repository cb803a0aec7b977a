"""The equations of closed loops without dimension, and the ways to solve them."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from ...rigid import Array
from .constraints import HUGE, LoopConstraints

Mask = NDArray[np.bool_]

CLOSED = 1e-11  # largest residual of a closed loop, relative to its size
_DEPENDENT = 1e-6  # a smaller share of anything is a matter of rounded numbers in a model
_TINY = 1e-9  # singular values, relative to the largest, that are no more than rounding
_STILL = 1e-13  # a step that need not be taken any more
_TRUSTED = 0.25  # largest first correction, relative to the mechanism or in [rad]
_STRIDE = 0.5  # largest first step towards a target
_STEPS = 2000  # at most, towards a target
_TURNS = 4  # more of them are no way to go
_SHORTEST = 1e-5  # when to give up
_LEVEL = 1e-14  # a smaller share of a decrease is the end of the way down
_PUSH = 0.3  # out of a posture where the loops pull at nothing


class LoopEquations:
    """Residuals of loops, scaled by the size of the mechanism.

    x is the positions of the loops' joints, those of sliding ones divided by the size. Of the
    rows of each loop only those combinations are kept that some joint can change.

    Attributes:
        size: Longest arm that a joint moves an end of a loop by, in [m].

    Args:
        constraints: What to solve.
        sliding: Which of their joints are prismatic, shape (m,).
    """

    def __init__(self, constraints: LoopConstraints, sliding: Mask) -> None:
        self._constraints = constraints
        random = np.random.default_rng(0)
        initial = constraints.initial
        samples = [
            constraints.evaluate(initial + random.normal(size=initial.shape))[1] for _ in range(6)
        ]
        stacked = np.concatenate(samples, axis=1)
        turning = np.tile(~sliding, len(samples))
        arms = stacked[constraints.lengths][:, turning]
        self.size = float(np.abs(arms).max(initial=0.0)) or 1.0
        self._turning = ~sliding
        self._unit = np.where(sliding, self.size, 1.0)
        rows = np.where(constraints.lengths, 1.0 / self.size, 1.0)
        columns = np.tile(self._unit, len(samples))
        kept = _changing(rows[:, None] * stacked * columns, constraints.rows)
        self._kept, self._back = kept * rows, kept.T / rows[:, None]

    def scaled(self, q: Array) -> Array:
        """Return x of positions in [rad] and [m]."""
        return q / self._unit

    def unscaled(self, x: Array) -> Array:
        """Return positions in [rad] and [m]."""
        return x * self._unit

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """Return the residual, shape (k,), and its Jacobian, shape (k, m)."""
        return self._evaluate(x)[:2]

    def _evaluate(self, x: Array) -> tuple[Array, Array, Array]:
        residual, jacobian, matrices = self._constraints.evaluate(x * self._unit)
        return self._kept @ residual, self._kept @ jacobian * self._unit, matrices

    def jacobian(self, x: Array) -> Array:
        """Return the Jacobian, shape (k, m)."""
        return self.evaluate(x)[1]

    def changing(self, residual: Array) -> Array:
        """Return the part of the constraints' residual that joints can change, in [m] and [rad]."""
        return np.asarray(self._back @ (self._kept @ residual))

    def is_closed(self, x: Array) -> bool:
        """Whether the equations hold, no axis the wrong way round."""
        residual, upright = self._constraints.check(x * self._unit)
        return bool(upright.all()) and _largest(self._kept @ residual) <= CLOSED

    def free_direction(self, x: Array, random: np.random.Generator) -> Array:
        """Return a random unit step that keeps loops closed, to the first order."""
        _, s, Vt = np.linalg.svd(self.jacobian(x))
        free = Vt[int((s > _DEPENDENT).sum()) :]
        step = free.T @ random.normal(size=len(free))
        return np.asarray(step / (np.linalg.norm(step) or 1.0))

    def slopes(self, x: Array, moved: Mask) -> Array:
        """Return the derivatives of the moved joints' positions by those of the others."""
        J = self.jacobian(x)
        slopes = -_solved(J[:, moved], J[:, ~moved])
        return self._unit[moved][:, None] * slopes / self._unit[~moved]

    def corrected(self, x: Array, moved: Mask) -> Array | None:
        """Return the solution next to x by Gauss and Newton, or None if x is too far from one.

        No axis is the wrong way round in it.

        The steps must shrink as they do near a solution (P. Deuflhard, "Newton Methods for
        Nonlinear Problems", Springer 2011, section 2.1): another one is never jumped to.
        """
        x = x.copy()
        columns = np.flatnonzero(moved)
        last = 2.0 * _TRUSTED
        for _ in range(12):
            residual, J, matrices = self._evaluate(x)
            error = _largest(residual)
            if not error < HUGE:
                return None
            J = J.take(columns, axis=1)
            step, _, rank, s = np.linalg.lstsq(J, -residual, rcond=_TINY)
            length = sqrt(step @ step)
            if length > 0.5 * last:
                break
            x[columns] += step
            # The next step would be about the square of this one over the smallest singular
            # value, as no equation without dimension bends more than about one.
            if length * length <= _STILL * (s[rank - 1] if rank else 1.0):
                error = _largest(residual + J @ step)
                break
            last = length
        closed = error <= CLOSED and self._constraints.upright(matrices).all()
        return x if closed else None

    def followed(self, start: Array, target: Array, moved: Mask, rank: int = 0) -> Array | None:
        """Return the solution at the target that is joined to one at the start.

        Predictor and corrector along the straight way of the joints that are not moved. Each
        prediction follows the tangent, so that a way goes straight on where two cross, as
        those of a parallelogram and of its crossed twin do when it is flat. Right on the
        crossing, where there is no one tangent, the last one tells where straight on is.

        Of many turns of a joint all but the last part is left out.

        Args:
            start: A solution.
            target: Where those joints shall be that are not moved.
            moved: The joints to solve for.
            rank: What the rank of their equations is at least where no ways cross.

        Returns:
            None if the way ends before the target, or ways cross at the start.
        """
        columns, whole = np.flatnonzero(moved), target - start
        whole[columns] = 0.0
        straight = whole
        if sqrt(whole @ whole) > _TURNS * pi:
            turns = np.round(whole / (2.0 * pi))
            left_out = self._turning & (np.abs(turns) > _TURNS)
            whole = whole - np.where(left_out, 2.0 * pi * turns, 0.0)
        distance = sqrt(whole @ whole)
        if not distance < HUGE:
            return None
        x, done, direction = start, 0.0, whole
        share = 1.0 if distance <= _STRIDE else _STRIDE / distance
        for _ in range(_STEPS):
            J = self.jacobian(x)
            tangent, _, _, s = np.linalg.lstsq(J.take(columns, axis=1), J @ whole, rcond=_TINY)
            found = int((s > _DEPENDENT).sum())
            if found >= rank:
                rank, direction = found, whole.copy()
                direction[columns] = -tangent
            elif done == 0.0:
                return None
            share = min(share, 1.0 - done)
            y, growth = self.corrected(x + share * direction, moved), 2.0
            while y is None:
                share *= 0.5
                growth = 0.5  # what was too far is too far from there as well
                if share * distance < _SHORTEST:
                    return None
                y = self.corrected(x + share * direction, moved)
            x, done, share = y, done + share, growth * share
            if done >= 1.0:
                end = target.copy()
                end[columns] = x[columns]
                return end if whole is straight else self.corrected(end, moved)
        return None

    def settled(self, x: Array, moved: Mask, pushes: int = 4) -> Array:
        """Return the x that misses least, by damped least squares.

        K. Levenberg, "A method for the solution of certain non-linear problems in least
        squares", 1944. A start where the loops pull at nothing, say stretched out, is left by
        small pushes.
        """
        if not moved.any() or not self._miss(x) < HUGE:
            return x
        best, random = self._descended(x, moved), np.random.default_rng(0)
        for _ in range(pushes):
            if self.is_closed(best):
                break
            pushed = np.where(moved, best + _PUSH * random.normal(size=len(x)), best)
            other = self._descended(pushed, moved)
            if self.is_closed(other) or self._miss(other) < 0.5 * self._miss(best):
                best = other
        return best

    def _descended(self, x: Array, moved: Mask) -> Array:
        """Return where the way down from x ends.

        The damping follows K. Madsen, H. B. Nielsen, O. Tingleff, "Methods for Non-Linear Least
        Squares Problems", 2004, algorithm 3.16.
        """
        columns = np.flatnonzero(moved)
        damping, growth, eye = 1e-3, 2.0, np.eye(len(columns))
        residual, J = self.evaluate(x)
        error = float(residual @ residual)
        for _ in range(100):
            J_m = J.take(columns, axis=1)
            gradient, A = J_m.T @ residual, J_m.T @ J_m
            pull = damping * max(1.0, float(A.diagonal().max()))  # never lost in rounding
            step = np.linalg.solve(A + pull * eye, -gradient)
            length = sqrt(step @ step)
            step *= min(1.0, 1.0 / max(length, _STILL))
            y = x.copy()
            y[columns] += step
            new_residual, new_J = self.evaluate(y)
            new_error = float(new_residual @ new_residual)
            decrease = error - new_error
            if decrease > 0.0:
                ratio = decrease / float(step @ (pull * step - gradient))
                damping *= max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3)
                damping, growth = max(damping, 1e-12), 2.0
                x, residual, J, error = y, new_residual, new_J, new_error
                if decrease < _LEVEL * error:
                    break
            else:
                damping, growth = damping * growth, 2.0 * growth
            if length < 1e-9 or damping > 1e6:
                break
        polished = self.corrected(x, moved)
        return x if polished is None else polished

    def _miss(self, x: Array) -> float:
        return _largest(self._kept @ self._constraints.residual(x * self._unit))


def independent_columns(matrix: Array, order: Sequence[int]) -> list[int]:
    """Return the first columns, in this order, that span all columns."""
    basis = np.zeros((0, matrix.shape[0]))
    chosen = []
    for column in order:
        vector = matrix[:, column]
        for _ in range(2):  # twice is enough to be orthogonal
            vector = vector - basis.T @ (basis @ vector)
        length = np.linalg.norm(vector)
        if length > _DEPENDENT:
            chosen.append(column)
            basis = np.vstack([basis, vector / length])
    return chosen


def _largest(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


def _solved(A: Array, b: Array) -> Array:
    """Return the smallest x that makes A x - b smallest."""
    return np.asarray(np.linalg.lstsq(A, b, rcond=_TINY)[0])


def _changing(jacobians: Array, counts: Sequence[int]) -> Array:
    """Return, for each loop, orthonormal combinations of rows that are not always zero.

    Args:
        jacobians: Rows of all loops, columns of all joints in several postures.
        counts: Number of rows of each loop.
    """
    kept, start = [], 0
    for count in counts:
        rows = slice(start, start + count)
        U, s, _ = np.linalg.svd(jacobians[rows], full_matrices=False)
        combinations = U[:, s > _DEPENDENT * max(float(s.max(initial=0.0)), _DEPENDENT)].T
        padded = np.zeros((len(combinations), len(jacobians)))
        padded[:, rows] = combinations
        kept.append(padded)
        start += count
    return np.concatenate([np.zeros((0, len(jacobians))), *kept])
