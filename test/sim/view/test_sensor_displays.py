"""What sensors read is drawn where it is in the world."""

import numpy as np
import pytest

pytest.importorskip("viser")

from run_page_tools import gui, node
from sim.physics.scenes import at, child, fixed, floor, placed, root

from hrp_model import JointType, Pose, devices
from hrp_model.body import Body
from hrp_model.geometry import Box
from hrp_model.rigid import rpy_matrix
from hrp_model.view.robot import Scale
from hrp_model.view.viewer import Viewer, set_value
from hrp_sim import BodyEntry, Simulation, WorldConfig
from hrp_sim.render import NO_PARTS, Parts, Pinhole
from hrp_sim.sensors import ImageReading
from hrp_sim.view.sensor_displays import SensorDisplays

WALL = 1.5  # [m], the x of its surface
G = 9.80665


@pytest.fixture(scope="module")
def viewer():
    with Viewer(0) as made:
        yield made


def world(*mounted):
    """A pillar on the floor, turned by some angles, with sensors on it; and a wall ahead."""
    sensors = tuple(mounted)
    pillar = Body(
        name="pillar",
        links=(root("PILLAR"), child("HEAD", "PILLAR", JointType.FIXED, X_PL=at(z=0.8))),
        devices=sensors,
    )
    wall = Body(
        name="wall",
        links=(root("WALL", collision=(placed(Box(np.array([1.0, 50.0, 50.0]))),)),),
    )
    placements = (
        fixed(pillar, Pose(rpy_matrix(0.05, -0.04, 0.3), np.array([0.1, 0.2, 0.3]))),
        fixed(wall, at(x=WALL + 0.5)),
        floor(),
    )
    return WorldConfig(bodies=tuple(BodyEntry(placement=p) for p in placements))


# S looks along -z with +y up: this lets it look along the x of its link.
AHEAD = Pose(np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([0.1, 0, 0]))


def drawn(viewer, *mounted):
    """Let displays draw the first readings of a world; return them and the readings."""
    with Simulation(world(*mounted), defer_images=True) as simulation:
        displays = SensorDisplays(viewer, Scale())
        displays.follow(simulation)
        displays.request(0.0)
        taken = {}
        for _ in range(200):
            readings = simulation.step()
            taken |= {k: r for k, r in readings.items() if displays.wants(k)}
            displays.take(simulation, readings)
        displays.draw()
        return displays, taken, simulation


def ends(arrow):
    """Return start and tip of an arrow: the middle of its first ring of vertices, and its last."""
    vertices = np.array(arrow.vertices, dtype=np.float64)
    return vertices[:12].mean(axis=0), vertices[-1]


@pytest.mark.parametrize("layers", [{}, {"pitch_range": 0.4, "pitch_step": 0.1}])
def test_the_points_of_a_scan_lie_on_the_wall(viewer, layers):
    scanner = devices.RangeSensor(
        name="scanner", link="HEAD", X_LS=AHEAD, yaw_range=1.0, yaw_step=0.01, max_distance=20.0,
        **layers,
    )  # fmt: skip
    displays, taken, _ = drawn(viewer, scanner)
    points = np.array(node(viewer, "scanner").points, dtype=np.float64)
    ranges = np.ravel(taken["scanner"].ranges)
    assert len(points) == np.isfinite(ranges).sum() > 50
    np.testing.assert_allclose(points[:, 0], WALL, atol=1e-5)
    head = rpy_matrix(0.05, -0.04, 0.3) @ (np.array([0.0, 0.0, 0.8]) + AHEAD.p)
    distances = np.linalg.norm(points - (head + np.array([0.1, 0.2, 0.3])), axis=1)
    np.testing.assert_allclose(distances, ranges[np.isfinite(ranges)], atol=1e-5)
    assert not displays.wants("scanner")  # until it is requested again


def test_the_weight_of_a_link_and_gravity_are_arrows(viewer):
    force = devices.ForceSensor(name="wrist", link="HEAD")
    imu = devices.AccelerationSensor(name="accelerometer", link="HEAD")
    drawn(viewer, force, imu)
    scale = Scale()
    start, tip = ends(node(viewer, "wrist/force"))
    weight = np.array([0.0, 0.0, -1.0 * G])  # of HEAD, 1 kg, on PILLAR
    np.testing.assert_allclose(tip - start, scale.per_force * weight, atol=1e-3)
    start, tip = ends(node(viewer, "accelerometer"))
    np.testing.assert_allclose(tip - start, [0.0, 0.0, scale.per_acceleration * G], atol=1e-3)


def test_the_depths_of_a_camera_are_points_on_the_wall(viewer):
    lens = Pinhole(64, 48, 0.8, 0.1, 50.0)
    camera = devices.Camera(
        name="eye", link="HEAD", X_LS=AHEAD, image_type=devices.ImageType.COLOR_DEPTH,
        width=64, height=48, field_of_view=0.8,
    )  # fmt: skip
    displays, taken, _ = drawn(viewer, camera)
    assert displays.wants("eye")  # a request alone is no image
    assert displays.wanted_parts("eye") == Parts(color=True, depth=True)
    # The depth at which each ray meets the wall, by geometry alone.
    R_WO = rpy_matrix(0.05, -0.04, 0.3) @ AHEAD.R @ np.diag([1.0, -1.0, -1.0])
    origin = np.array([0.1, 0.2, 0.3]) + rpy_matrix(0.05, -0.04, 0.3) @ (
        np.array([0.0, 0.0, 0.8]) + AHEAD.p
    )
    column, row = lens.slopes
    rays = np.stack([*np.meshgrid(column, row), np.ones((48, 64))], axis=-1) @ R_WO.T
    depth = ((WALL - origin[0]) / rays[..., 0]).astype(np.float32)
    color = np.zeros((48, 64, 3), np.uint8)
    set_value(gui(viewer, "eye points"), True)
    image = ImageReading(taken["eye"].time_ns, "pillar", lens, color=color, depth=depth)
    displays.take_image("eye", image)
    displays.draw()
    points = np.array(node(viewer, "eye/points").points, dtype=np.float64)
    assert len(points) == 48 * 64
    np.testing.assert_allclose(points[:, 0], WALL, atol=1e-4)
    np.testing.assert_allclose(node(viewer, "eye/lens").position, origin)
    assert not displays.wants("eye")
    assert displays.wanted_parts("eye") == NO_PARTS
    displays.take_image("eye", image)  # again: nobody asked for it
    assert not displays._samples
