"""Lights of a simulated world, as its cameras see them."""

from dataclasses import replace

import numpy as np
import pytest
from fake_engine import FakeEngine
from sim.render.scenes import LOOKING_ALONG_X, body_of, box_at, in_thread, needs_opengl

from hrp_model import Pose, devices
from hrp_model.geometry import Material
from hrp_sim import Simulation
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.sensors import SensorSettings
from hrp_sim.world.config import BodyEntry, WorldConfig

pytestmark = needs_opengl
WALL = box_at((0.1, 40, 40), (2, 0, 0), Material(diffuse=(1.0, 1.0, 1.0)))
SIZE = {"width": 16, "height": 16, "frame_rate": 100.0}
EYE = devices.Camera(name="eye", link="L0", X_LS=Pose(LOOKING_ALONG_X.R), **SIZE)
LAMP = devices.PointLight(name="lamp", link="L0", intensity=0.4, on=False)


def entry(name, *found, options=None):
    body = replace(body_of(name, (WALL,) if name == "wall" else ()), devices=found)
    return BodyEntry(placement=Placement(name=name, body=body), sensors=options or {})


@pytest.fixture
def simulation():
    entries = entry("wall"), entry("robot", EYE, LAMP)
    world = WorldConfig(
        physics=PhysicsSettings(time_step=0.01),
        bodies=entries,
        sensors=SensorSettings(headlight=False, background="#102030"),
    )
    return Simulation(world, engine=FakeEngine(world.physics), defer_images=True)


def test_a_picture_shows_the_lights_that_were_on_when_it_was_exposed(simulation):
    eye = simulation.sensors["eye"]

    def exposed():
        return simulation.step()["eye"]

    dark = exposed()
    simulation.set_enabled("lamp", True)
    bright, snapshot = exposed(), simulation.save()
    simulation.reset()
    dark_again = exposed()
    simulation.restore(snapshot)
    restored = exposed()
    exposures = dark, bright, dark_again, restored
    found = [in_thread(lambda e=e: eye.render(e)).color[8, 8, 0] for e in exposures]
    assert found == [0, 102, 0, 102]


def test_a_body_that_is_spawned_brings_its_lights(simulation):
    eye = simulation.sensors["eye"]
    torch = devices.SpotLight(name="torch", link="L0", intensity=0.6, X_LS=EYE.X_LS)

    def seen():
        return eye.render(simulation.step()["eye"]).color[8, 8, 0]

    assert seen() == 0
    simulation.spawn(entry("helper", torch))
    assert seen() == 153
    simulation.set_enabled("torch", False)
    assert seen() == 0
    simulation.remove("helper")
    simulation.spawn(entry("helper", torch))
    assert seen() == 153
    simulation.remove("helper")
    assert seen() == 0


def test_each_camera_has_its_own_headlight_and_background():
    away = devices.Camera(
        name="away", link="L0", X_LS=Pose(LOOKING_ALONG_X.R @ np.diag([1, -1, -1]))
    )
    options = {"eye": {"headlight": True}, "away": {"background": "#fe01ff"}}
    world = WorldConfig(
        physics=PhysicsSettings(time_step=0.01),
        bodies=(entry("wall"), entry("robot", EYE, away, options=options)),
        sensors=SensorSettings(headlight=False, background="#102030"),
    )
    simulation = Simulation(world, engine=FakeEngine(world.physics))
    eye, away = (simulation.sensors[name].read(simulation.state) for name in ("eye", "away"))
    assert (eye.color == 255).all()
    assert (away.color == (0xFE, 0x01, 0xFF)).all()
