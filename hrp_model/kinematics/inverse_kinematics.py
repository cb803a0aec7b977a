"""Inverse kinematics of a chain of joints: damped least squares within joint limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..rigid import Array

if TYPE_CHECKING:
    from collections.abc import Callable

# Steps in a row that hardly help: an attempt is in a local minimum, or the goal out of reach.
_PATIENCE = 5


@dataclass(frozen=True)
class Goal:
    """What the target is to reach.

    Attributes:
        p: Position in the world in [m], shape (3,).
        R: Rotation, shape (3, 3); None if any will do.
        tolerance: Largest distance in [m] and largest angle in [rad] that count as reached.
    """

    p: Array
    R: Array | None
    tolerance: float

    def error(self, T: Array) -> Array:
        """Return how to move and to turn to the goal, in world axes, shape (6,) or (3,)."""
        move = self.p - T[:3, 3]
        if self.R is None:
            return np.asarray(move)
        return np.concatenate([move, rotation_vector(self.R @ T[:3, :3].T)])

    def is_reached(self, error: Array) -> bool:
        """Whether an error is within the tolerance."""
        lengths = np.linalg.norm(error.reshape(-1, 3), axis=1)
        return bool((lengths <= self.tolerance).all())


@dataclass(frozen=True, eq=False)
class IkResult:
    """How inverse kinematics ended; true if it converged.

    Attributes:
        converged: Whether the goal was reached.
        position_error: Distance left in [m].
        rotation_error: Angle left in [rad]; 0 if no rotation was asked for.
        iterations: Steps taken, in all attempts together.
        q: The joint positions found, in the order of the path, shape (n,): the nearest to
            the goal if it was not reached.
    """

    converged: bool
    position_error: float
    rotation_error: float
    iterations: int
    q: Array

    def __bool__(self) -> bool:
        return self.converged


@dataclass(frozen=True, eq=False)
class Problem:
    """A chain and its goal.

    Attributes:
        place: Gives the target's pose (4, 4) and Jacobian (6, n) at joint positions.
        goal: What to reach.
        lower, upper: Ranges of the joints, shape (n,).
        max_iterations: Steps of one attempt.
    """

    place: Callable[[Array], tuple[Array, Array]]
    goal: Goal
    lower: Array
    upper: Array
    max_iterations: int


def solve(problem: Problem, q: Array, restarts: int) -> IkResult:
    """Return joint positions that reach the goal, near ``q`` if there are any.

    An attempt that gets stuck, at a limit, stretched out or in a local minimum, is followed
    by others that start from random positions within the joints' ranges, of an endless range
    up to half a turn away. Always the same ones, so that equal questions have equal answers.
    """
    rng = np.random.default_rng(0)
    start = np.clip(q, problem.lower, problem.upper)
    spans = np.minimum(problem.upper - problem.lower, 2.0 * np.pi)
    least = np.clip(start - spans / 2.0, problem.lower, problem.upper - spans)
    best = _attempt(problem, start)
    steps = best.iterations
    for _ in range(restarts):
        if best.converged or not len(q):
            break
        anywhere = least + spans * rng.random(len(q))
        found = _attempt(problem, np.clip(anywhere, problem.lower, problem.upper))
        steps += found.iterations
        if found.converged or _total(found) < _total(best):
            best = found
    return IkResult(best.converged, best.position_error, best.rotation_error, steps, best.q)


def _attempt(problem: Problem, q: Array) -> IkResult:
    """Descend by Levenberg-Marquardt steps, projected into the joints' ranges.

    The damping follows the squared error, as T. Sugihara, "Solvability-unconcerned inverse
    kinematics by the Levenberg-Marquardt method", IEEE T-RO 27 (2011), proposes: it vanishes
    at a solution, where convergence is quadratic. It grows while a step makes the error worse.
    """
    goal, damping, smallest = problem.goal, 1.0, 1e-12
    T, J = problem.place(q)
    error = goal.error(T)
    taken = slow = 0
    while taken < problem.max_iterations and slow < _PATIENCE and not goal.is_reached(error):
        taken += 1
        step = _step(J[: len(error)], error, q, problem, damping * float(error @ error) + smallest)
        trial = np.clip(q + step, problem.lower, problem.upper)
        T, trial_J = problem.place(trial)
        trial_error = goal.error(T)
        before, after = error @ error, trial_error @ trial_error
        slow = slow + 1 if after > 0.95 * before else 0
        if after < before:
            q, J, error, damping = trial, trial_J, trial_error, max(damping / 4.0, 1e-3)
        else:
            damping *= 8.0
    lengths = np.linalg.norm(error.reshape(-1, 3), axis=1)
    turn = float(lengths[1]) if len(lengths) > 1 else 0.0
    return IkResult(goal.is_reached(error), float(lengths[0]), turn, taken, q)


def _step(J: Array, error: Array, q: Array, problem: Problem, damping: float) -> Array:
    """Return the damped step that stays within the joints' ranges, shape (n,).

    A joint that would leave its range goes to its limit, and the others make up for it.
    """
    least, most = problem.lower - q, problem.upper - q
    slope = J.T @ error
    free = ~(((least >= 0.0) & (slope < 0.0)) | ((most <= 0.0) & (slope > 0.0)))
    step = np.zeros(len(q))
    while free.any():
        part = J[:, free]
        A = part.T @ part + damping * np.eye(part.shape[1])
        step[free] = np.linalg.solve(A, part.T @ (error - J[:, ~free] @ step[~free]))
        beyond = free & ((step < least) | (step > most))
        if not beyond.any():
            break
        step = np.clip(step, least, most)
        free &= ~beyond
    return step


def _total(result: IkResult) -> float:
    return result.position_error**2 + result.rotation_error**2


def rotation_vector(R: Array) -> Array:
    """Return axis times angle of a rotation in [rad], shape (3,); the angle is at most pi."""
    twice_sine = (R - R.T)[[2, 0, 1], [1, 2, 0]]
    sine, cosine = np.linalg.norm(twice_sine) / 2.0, (np.trace(R) - 1.0) / 2.0
    angle = np.arctan2(sine, cosine)
    if cosine > 0.0 or sine > 1e-6:
        return np.asarray(twice_sine * (angle / (2.0 * sine) if sine > 0.0 else 0.5))
    # Half a turn: R + E is twice the square a a^T of the axis.
    square = R + R.T + 2.0 * np.eye(3)
    axis = square[:, np.argmax(np.diag(square))]
    axis = axis / np.linalg.norm(axis)
    return np.asarray(angle * (axis if axis @ twice_sine >= 0.0 else -axis))
