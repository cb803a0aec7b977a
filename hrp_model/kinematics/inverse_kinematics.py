"""Inverse kinematics of a chain of joints: damped least squares within joint limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..rigid import Array

# An attempt ends after this many steps in a row that hardly reduce the error: it is in a local
# minimum, or the goal is out of reach.
_MAX_SLOW_STEPS = 5


@dataclass(frozen=True)
class Goal:
    """Pose or position that the target is to reach.

    Attributes:
        p: Position in the world in [m], shape (3,).
        R: Rotation in the world, shape (3, 3); None for any.
        tolerance: Maximum error of the position in [m] and of the rotation in [rad].
    """

    p: Array
    R: Array | None
    tolerance: float

    def error(self, T: Array) -> Array:
        """Return translation and rotation to the goal, in world axes, shape (6,) or (3,)."""
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
    """Result of inverse kinematics; true if it converged.

    Attributes:
        converged: Whether the goal was reached.
        position_error: Remaining distance in [m].
        rotation_error: Remaining angle in [rad]; 0 if the goal has no rotation.
        iterations: Number of steps over all attempts.
        q: Joint positions in the order of the path, shape (n,): the best ones found if the
            goal was not reached.
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
    """An inverse kinematics problem.

    Attributes:
        forward: Returns the target's pose (4, 4) and Jacobian (6, n) at joint positions.
        goal: Pose to reach.
        lower, upper: Position limits of the joints, shape (n,).
        max_iterations: Maximum number of steps of one attempt.
    """

    forward: Callable[[Array], tuple[Array, Array]]
    goal: Goal
    lower: Array
    upper: Array
    max_iterations: int


def solve(problem: Problem, q: Array, restarts: int) -> IkResult:
    """Return joint positions that reach the goal, near ``q`` where possible.

    An attempt that gets stuck, at a limit, stretched out or in a local minimum, is followed
    by others from random positions within the joint limits, or up to half a turn away for
    joints without limits. The random numbers are seeded, so results are repeatable.
    """
    rng = np.random.default_rng(0)
    start = np.clip(q, problem.lower, problem.upper)
    spans = np.minimum(problem.upper - problem.lower, 2.0 * np.pi)
    lowest = np.clip(start - spans / 2.0, problem.lower, problem.upper - spans)
    best = _attempt(problem, start)
    steps = best.iterations
    for _ in range(restarts):
        if best.converged or not len(q):
            break
        random_q = lowest + spans * rng.random(len(q))
        result = _attempt(problem, np.clip(random_q, problem.lower, problem.upper))
        steps += result.iterations
        if result.converged or _squared_error(result) < _squared_error(best):
            best = result
    return IkResult(best.converged, best.position_error, best.rotation_error, steps, best.q)


def _attempt(problem: Problem, q: Array) -> IkResult:
    """Minimise the error by Levenberg-Marquardt steps, projected onto the joint limits.

    The damping is proportional to the squared error (T. Sugihara, "Solvability-unconcerned
    inverse kinematics by the Levenberg-Marquardt method", IEEE T-RO 27, 2011): it vanishes at a
    solution, where convergence is quadratic. It grows while steps increase the error.
    """
    goal, damping, smallest = problem.goal, 1.0, 1e-12
    T, J = problem.forward(q)
    error = goal.error(T)
    taken = slow = 0
    while taken < problem.max_iterations and slow < _MAX_SLOW_STEPS and not goal.is_reached(error):
        taken += 1
        step = _step(J[: len(error)], error, q, problem, damping * float(error @ error) + smallest)
        trial = np.clip(q + step, problem.lower, problem.upper)
        T, trial_J = problem.forward(trial)
        trial_error = goal.error(T)
        before, after = error @ error, trial_error @ trial_error
        slow = slow + 1 if after > 0.95 * before else 0
        if after < before:
            q, J, error, damping = trial, trial_J, trial_error, max(damping / 4.0, 1e-3)
        else:
            damping *= 8.0
    lengths = np.linalg.norm(error.reshape(-1, 3), axis=1)
    angle = float(lengths[1]) if len(lengths) > 1 else 0.0
    return IkResult(goal.is_reached(error), float(lengths[0]), angle, taken, q)


def _step(J: Array, error: Array, q: Array, problem: Problem, damping: float) -> Array:
    """Return the damped step that stays within the joint limits, shape (n,).

    A joint that would exceed a limit goes to the limit, and the others compensate.
    """
    lowest, highest = problem.lower - q, problem.upper - q
    slope = J.T @ error
    free = ~(((lowest >= 0.0) & (slope < 0.0)) | ((highest <= 0.0) & (slope > 0.0)))
    step = np.zeros(len(q))
    while free.any():
        part = J[:, free]
        A = part.T @ part + damping * np.eye(part.shape[1])
        step[free] = np.linalg.solve(A, part.T @ (error - J[:, ~free] @ step[~free]))
        beyond = free & ((step < lowest) | (step > highest))
        if not beyond.any():
            break
        step = np.clip(step, lowest, highest)
        free &= ~beyond
    return step


def _squared_error(result: IkResult) -> float:
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
