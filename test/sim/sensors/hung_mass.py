"""An off-centre mass on each kind of joint, and what pinocchio says of it in a sensor's place."""

import numpy as np
from sim.physics.scenes import FIXED, PRISMATIC, REVOLUTE, X, at, child, fixed, root
from sim.physics.weighing import simulation
from sim.physics.wrench_peer import Errors, between, wrenches
from sim.sensors.handmade import random_pose, random_rotation

from hrp_model.body import Body
from hrp_model.devices import ForceSensor
from hrp_sim.control import ControlMode, ControlSettings, JointControl
from hrp_sim.sensors import SensorSettings

# What holds the mass; merged: fixed to the link that has the sensor, so that both are one.
HOLDERS = {"hinge": REVOLUTE, "slider": PRISMATIC, "fixed joint": FIXED, "merged link": FIXED}
DURATION, EVERY = 0.5, 0.02  # [s]
HELD = ControlSettings(kp=1e7, kd=1e4)
SPRING = {"LOAD": JointControl(mode=ControlMode.POSITION, kp=300.0, kd=0.0)}


def crane(holder):
    """A boom on an oblique hinge, and the mass on it; a sensor askew in the joint that bears it."""
    rng = np.random.default_rng(7)
    axis = np.array([0.48, 0.6, 0.64])
    links = (
        root(),
        child("BOOM", "BASE", REVOLUTE, axis, X_PL=at(0.1, 0.2, 0.0), center_of_mass=0.2 * X),
        child(
            "LOAD",
            "BOOM",
            HOLDERS[holder],
            np.array([0.36, 0.48, -0.8]),
            X_PL=at(0.5, 0.1, -0.1, random_rotation(rng)),
            mass=2.0,
            center_of_mass=np.array([0.15, -0.1, 0.2]),
        ),
    )
    above = "BOOM" if holder == "merged link" else "LOAD"
    sensor = ForceSensor(name="wrist", link=above, X_LS=random_pose(rng))
    return Body(name="crane", links=links, devices=(sensor,))


def wrench_errors(holder, time_step, *, swings):
    """Return the worst errors of a force sensor, relative to the largest force and torque.

    Returns:
        Against the state at the stamp, where the reading, a mean over the step before it, lags;
        and against the state that this step found, at the rates half-way.
    """
    body = crane(holder)
    is_slider = HOLDERS[holder] is PRISMATIC
    limp = ControlSettings(mode=ControlMode.EFFORT, joints=SPRING if is_slider else {})
    start = np.array([0.4, 0.05])[: len(body.moving_links)]
    sim = simulation(
        fixed(body, random_pose(np.random.default_rng(3)), q=start),
        sensors=SensorSettings(),
        control=limp if swings else HELD,
        time_step=time_step,
    )
    sensor, motion = sim.sensors["wrist"], sim.bodies["crane"].motion
    sim.wanted = lambda _name: False
    stamped, acting = Errors(), Errors()
    steps, every = round(DURATION / time_step), round(EVERY / time_step)
    for k in range(1, steps + 1):
        before = motion.copy()
        sim.step()
        if k % every or (k < 0.8 * steps and not swings):
            continue
        reading = sensor.read(sim.state)
        found = {sensor.name: np.concatenate([reading.force, reading.torque])}
        for errors, state in ((stamped, motion), (acting, between(before, motion))):
            on_link = wrenches(body, state, motion.effort)[body.links[sensor.link].name]
            errors.add(found, {sensor.name: _told(on_link, sensor.X_LS)})
    sim.close()
    return stamped.worst, acting.worst


def _told(wrench_L, X_LS):
    """Return what a sensor tells of a wrench on its link about the origin of that."""
    force, torque = np.reshape(wrench_L, (2, 3))
    about_S = torque + np.cross(force, X_LS.p)
    return np.concatenate([-X_LS.R.T @ force, -X_LS.R.T @ about_S])
