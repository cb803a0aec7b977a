"""A copy of the state of a run, made between two steps for other threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hrp_model.rigid import Array

from ..engine.engine import PhysicsError
from ..engine.state import SimulatedBody
from ..run.run import Run
from ..simulation import Simulation


@dataclass(frozen=True, slots=True)
class BodyPoses:
    """The posture of one body.

    Attributes:
        simulated: The body; its arrays are live.
        p: p_WL of the links, in [m], shape (links, 3).
        R: R_WL, shape (links, 3, 3).
        q: Joint positions, in [rad] or [m], shape (joints,).
    """

    simulated: SimulatedBody
    p: Array
    R: Array
    q: Array


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a run at one time.

    Attributes:
        simulation: The simulation; to be used in the stepping thread only.
        time_ns: Simulation time, in [ns].
        bodies: By name.
        paused: Whether the run is paused.
        error: Failure of the physics that halted the run, or None.
        target_factor: Target real-time factor; 0 is as fast as possible.
        factor: Measured real-time factor; 0 while halted.
    """

    simulation: Simulation
    time_ns: int
    bodies: Mapping[str, BodyPoses]
    paused: bool
    error: PhysicsError | None
    target_factor: float
    factor: float


def take_snapshot(runner: Run) -> Snapshot:
    """Copy the state of a run; to be called in the stepping thread, or before the run."""
    simulation = runner.simulation
    bodies = {
        name: BodyPoses(body, body.motion.p.copy(), body.motion.R.copy(), body.motion.q.copy())
        for name, body in simulation.bodies.items()
    }
    return Snapshot(
        simulation,
        simulation.state.time_ns,
        bodies,
        runner.paused,
        runner.error,
        runner.real_time_factor,
        runner.measured_factor,
    )
