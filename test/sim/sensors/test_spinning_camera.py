"""A camera on a turntable: each of its pictures shows where it was at the picture's stamp."""

import queue
from functools import partial

import numpy as np
from sim.physics.scenes import REVOLUTE, Z, at, child, fixed, root
from sim.render.scenes import OPTICAL, body_of, camera_matrix, glowing, needs_opengl
from sim.sensors.handmade import random_rotation

from hrp_model import Body, Pose, devices
from hrp_model.geometry import Shape, Sphere
from hrp_model.rigid import axis_angle_matrix, rpy_matrix
from hrp_sim import BodyEntry, PhysicsSettings, Simulation, WorldConfig
from hrp_sim.control import LIMP
from hrp_sim.run.samplers import RenderThread

RATE, COUNT = 20.0, 12  # of the table [rad/s], of the balls
TILT = rpy_matrix(0.2, -0.1, 0.3)
# On the rim, looking outwards and a little downwards, its head askew.
X_LS = Pose(
    rpy_matrix(0.1, 0.15, 0.0) @ np.array([[0, 0, -1], [-1, 0, 0], [0, 1, 0.0]]), [0.4, 0, 0.1]
)


def balls():
    """Return where balls are around the table, and the colour of each."""
    rng = np.random.default_rng(11)
    angles = 2.0 * np.pi * (np.arange(COUNT) + rng.uniform(0.0, 0.3, COUNT)) / COUNT
    places = np.stack([np.cos(angles), np.sin(angles), rng.uniform(-0.1, 0.1, COUNT)], axis=1)
    colors = [(255, 20 * k, 250 - 20 * k) for k in range(COUNT)]
    return places * rng.uniform(3.0, 4.0, (COUNT, 1)) @ TILT.T, colors


def turntable():
    """Return a simulation whose camera's pictures to be drawn later."""
    eye = devices.Camera(
        name="eye", link="TABLE", X_LS=X_LS, frame_rate=30.0, width=96, height=72, field_of_view=0.9
    )
    table = child(
        "TABLE", "BASE", REVOLUTE, Z, X_PL=at(R=random_rotation(np.random.default_rng(2)))
    )
    upright = Pose(TILT @ table.X_PL.R.T)
    robot = Body(name="robot", links=(root(), table), devices=(eye,))
    places, colors = balls()
    seen = [
        Shape(Sphere(0.12), at(*p).matrix(), glowing(c))
        for p, c in zip(places, colors, strict=True)
    ]
    world = WorldConfig(
        physics=PhysicsSettings(time_step=1e-3),
        bodies=(
            BodyEntry(placement=fixed(robot, upright, dq=np.array([RATE])), control=LIMP),
            BodyEntry(placement=fixed(body_of("balls", seen))),
        ),
    )
    return Simulation(world, defer_images=True)


@needs_opengl
def test_pictures_that_are_drawn_later_come_in_order_and_show_their_moment():
    simulation, images, found = turntable(), queue.Queue(), []
    readings = [simulation.step() for _ in range(1500)]
    room = RenderThread(lambda _name, image: images.put(image))
    for exposure in (r["eye"] for r in readings if "eye" in r):  # long after each was caught
        room.submit("eye", partial(simulation.sensors["eye"].render, exposure))
        found.append(images.get(timeout=300))
    room.close()
    stamps = [image.time_ns for image in found]
    assert stamps == [-(-k * 1000 // 30) * 1_000_000 for k in range(1, 46)]
    places, colors = balls()
    checked = sum(shown_as_expected(image, places, colors) for image in found)
    assert checked > 30


def shown_as_expected(image, places, colors):
    """Check where balls are in a picture, to half a pixel; return how many are in it as a whole."""
    angle = RATE * image.time_ns * 1e-9
    X_WO = Pose(TILT @ axis_angle_matrix(Z, angle)) @ X_LS @ OPTICAL
    pixels = ((places - X_WO.p) @ X_WO.R) @ camera_matrix(image.lens).T
    count = 0
    for (u, v, depth), color in zip(pixels, colors, strict=True):
        if depth > 0.0 and 8.0 < u / depth < 87.0 and 8.0 < v / depth < 63.0:
            rows, columns = np.nonzero((image.color == color).all(axis=-1))
            np.testing.assert_allclose(
                [columns.mean(), rows.mean()], [u / depth, v / depth], atol=0.5
            )
            count += 1
    return count
