"""Dimensionless equations of closed loops, and their solvers."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from ...rigid import Array
from .constraints import HUGE, LoopConstraints

Mask = NDArray[np.bool_]

# Lengths are relative to the mechanism, angles in [rad].
CLOSED = 1e-11  # largest residual of a closed loop
_MODEL_ROUNDING = 1e-6  # relative: smaller values may be rounding of the numbers in a model
_RCOND = 1e-9  # smaller singular values, relative to the largest, are rounding errors
_CONVERGED_STEP = 1e-13  # Newton's method ends at such a step
_MAX_CORRECTION = 0.25  # largest first step of Newton's method
_MAX_STEP = 0.5  # largest first step of continuation
_MIN_STEP = 1e-5  # continuation gives up below this step
_MAX_STEPS = 2000  # of continuation
_MAX_TURNS = 4  # of a joint that continuation follows all the way
_MIN_DECREASE = 1e-14  # relative: least squares end at such a decrease
_PUSH = 0.3  # standard deviation of random moves out of a stationary posture


class LoopEquations:
    """Residuals of loops, scaled by the size of the mechanism.

    x are the positions of the loops' joints, those of prismatic ones divided by the size. Of the
    rows of each loop only those combinations are kept that some joint can change.

    Attributes:
        size: Longest lever arm of a joint on an end of a loop, in [m].

    Args:
        constraints: The equations to solve.
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
        """Return whether the equations hold with no axis reversed."""
        residual, upright = self._constraints.check(x * self._unit)
        return bool(upright.all()) and _largest(self._kept @ residual) <= CLOSED

    def free_direction(self, x: Array, random: np.random.Generator) -> Array:
        """Return a random unit step that keeps loops closed to first order."""
        _, s, Vt = np.linalg.svd(self.jacobian(x))
        free = Vt[int((s > _MODEL_ROUNDING).sum()) :]
        step = free.T @ random.normal(size=len(free))
        return np.asarray(step / (np.linalg.norm(step) or 1.0))

    def slopes(self, x: Array, moved: Mask) -> Array:
        """Return the derivatives of the moved joints' positions by those of the others."""
        J = self.jacobian(x)
        slopes = -_solved(J[:, moved], J[:, ~moved])
        return self._unit[moved][:, None] * slopes / self._unit[~moved]

    def corrected(self, x: Array, moved: Mask) -> Array | None:
        """Return the nearest solution by Gauss-Newton, or None if x is too far from one.

        No axis is reversed in it.

        The steps must shrink as they do near a solution (P. Deuflhard, "Newton Methods for
        Nonlinear Problems", Springer 2011, section 2.1), so it never jumps to another one.
        """
        x = x.copy()
        columns = np.flatnonzero(moved)
        last = 2.0 * _MAX_CORRECTION
        for _ in range(12):
            residual, J, matrices = self._evaluate(x)
            error = _largest(residual)
            if not error < HUGE:
                return None
            J = J.take(columns, axis=1)
            step, _, rank, s = np.linalg.lstsq(J, -residual, rcond=_RCOND)
            length = sqrt(step @ step)
            if length > 0.5 * last:
                break
            x[columns] += step
            # The next step would be about the square of this one over the smallest singular
            # value, as second derivatives of dimensionless equations are about one at most.
            if length * length <= _CONVERGED_STEP * (s[rank - 1] if rank else 1.0):
                error = _largest(residual + J @ step)
                break
            last = length
        closed = error <= CLOSED and self._constraints.upright(matrices).all()
        return x if closed else None

    def continued(self, start: Array, target: Array, moved: Mask, rank: int = 0) -> Array | None:
        """Return the solution at the target that is connected to one at the start.

        Predictor-corrector continuation along the straight line of the joints that are not
        moved. Each prediction follows the tangent, so the branch is kept where two cross, such
        as those of a parallelogram and a crossed one when it is flat. Exactly at a crossing,
        where the tangent is not unique, the previous one is used.

        If a joint makes many turns, whole turns are skipped.

        Args:
            start: A solution.
            target: Positions of the joints that are not moved.
            moved: The joints to solve for.
            rank: Minimum rank of their equations where no branches cross.

        Returns:
            None if the branch ends before the target, or branches cross at the start.
        """
        columns, whole = np.flatnonzero(moved), target - start
        whole[columns] = 0.0
        straight = whole
        if sqrt(whole @ whole) > _MAX_TURNS * pi:
            turns = np.round(whole / (2.0 * pi))
            skipped = self._turning & (np.abs(turns) > _MAX_TURNS)
            whole = whole - np.where(skipped, 2.0 * pi * turns, 0.0)
        distance = sqrt(whole @ whole)
        if not distance < HUGE:
            return None
        x, done, direction = start, 0.0, whole
        share = 1.0 if distance <= _MAX_STEP else _MAX_STEP / distance
        for _ in range(_MAX_STEPS):
            J = self.jacobian(x)
            tangent, _, _, s = np.linalg.lstsq(J.take(columns, axis=1), J @ whole, rcond=_RCOND)
            current_rank = int((s > _MODEL_ROUNDING).sum())
            if current_rank >= rank:
                rank, direction = current_rank, whole.copy()
                direction[columns] = -tangent
            elif done == 0.0:
                return None
            share = min(share, 1.0 - done)
            y, growth = self.corrected(x + share * direction, moved), 2.0
            while y is None:
                share *= 0.5
                growth = 0.5  # a step that was too long here is too long for the next one as well
                if share * distance < _MIN_STEP:
                    return None
                y = self.corrected(x + share * direction, moved)
            x, done, share = y, done + share, growth * share
            if done >= 1.0:
                end = target.copy()
                end[columns] = x[columns]
                return end if whole is straight else self.corrected(end, moved)
        return None

    def minimized(self, x: Array, moved: Mask, pushes: int = 4) -> Array:
        """Return the x with the smallest residual, by damped least squares.

        K. Levenberg, "A method for the solution of certain non-linear problems in least
        squares", 1944. Small random pushes leave stationary starts, such as stretched out.
        """
        if not moved.any() or not self._residual(x) < HUGE:
            return x
        best, random = self._local_minimum(x, moved), np.random.default_rng(0)
        for _ in range(pushes):
            if self.is_closed(best):
                break
            pushed = np.where(moved, best + _PUSH * random.normal(size=len(x)), best)
            other = self._local_minimum(pushed, moved)
            if self.is_closed(other) or self._residual(other) < 0.5 * self._residual(best):
                best = other
        return best

    def _local_minimum(self, x: Array, moved: Mask) -> Array:
        """Return the local minimum of the residual that is reached from x.

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
            step *= min(1.0, 1.0 / max(length, _CONVERGED_STEP))
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
                if decrease < _MIN_DECREASE * error:
                    break
            else:
                damping, growth = damping * growth, 2.0 * growth
            if length < 1e-9 or damping > 1e6:
                break
        polished = self.corrected(x, moved)
        return x if polished is None else polished

    def _residual(self, x: Array) -> float:
        """Return the largest residual."""
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
        if length > _MODEL_ROUNDING:
            chosen.append(column)
            basis = np.vstack([basis, vector / length])
    return chosen


def _largest(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


def _solved(A: Array, b: Array) -> Array:
    """Return the least-squares solution of A x = b with the smallest norm."""
    return np.asarray(np.linalg.lstsq(A, b, rcond=_RCOND)[0])


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
        threshold = _MODEL_ROUNDING * max(float(s.max(initial=0.0)), _MODEL_ROUNDING)
        combinations = U[:, s > threshold].T
        padded = np.zeros((len(combinations), len(jacobians)))
        padded[:, rows] = combinations
        kept.append(padded)
        start += count
    return np.concatenate([np.zeros((0, len(jacobians))), *kept])
