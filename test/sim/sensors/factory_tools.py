"""Worlds of one robot with some devices, and the sensors that are made of them."""

import numpy as np
from sim.sensors.handmade import GRAVITY, arm_body, random_pose, simulated, world_of

from hrp_model import JointType, devices
from hrp_sim.render import Renderer
from hrp_sim.sensors import (
    JointSensor,
    OdometrySensor,
    SensorSettings,
    make_sensors,
)

RNG = np.random.default_rng(5)
SEAT = random_pose(RNG)


class DarkRenderer(Renderer):
    """Needs no OpenGL, and counts how often it was prepared."""

    def __init__(self):
        super().__init__({})
        self.prepared = 0

    def prepare(self, diagnostics):
        self.prepared += 1


def no_rays(origins, directions, max_distance, *ignored):
    return np.full(len(origins), np.inf)


def sensors_of(diagnostics, *found, root=JointType.FREE, fixed=(), renderer=None, options=None):
    world = world_of(simulated(arm_body(*found, root=root)))
    renderer, settings = renderer or DarkRenderer(), SensorSettings(**options or {})
    to_all = {"settings_of": lambda _body, _sensor: settings, "fixed": fixed}
    return make_sensors(world, GRAVITY, no_rays, renderer, diagnostics, **to_all)


def devices_only(sensors):
    return [s for s in sensors if not isinstance(s, JointSensor | OdometrySensor)]


def gyro(name="gyro", link="ARM", X_LS=SEAT, **fields):
    return devices.RateGyroSensor(name=name, link=link, X_LS=X_LS, **fields)


def accelerometer(name="gsensor", link="ARM", X_LS=SEAT, **fields):
    return devices.AccelerationSensor(name=name, link=link, X_LS=X_LS, **fields)


def camera(name="eye", **fields):
    return devices.Camera(name=name, link="ARM", X_LS=SEAT, **fields)


def scanner(**fields):
    return devices.RangeSensor(name="laser", link="ARM", X_LS=SEAT, **fields)
