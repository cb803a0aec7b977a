"""Contact-free motion of a body in the physics engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from hrp_model import Body
from hrp_model.rigid import Array
from hrp_model.verify.motion import MotionState

from ...engine.engine import Engine, PhysicsSettings, Placement
from ...engine.engines import make_ode_engine
from ...engine.state import BodyMotion, SimulatedBody
from .extrapolation import Limit, limit

# Steps in [s] from which accelerations are extrapolated: rounding errors of positions grow as
# 1e-16 / step^2.
ACCELERATION_STEPS = tuple(4e-3 / 2**i for i in range(8))
# In the first steps from a state whose joints are closed exactly, the engine takes up the distance
# by which they part in free motion; with ``erp`` 1 that ends with the second one.
_SETTLING_STEPS = 3
_SETTLING = PhysicsSettings(erp=1.0, cfm=0.0)


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


def momentum(body: Body, motion: BodyMotion) -> Array:
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
