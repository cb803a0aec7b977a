"""Contact-free motion of a body: of the engine, and by a solver of differential equations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hrp_model import Body, Pose
from hrp_model.diagnostics import needs_extra
from hrp_model.rigid import Array, matrix_quaternion, quaternion_matrix
from hrp_model.verify.motion import ForwardDynamics, MotionState

from ...engine.engine import Engine, PhysicsSettings, Placement, make_ode_engine
from ...engine.state import BodyMotion, SimulatedBody

with needs_extra("verify"):
    from scipy.integrate import solve_ivp

# Steps in [s] from which accelerations are extrapolated: rounding errors of positions grow as
# 1e-16 / step^2.
ACCELERATION_STEPS = tuple(4e-3 / 2**i for i in range(8))
# In the first steps from a state whose joints are closed exactly, the engine takes up the distance
# by which they part in free motion; with ``erp`` 1 that ends with the second one.
_SETTLING_STEPS = 3
_SETTLING = PhysicsSettings(erp=1.0, cfm=0.0)

DURATION = 1.0  # [s]
STEPS = tuple(1e-3 / 2**i for i in range(7))  # [s]; the short ones for fast motions
_TOLERANCE = 1e-12  # of the solver, relative and absolute
_MAX_EVALUATIONS = 20_000


class MotionError(Exception):
    """A motion cannot be computed; the message states the reason."""


class Limit(NamedTuple):
    """The limit of a quantity for steps of zero length.

    Attributes:
        value: Of each case, shape (cases, n).
        error: Estimated error of each case, in units of the scale, shape (cases,).
    """

    value: Array
    error: Array


def limit(values: Sequence[Array], scale: Array, order: int = 1) -> Limit:
    """Extrapolate by Richardson's method, as far as rounding errors allow.

    An error ``c_1 h^order + c_2 h^(order + 1) + ...`` is eliminated term by term. Each step
    doubles rounding errors at least, so the result is the entry of the tableau that differs least
    from the two entries that it was computed from; this difference is the estimated error.

    Args:
        values: For steps each half as long as the one before, shape (cases, n) each.
        scale: Unit of the differences, shape (n,).
        order: Lowest power of the step in the error.
    """
    best = values[-1].copy()
    error = np.full(len(best), np.inf)
    column = list(values)
    for power in range(order, order + len(values) - 1):
        factor = 2.0**power - 1.0
        longer, shorter = column[:-1], column[1:]
        column = [b + (b - a) / factor for a, b in zip(longer, shorter, strict=True)]
        for found, a, b in zip(column, longer, shorter, strict=True):
            change = np.maximum(abs(found - a), abs(found - b)) / scale
            estimate = change.max(axis=1, initial=0.0)
            better = estimate < error
            best[better], error[better] = found[better], estimate[better]
    return Limit(best, error)


def accelerations(body: Body, states: Sequence[MotionState], scale: Array) -> Limit:
    """Return the accelerations in states of motion, as ``ForwardDynamics`` has them.

    They are the changes of velocity in a step, extrapolated to a step of zero length.

    Args:
        body: The model.
        states: States of motion.
        scale: Unit of errors, shape (6 + n,) or (n,).

    Raises:
        PhysicsError: The engine cannot simulate the body.
    """
    values = []
    for step in ACCELERATION_STEPS:
        with simulated(body, states[0], step, _SETTLING) as (engine, robot):
            values.append(np.array([_acceleration(engine, robot, x, step) for x in states]))
    return limit(values, scale)


@contextmanager
def simulated(
    body: Body, state: MotionState, step: float, settings: PhysicsSettings
) -> Iterator[tuple[Engine, SimulatedBody]]:
    """Provide an engine with a body in a state, without contacts and limits of joints.

    Raises:
        PhysicsError: The engine cannot simulate the body.
    """
    changed = replace(settings, time_step=step, joint_limits=False, self_collision=False)
    engine = make_ode_engine(changed)
    try:
        yield engine, engine.add_body(_placement(body, state))
    finally:
        engine.close()


def _placement(body: Body, state: MotionState) -> Placement:
    return Placement(
        name=body.name,
        body=body,
        X_WL=state.X_WR,
        q=state.q,
        dq=state.dq,
        v=state.v,
        w=state.w,
        fixed=body.is_root_fixed,
    )


def _acceleration(engine: Engine, robot: SimulatedBody, state: MotionState, step: float) -> Array:
    engine.move_body(_placement(robot.body, state))
    robot.drive.effort[:] = state.effort
    engine.step(_SETTLING_STEPS)
    before = _rates(robot)
    engine.step()
    out: Array = (_rates(robot) - before) / step
    return out


def _rates(robot: SimulatedBody) -> Array:
    motion = robot.motion
    if robot.body.is_root_fixed:
        return motion.dq.copy()
    return np.concatenate([motion.v[0], motion.w[0], motion.dq])


def momentum_of(body: Body, motion: BodyMotion) -> Array:
    """Return the momentum of all links, and the angular one about the centre of mass, shape (6,).

    It is that of the links as the engine moves them, whose joints are closed only nearly.
    """
    mass = np.array([link.mass for link in body.links])
    arms = np.einsum("lij,lj->li", motion.R, [link.center_of_mass for link in body.links])
    P = mass[:, None] * (motion.v + np.cross(motion.w, arms))
    center = mass @ (motion.p + arms) / mass.sum()
    turning = [
        R @ link.inertia @ (R.T @ w)
        for link, R, w in zip(body.links, motion.R, motion.w, strict=True)
    ]
    L = np.cross(motion.p + arms - center, P).sum(axis=0) + np.sum(turning, axis=0)
    return np.concatenate([P.sum(axis=0), L])


class EngineResult(NamedTuple):
    """The engine's motion after ``DURATION``.

    Attributes:
        configuration: See ``configuration``.
        momentum: Of all links, as ``momentum_of`` has it, at the end.
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
        before = momentum_of(body, robot.motion)
        engine.step(round(DURATION / step))
        motion = robot.motion
        root = Pose(motion.R[0], motion.p[0])
        return EngineResult(configuration(body, motion.q, root), momentum_of(body, motion), before)


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
