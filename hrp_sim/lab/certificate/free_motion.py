"""Free motion of a body for a second: of the engine, and by a solver of differential equations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from hrp_model import Body, Pose
from hrp_model.rigid import Array, matrix_quaternion, quaternion_matrix
from hrp_model.verify.motion import ForwardDynamics, MotionState

from ...engine.engine import PhysicsSettings
from .engine_motion import momentum, simulated

DURATION = 1.0  # [s]
STEPS = tuple(1e-3 / 2**i for i in range(7))  # [s]; the short ones for fast motions
_TOLERANCE = 1e-12  # of the solver, relative and absolute
_MAX_EVALUATIONS = 20_000


class MotionError(Exception):
    """A motion cannot be computed; the message states the reason."""


class EngineResult(NamedTuple):
    """The engine's motion after ``DURATION``.

    Attributes:
        configuration: See ``configuration``.
        momentum: As ``engine_motion.momentum``, at the end.
        momentum_at_start: Likewise, at the start.
    """

    configuration: Array
    momentum: Array
    momentum_at_start: Array


def engine_motion(body: Body, start: MotionState, step: float) -> EngineResult:
    """Return the motion with the engine's default settings.

    Raises:
        PhysicsError: The engine cannot simulate the body.
    """
    with simulated(body, start, step, PhysicsSettings()) as (engine, robot):
        before = momentum(body, robot.motion)
        engine.step(round(DURATION / step))
        motion = robot.motion
        root = Pose(motion.R[0], motion.p[0])
        return EngineResult(configuration(body, motion.q, root), momentum(body, motion), before)


def configuration(body: Body, q: Array, root: Pose) -> Array:
    """Return joint positions, and position and rotation matrix of a free root, as one vector."""
    if body.is_root_fixed:
        return q.copy()
    return np.concatenate([q, root.p, root.R.ravel()])


def exact_motion(body: Body, start: MotionState) -> Array:
    """Return the configuration after ``DURATION``, by a method that suits the body.

    That is Dormand and Prince's of eighth order; with damping, which may be stiff, LSODA.

    Raises:
        MotionError: The motion takes too many evaluations.
    """
    dynamics, n = ForwardDynamics(body), len(start.q)
    is_free = not body.is_root_fixed
    evaluations = 0

    def rate(_time: float, y: Array) -> Array:
        nonlocal evaluations
        evaluations += 1
        if evaluations > _MAX_EVALUATIONS:
            raise MotionError(f"more than {_MAX_EVALUATIONS} evaluations in {DURATION:g} s")
        state = _state(y, n, is_free=is_free)
        a = dynamics.accelerations(state)
        if not is_free:
            return np.concatenate([state.dq, a])
        turn = _quaternion_rate(y[n + 3 : n + 7], state.w)
        return np.concatenate([state.dq, state.v, turn, a[6:], a[:6]])

    y = _vector(start, is_free=is_free)
    is_damped = any(link.joint.damping for link in body.moving_links)
    method = "LSODA" if is_damped else "DOP853"
    solution = solve_ivp(rate, (0.0, DURATION), y, method=method, rtol=_TOLERANCE, atol=_TOLERANCE)
    if not solution.success:
        raise MotionError(str(solution.message))
    end = _state(solution.y[:, -1], n, is_free=is_free)
    return configuration(body, end.q, end.X_WR)


def _vector(state: MotionState, *, is_free: bool) -> Array:
    if not is_free:
        return np.concatenate([state.q, state.dq])
    quaternion = matrix_quaternion(state.X_WR.R)
    pose = [*state.X_WR.p, *quaternion]
    return np.concatenate([state.q, pose, state.dq, state.v, state.w])


def _state(y: Array, n: int, *, is_free: bool) -> MotionState:
    none = np.zeros(n)
    if not is_free:
        return MotionState("", Pose(), np.zeros(3), np.zeros(3), y[:n], y[n:], none)
    quaternion = y[n + 3 : n + 7] / np.linalg.norm(y[n + 3 : n + 7])
    root = Pose(quaternion_matrix(quaternion), y[n : n + 3])
    dq, v, w = y[n + 7 : 2 * n + 7], y[-6:-3], y[-3:]
    return MotionState("", root, v, w, y[:n], dq, none)


def _quaternion_rate(xyzw: Array, w: Array) -> Array:
    """Return the rate of a quaternion for an angular velocity in world axes."""
    vector, scalar = xyzw[:3], xyzw[3]
    return np.array([*(scalar * w + np.cross(w, vector)), -w @ vector]) / 2.0
