"""Simulations of a few bodies, and what their force sensors tell."""

import numpy as np

from hrp_sim import BodyEntry, PhysicsSettings, Simulation, WorldConfig
from hrp_sim.control import LIMP
from hrp_sim.sensors import SensorSettings


def simulation(*placements, sensors=None, control=LIMP, diagnostics=None, **physics):
    world = WorldConfig(
        physics=PhysicsSettings(**physics),
        sensors=sensors or SensorSettings(),
        bodies=tuple(BodyEntry(placement=p, control=control) for p in placements),
    )
    return Simulation(world, diagnostics=diagnostics)


def run(sim, steps):
    latest = {}
    for _ in range(steps):
        latest.update(sim.step())
    return latest


def seen_from_the_origin(sim, name, reading, motion=None):
    """Return a reading's force, and its torque about the origin of W, in W."""
    sensor = sim.sensors[name]
    motion = motion or sim.bodies[sensor.body].motion
    R_WL = motion.R[sensor.link]
    R_WS = R_WL @ sensor.X_LS.R
    p_WS = motion.p[sensor.link] + R_WL @ sensor.X_LS.p
    force = R_WS @ reading.force
    return force, R_WS @ reading.torque + np.cross(p_WS, force)
