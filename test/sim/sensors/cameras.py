"""Cameras before scenes made by hand."""

from sim.render.scenes import LOOKING_ALONG_X, body_of, box_at, camera_world, poses_of

from hrp_model import Pose
from hrp_model.geometry import Material
from hrp_sim.render import Pinhole, Renderer
from hrp_sim.sensors import CameraSensor

LENS = Pinhole(64, 48, 1.0, 0.04, 100.0)


def camera(renderer, lens=LENS, link=0, X_LS=LOOKING_ALONG_X, **fields):
    return CameraSensor(
        name="eye",
        body="robot",
        rate_hz=30.0,
        link=link,
        X_LS=X_LS,
        lens=lens,
        renderer=renderer,
        **fields,
    )


def camera_before(*shapes, **fields):
    """A camera at the origin that looks along x, and the world it is in."""
    bodies = {"robot": body_of("robot", shapes)}
    sensor = camera(Renderer(bodies), **fields)
    return sensor, camera_world(bodies, {"robot": poses_of(Pose())})


def seen(*shapes, **fields):
    sensor, world = camera_before(*shapes, **fields)
    return sensor.read(world)


def wall(distance, material=None):
    return box_at((0.1, 400, 400), (distance + 0.05, 0, 0), material or Material())
