"""An Engine without physics, whose bodies are moved by a script."""

from dataclasses import fields

import numpy as np

from hrp_model.kinematics import BodyState
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings
from hrp_sim.engine.snapshot import check_arrays, check_bodies, check_settings, settings_lines
from hrp_sim.engine.state import ContactPoints, SimulatedBody, WorldState


class FakeEngine:
    """Advances the time, and moves bodies by a script.

    Args:
        settings: Only the time step is used.
        script: Called after each step with (simulated body, time in [s]); writes into the
            body's motion. By default bodies stay where they were placed.
        rays: Called with the arguments of ``cast_rays``; returns distances. By default rays
            meet a floor at z = 0.

    Attributes:
        fail_at: Time in [ns] at which the next step raises PhysicsError; None for never.
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
        self.record_contacts = False
        self.joints = {}

    @property
    def settings(self):
        return self._settings

    @property
    def contacts(self):
        return 0

    def contact_points(self):
        return ContactPoints.empty(self._time_ns)

    def interrupt(self):
        """Do nothing: no step takes long."""

    @property
    def time_ns(self):
        return self._time_ns

    @property
    def state(self):
        return WorldState(self._time_ns, dict(self._bodies))

    def add_body(self, placement):
        if placement.name in self._bodies:
            raise PhysicsError(f"there is a body '{placement.name}' already")
        body = placement.body
        simulated = SimulatedBody.at_rest(placement.name, body)
        self._placements[placement.name] = placement
        self._bodies[placement.name] = simulated
        _place(simulated, placement)
        return simulated

    def remove_body(self, name):
        del self._bodies[name], self._placements[name]

    def move_body(self, placement):
        first = self._placements[placement.name]
        if (placement.body, placement.fixed) != (first.body, first.fixed):
            raise PhysicsError(f"body '{placement.name}' cannot become another")
        _place(self._bodies[placement.name], placement)

    def save(self):
        arrays = {
            "time_ns": np.array(self._time_ns, dtype=np.int64),
            "bodies": np.array(list(self._bodies), dtype=np.str_),
            "settings": settings_lines(self._settings),
        }
        for name, simulated in self._bodies.items():
            arrays[f"{name}/fingerprint"] = np.array(simulated.body.name)
            live = _live(simulated).items()
            arrays |= {f"{name}/{key}": array.copy() for key, array in live}
        return arrays

    def restore(self, arrays):
        check_settings(arrays, self._settings)
        check_bodies(arrays, {name: s.body.name for name, s in self._bodies.items()})
        check_arrays(arrays, self.save())
        for name, simulated in self._bodies.items():
            for key, array in _live(simulated).items():
                array[:] = arrays[f"{name}/{key}"]
        self._time_ns = int(arrays["time_ns"])

    def reset(self):
        self._time_ns = 0
        for name, simulated in self._bodies.items():
            _place(simulated, self._placements[name])
            simulated.wrench.force[:] = simulated.wrench.torque[:] = 0.0
            simulated.motion.track_position[:] = 0.0

    def retime(self, time_ns):
        self._time_ns = time_ns

    def step(self, count=1):
        for _ in range(count):
            if self._time_ns == self.fail_at:
                raise PhysicsError("told to fail")
            self._time_ns += self._settings.step_ns
            for simulated in self._bodies.values():
                run = simulated.drive.track_speed * self._settings.time_step
                simulated.motion.track_position += run
                self._script(simulated, self._time_ns / 1e9)

    def cast_rays(self, *rays):
        return self._rays(*rays)

    def close(self):
        self.closed = True


def rays_to_floor(origins, directions, max_distance, *_ignored):
    """Return the distances to the plane z = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = -np.asarray(origins)[:, 2] / np.asarray(directions)[:, 2]
    return np.where((distances >= 0.0) & (distances < max_distance), distances, np.inf)


def _live(simulated):
    parts = {"motion": simulated.motion, "drive": simulated.drive, "wrench": simulated.wrench}
    return {f"{k}_{f.name}": getattr(v, f.name) for k, v in parts.items() for f in fields(v)}


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
