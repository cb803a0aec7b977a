"""An Engine without physics: bodies move as a script says."""

import numpy as np

from hrp_model.kinematics import BodyState
from hrp_sim.engine import PhysicsError, PhysicsSettings
from hrp_sim.state import BodyMotion, JointDrive, SimulatedBody, WorldState


class FakeEngine:
    """Keeps time, and lets scripts move the bodies.

    Args:
        settings: The time step counts.
        script: Called after each step with (simulated body, time in [s]); writes into the
            body's motion. By default bodies stay where they were placed.
        rays: Called with (origins, directions, max_distance, ignored); returns distances.
            By default rays meet a floor at z = 0.

    Attributes:
        fail_at: Time in [ns] at which the next step raises PhysicsError; None never.
        closed: Whether ``close`` was called.
    """

    def __init__(self, settings=None, script=None, rays=None):
        self._settings = settings or PhysicsSettings()
        self._script = script or (lambda simulated, time: None)
        self._rays = rays or rays_to_floor
        self._placements = {}
        self._bodies = {}
        self._time_ns = 0
        self.fail_at = None
        self.closed = False

    @property
    def settings(self):
        return self._settings

    @property
    def state(self):
        return WorldState(self._time_ns, dict(self._bodies))

    def add_body(self, placement):
        if placement.name in self._bodies:
            raise PhysicsError(f"there is a body '{placement.name}' already")
        body = placement.body
        simulated = SimulatedBody(
            placement.name, body, BodyMotion.zeros(body), JointDrive.limp(body)
        )
        self._placements[placement.name] = placement
        self._bodies[placement.name] = simulated
        _place(simulated, placement)
        return simulated

    def reset(self):
        self._time_ns = 0
        for name, simulated in self._bodies.items():
            _place(simulated, self._placements[name])

    def step(self, count=1):
        for _ in range(count):
            if self._time_ns == self.fail_at:
                raise PhysicsError("told to fail")
            self._time_ns += self._settings.step_ns
            for simulated in self._bodies.values():
                self._script(simulated, self._time_ns / 1e9)

    def cast_rays(self, origins, directions, max_distance, ignored=None):
        return self._rays(origins, directions, max_distance, ignored)

    def close(self):
        self.closed = True


def rays_to_floor(origins, directions, max_distance, ignored):
    """Return the distances to the plane z = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = -np.asarray(origins)[:, 2] / np.asarray(directions)[:, 2]
    return np.where((distances >= 0.0) & (distances < max_distance), distances, np.inf)


def _place(simulated, placement):
    state = BodyState(placement.body)
    state.q[:] = placement.initial_q
    if placement.dq is not None:
        state.dq[:] = placement.dq
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    state.v[0], state.w[0] = placement.v, placement.w
    state.calc_forward_kinematics(velocity=True)
    for name in ("p", "R", "v", "w", "q", "dq"):
        getattr(simulated.motion, name)[:] = getattr(state, name)
    for name in ("a", "alpha", "force", "torque", "effort"):
        getattr(simulated.motion, name)[:] = 0.0
