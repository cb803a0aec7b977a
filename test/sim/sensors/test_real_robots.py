"""Every device of real robots becomes a sensor that tells the truth, or a diagnostic that names it.

The robots stand askew in a room of six oblique walls, each at its distance and of its colour.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from paths import SHARED, needs_shared
from ray_oracle import distances
from sim.physics.scenes import G, Z, fixed, placed, root
from sim.render.scenes import OPTICAL, camera_matrix, glowing, needs_opengl, pixel_rays
from sim.sensors.handmade import random_pose

from hrp_model import Body, Diagnostics, Pose, devices, load_body
from hrp_model.devices import ImageType
from hrp_model.geometry import Box
from hrp_model.inertial_units import inertial_units
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import BodyEntry, Simulation, WorldConfig
from hrp_sim.control import ControlSettings
from hrp_sim.render import Pinhole
from hrp_sim.sensors import (
    CameraSensor,
    ForceSensor,
    ImuSensor,
    RangeSensor,
    ScanReading,
    SensorSettings,
)

pytestmark = needs_shared

FOLDER = SHARED / "models"
ROBOTS = {
    "SR1": "choreonoid__choreonoid/share/model/SR1/SR1Hand.body",
    "SR1 of VRML": "fkanehiro__choreonoid/share/model/SR1/SR1.wrl",
    "PA10": "choreonoid__choreonoid/share/model/PA10/PA10.body",
    "HRP-4C": "isri-aist__hrp4c_description/vrml/HRP4Cmain.wrl",
    "Nextage": "tork-a__rtmros_nextage/nextage_description/models/main.wrl",
    "sample1": "fkanehiro__openhrp3/sample/model/sample1.wrl",
    "pan and tilt": "fkanehiro__openhrp3/sample/model/RH2/parts/PanTilt/futaba/PanTilt_futaba.wrl",
    "Tank": "k38-suzuki__hairo-world-plugin/sample/phits/model/Tank.body",
    "mobile robot": (
        "choreonoid__choreonoid_ros2_mobile_robot_tutorial/model/mobile_robot_sensors.body"
    ),
}
STIFF = ControlSettings(kp=1e7, kd=1e4)
SIZE = np.array([60.0, 60.0, 0.2])
COLORS = [(210, 30, 40), (35, 190, 20), (10, 40, 220), (230, 220, 15), (17, 200, 190), (99, 11, 77)]


def walls():
    """Return the geometry and the pose in W of each wall."""
    rng, found = np.random.default_rng(8), []
    for k, normal in enumerate([*np.eye(3), *-np.eye(3)]):
        tilted = normal + rng.uniform(-0.2, 0.2, 3)
        tilted /= np.linalg.norm(tilted)
        across = np.cross(Z, tilted)
        angle = np.arctan2(np.linalg.norm(across), tilted[2])
        R = axis_angle_matrix(across / np.linalg.norm(across), angle)
        found.append((Box(SIZE), Pose(R, (5.0 + k) * tilted)))
    return found


def entries_of_walls():
    for k, (box, X_WB) in enumerate(walls()):
        shape = (placed(box),)
        seen = tuple(replace(s, material=glowing(COLORS[k])) for s in shape)
        body = Body(name=f"wall{k}", links=(root(mass=0.0, collision=shape, visual=seen),))
        yield BodyEntry(placement=fixed(body, X_WB))


@cache
def held(name):
    """Return a simulation of a robot that is held still, askew, and what was said of it."""
    found = Diagnostics.silent()
    body = load_body(FOLDER / ROBOTS[name], Diagnostics.silent())
    links = tuple(replace(link, collision=()) for link in body.links)
    body = replace(body, links=links, devices=tuple(map(with_depth, body.devices)))
    X_WL = Pose(random_pose(np.random.default_rng(len(name))).R, np.array([0.3, -0.4, 0.5]))
    robot = BodyEntry(placement=fixed(body, X_WL), control=STIFF)
    ideal = SensorSettings(detection_rate=1.0, error_deviation=0.0)
    world = WorldConfig(bodies=(robot, *entries_of_walls()), sensors=ideal)
    simulation = Simulation(world, diagnostics=found)
    simulation.wanted = lambda _name: False
    for _ in range(200):
        simulation.step()
    return simulation, body, found.found


def with_depth(device):
    """Return a device; a camera with the depths that it may lack in the model."""
    if isinstance(device, devices.Camera) and device.image_type is not ImageType.NONE:
        return replace(device, image_type=ImageType.COLOR_DEPTH, min_distance=0.0, max_distance=99)
    return device


def readings(name, kind):
    """Yield each sensor of a kind, its pose in W, and its reading."""
    simulation, body, _ = held(name)
    motion = simulation.bodies[body.name].motion
    for sensor in simulation.sensors.values():
        if isinstance(sensor, kind):
            X_WL = Pose(motion.R[sensor.link], motion.p[sensor.link])
            yield sensor, X_WL @ sensor.X_LS, sensor.read(simulation.state)


@pytest.mark.parametrize("name", ROBOTS)
def test_every_device_is_simulated_or_named_in_a_diagnostic(name):
    simulation, body, found = held(name)
    told = {sensor.name for sensor in simulation.sensors.values() if sensor.body == body.name}
    told |= {light.name for light in simulation.lights.values()}
    told |= {tool.name for tool in simulation.handling.tools.values()}
    told |= {d.name for d in body.devices if isinstance(d, devices.Attachment)}
    told |= {unit.partner.name for unit in inertial_units(body) if unit.partner is not None}
    said = "\n".join(diagnostic.message for diagnostic in found)
    assert [d.name for d in body.devices if not (d.name in told or f"'{d.name}'" in said)] == []
    assert len(told) > 2 or name == "PA10"


def carried(body, link):
    """Return the indices of a link and all that hang on it."""
    found = [link]
    for i, parent in enumerate(body.parent_indices):
        if parent in found:
            found.append(i)
    return found


@pytest.mark.parametrize("name", ROBOTS)
def test_force_sensors_bear_what_the_links_beyond_them_weigh(name):
    simulation, body, _ = held(name)
    motion = simulation.bodies[body.name].motion
    for sensor, X_WS, reading in readings(name, ForceSensor):
        beyond = carried(body, sensor.link)
        weights = np.array([body.links[i].mass for i in beyond])[:, None] * [0.0, 0.0, -G]
        centers = [motion.p[i] + motion.R[i] @ body.links[i].center_of_mass for i in beyond]
        torque = np.cross(centers - X_WS.p, weights).sum(axis=0)
        most = np.linalg.norm(weights.sum(axis=0))
        assert most > 0.1
        np.testing.assert_allclose(X_WS.R @ reading.force, weights.sum(axis=0), atol=1e-5 * most)
        np.testing.assert_allclose(X_WS.R @ reading.torque, torque, atol=1e-5 * most)


@pytest.mark.parametrize("name", ROBOTS)
def test_inertial_sensors_read_gravity_alone(name):
    for _, X_WS, reading in readings(name, ImuSensor):
        if reading.linear_acceleration is not None:
            force = X_WS.R @ reading.linear_acceleration
            np.testing.assert_allclose(force, [0.0, 0.0, G], atol=1e-4)
        if reading.angular_velocity is not None:
            np.testing.assert_allclose(reading.angular_velocity, 0.0, atol=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_scans_tell_the_distances_to_the_walls(name):
    X_SC = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])  # forward is -Z
    for sensor, X_WS, reading in readings(name, RangeSensor):
        assert isinstance(reading, ScanReading)
        a = reading.angle_min + reading.angle_increment * np.arange(len(reading.ranges))
        rays = np.stack([np.cos(a), np.sin(a), 0.0 * a], axis=1) @ (X_WS.R @ X_SC).T
        expected = distances(walls(), np.broadcast_to(X_WS.p, rays.shape), rays)
        expected[expected > sensor.max_distance] = np.inf
        np.testing.assert_allclose(reading.ranges, expected, rtol=1e-9)


@needs_opengl
@pytest.mark.parametrize("name", ROBOTS)
def test_cameras_see_the_walls_behind_the_robot_itself(name):
    """Where it is not in its own way: each pixel has its wall's depth, and that wall's colour."""
    cameras = readings(name, CameraSensor)
    shares = [share_of_walls(*each) for each in cameras if isinstance(each[0].lens, Pinhole)]
    assert max(shares, default=1.0) > 0.3  # a camera in a hand may see nothing but the hand


def share_of_walls(sensor, X_WS, reading):
    """Check some pixels of a picture; return the share of those that show a wall."""
    lens, X_WO = sensor.lens, X_WS @ OPTICAL
    rays = pixel_rays((lens.width, lens.height), camera_matrix(lens))[::7, ::7].reshape(-1, 3)
    lengths = np.linalg.norm(rays, axis=1)
    to_W = rays / lengths[:, None] @ X_WO.R.T
    origins = np.broadcast_to(X_WO.p, to_W.shape)
    each = np.array([distances([wall], origins, to_W) for wall in walls()])
    nearest, second = np.sort(each, axis=0)[:2]
    expected = nearest / lengths
    depth = reading.depth[::7, ::7].ravel()
    near = expected < 0.999 * lens.far
    assert (depth[near] < 1.0001 * expected[near]).all()
    assert not (np.isfinite(depth) & (expected > 1.001 * lens.far) & (depth > lens.far)).any()
    shown = near & (depth > 0.9999 * expected)
    colors = np.array(COLORS)[each.argmin(axis=0)]
    sure = shown & (second > 1.05 * nearest)  # not where two walls meet
    np.testing.assert_array_equal(reading.color[::7, ::7].reshape(-1, 3)[sure], colors[sure])
    return shown.mean()


def test_robots_of_every_kind_of_sensor_are_among_them():
    kinds = {type(s) for name in ROBOTS for s in held(name)[0].sensors.values()}
    assert {ImuSensor, ForceSensor, RangeSensor, CameraSensor} <= kinds
