"""A sensor whose numbers make no sense is left out; the world runs."""

import threading
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from run_tools import OnStep
from sim.physics.scenes import at, lone, moving, placed
from sim.render.scenes import needs_opengl

from hrp_model import Pose, devices
from hrp_model.diagnostics import Source, Span
from hrp_model.geometry import (
    Attribute,
    Box,
    Capsule,
    Cylinder,
    Material,
    Mesh,
    Shape,
    Sphere,
    Texture,
)
from hrp_sim import Snapshot
from hrp_sim.run.run import Run
from hrp_sim.sensors import SensorSettings, world_sensors
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

SCAN = devices.RangeSensor(
    name="scan",
    link="BASE",
    yaw_range=1.0,
    yaw_step=0.1,
    min_distance=0.1,
    max_distance=10.0,
    scan_rate=100.0,
)
CAMERA = devices.Camera(name="camera", link="BASE", width=32, height=24, frame_rate=100.0)
FORCE = devices.ForceSensor(name="force", link="BASE")
IMU = devices.Imu(name="imu", link="BASE")
AT = Span(Source("thing.body", "links:"), 0, 5)
NOWHERE = (
    {"X_LS": at(1e300)},
    {"X_LS": at(nan)},
    {"X_LS": Pose(np.diag([1.0, 1.0, 2.0]), np.zeros(3))},
    {"X_LS": Pose(np.full((3, 3), 1e300), np.zeros(3))},
)


def simulation_of(*found, visual=(), diagnostics=None, **sensors):
    body = lone(placed(Sphere(0.1)))
    links = (replace(body.root, visual=tuple(visual)),)
    body = replace(body, links=links, devices=found)
    options = SensorSettings().with_values(sensors)
    world = WorldConfig(sensors=options, bodies=(BodyEntry(placement=moving(body)),))
    return Simulation(world, diagnostics=diagnostics)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("device", "bad"),
    [
        *((device, bad) for device in (SCAN, CAMERA, FORCE, IMU) for bad in NOWHERE),
        *((SCAN, {"max_distance": far}) for far in (nan, inf, 1e300, 0.05)),
        *((SCAN, {"yaw_step": step}) for step in (0.0, nan, 1e-300)),
        *((SCAN, {"yaw_range": angle}) for angle in (nan, -1.0, 1e300)),
        *((SCAN, {"pitch_range": 1.0, "pitch_step": step}) for step in (0.0, -1.0, 1e-9)),
        *((SCAN, {"scan_rate": rate}) for rate in (0.0, nan, inf, 1e-300)),
        *((SCAN, {"detection_rate": share}) for share in (2.0, nan)),
        *((SCAN, {"error_deviation": deviation}) for deviation in (nan, 1e300)),
        *((CAMERA, {"error_deviation": deviation}) for deviation in (nan, 1e300)),
        *((CAMERA, {"width": 10**6, "height": side}) for side in (10**6, 1)),
        *((CAMERA, {"field_of_view": angle}) for angle in (0.0, 1e-300, np.pi, 3.1415926, nan)),
        *((CAMERA, {"near_clip": near}) for near in (0.0, 1e-300, 200.0, nan)),
        *((CAMERA, {"far_clip": far}) for far in (1e300, inf, nan)),
        (CAMERA, {"max_distance": 1e300}),
        *((CAMERA, {"frame_rate": rate}) for rate in (0.0, -1.0, nan, inf)),
        *((FORCE, {"max_force": np.full(3, most)}) for most in (-1.0, nan)),
        *((IMU, {"max_acceleration": np.full(3, most)}) for most in (-1.0, nan)),
    ],
)
def test_a_sensor_that_cannot_be_is_left_out(device, bad, diagnostics):
    bad = replace(device, **bad, at=AT)
    simulation = simulation_of(bad, diagnostics=diagnostics)
    found = diagnostics.take("unusable-device")
    assert found.message.startswith(f"'{device.name}' of body 'thing' is left out: ")
    assert found.at == AT
    for _ in range(20):
        assert device.name not in simulation.step()


@needs_opengl
def test_all_sensors_together_cannot_take_all_memory(diagnostics, monkeypatch):
    monkeypatch.setattr(world_sensors, "MAX_TOTAL_RAYS", 25)
    monkeypatch.setattr(world_sensors, "MAX_TOTAL_PIXELS", 2000)
    simulation = simulation_of(
        *(replace(SCAN, name=f"scan {i}") for i in range(4)),  # of 11 rays each
        *(replace(CAMERA, name=f"camera {i}", on=False) for i in range(4)),  # 768 pixels each
        diagnostics=diagnostics,
    )
    for name, limit in (("scan 2", 25), ("scan 3", 25), ("camera 2", 2000), ("camera 3", 2000)):
        message = diagnostics.take("unusable-device").message
        assert message.startswith(f"'{name}' of body 'thing' is left out: ")
        assert f"above {limit}" in message
    assert {"scan 0", "scan 1", "camera 0", "camera 1"} < set(simulation.sensors)


def test_noise_beyond_every_bound_is_refused():
    for name in ("force_stdev", "torque_stdev", "wrench_cutoff", "error_deviation"):
        with pytest.raises(ValueError, match=name):
            SensorSettings().with_values({name: 1e300})


CUBE = Shape(Box(np.ones(3)), at(z=-2.0).matrix())
BEYOND = Attribute(np.eye(3), np.array([[0, 1, 3]]))
PIXELS = np.full((2, 2, 3), 200, np.uint8)


@needs_opengl
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (Shape(Sphere(nan)), "a shape is not drawn: its coordinates"),
        (Shape(Sphere(1e300)), "a shape is not drawn: its coordinates"),
        (Shape(Box(np.ones(3)), at(1e30).matrix()), "a shape is not drawn: its coordinates"),
        (Shape(Mesh(np.eye(3) * 1e200, [[0, 1, 2]])), "a shape is not drawn: its coordinates"),
        (Shape(Mesh(np.eye(3), [[0, 1, 3]])), "its triangles refer to vertices"),
        (Shape(Mesh(np.eye(3), [[0, -1, 2]])), "its triangles refer to vertices"),
        (Shape(Mesh(np.zeros((0, 3)), [[0, 0, 0]])), "its triangles refer to vertices"),
        (Shape(Mesh(np.eye(3), [[0, 1, 2]], BEYOND)), "its triangles refer to vertices"),
        (replace(CUBE, material=Material(diffuse=(nan, 0.0, 0.0))), "the numbers of its material"),
        (replace(CUBE, material=Material(transparency=-1e300)), "the numbers of its material"),
        (
            replace(CUBE, material=Material(texture=Texture(image=PIXELS, rotation=inf))),
            "the numbers of its texture transform",
        ),
    ],
)
def test_looks_that_cannot_be_drawn_are_left_out(shape, words, diagnostics):
    code = "unreadable-texture" if shape.material.texture else "undrawable-shape"
    simulation = simulation_of(CAMERA, visual=(CUBE, shape), diagnostics=diagnostics)
    found = diagnostics.take(code)
    assert words in found.message
    assert code == "unreadable-texture" or "body 'thing', link 'BASE'" in found.message
    for _ in range(10):
        readings = simulation.step()
    assert len(np.unique(readings["camera"].color.reshape(-1, 3), axis=0)) > 1  # the cube is seen


@needs_opengl
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [Sphere(5e-324), Cylinder(0.1, 5e-324), Capsule(1e-300, 1.0)])
def test_a_shape_too_small_to_be_seen_is_no_matter(shape, diagnostics):
    simulation = simulation_of(CAMERA, visual=(CUBE, Shape(shape)), diagnostics=diagnostics)
    for _ in range(10):
        readings = simulation.step()
    assert readings["camera"].color is not None


@needs_opengl
def test_a_scene_too_large_is_drawn_in_part(diagnostics, monkeypatch):
    monkeypatch.setattr("hrp_sim.render.scene.MAX_TRIANGLES", 30)
    monkeypatch.setattr("hrp_sim.render.scene.MAX_TEXELS", 4)
    looks = [Material(texture=Texture(image=PIXELS + np.uint8(i))) for i in range(3)]
    cubes = [replace(CUBE, material=material) for material in looks]
    simulation_of(CAMERA, visual=cubes, diagnostics=diagnostics)
    assert "above 30 triangles" in diagnostics.take("undrawable-shape").message
    assert "have 4 pixels already" in diagnostics.take("unreadable-texture").message


@pytest.mark.filterwarnings("error")
def test_what_a_snapshot_says_of_times_to_come_is_forgotten():
    simulation = simulation_of(SCAN, FORCE, spread_scan=True, wrench_cutoff=10.0)
    for _ in range(25):
        simulation.step()
    arrays = dict(simulation.save().arrays)
    for name in [name for name in arrays if name.startswith("simulation/") and "_ns" in name]:
        arrays[name] = np.full_like(arrays[name], 2**62)
    simulation.restore(Snapshot(arrays))
    stamps = [r["scan"].time_ns for r in (simulation.step() for _ in range(40)) if "scan" in r]
    assert len(stamps) >= 3
    assert all(0 <= t <= simulation.state.time_ns for t in stamps)


def test_sensors_of_confusing_names_remember_each_for_itself():
    one = lone(placed(Sphere(0.1)))
    bodies = {"a": "b/memory/c", "a/memory/b": "c"}
    entries = []
    for i, (name, sensor) in enumerate(bodies.items()):
        body = replace(one, devices=(replace(FORCE, name=sensor),))
        entries.append(BodyEntry(placement=moving(body, at(x=float(i)), name=name)))
    options = SensorSettings().with_values({"wrench_cutoff": 10.0})
    simulation = Simulation(WorldConfig(sensors=options, bodies=tuple(entries)))
    kept = [name for name in simulation.save().arrays if name.endswith("/filtered")]
    assert len(kept) == 2


def test_switching_from_another_thread_without_pause_harms_nothing():
    simulation = simulation_of(SCAN, FORCE, IMU)
    steps = []
    runner = Run(simulation, [OnStep(lambda t, _: steps.append(t))], real_time_factor=0.0)
    told = []

    def torment():
        for i in range(300):
            name = ("scan", "force", "imu", "joint_states", "nobody")[i % 5]
            try:
                runner.call(lambda name=name, i=i: simulation.set_enabled(name, i % 2 == 0))
            except KeyError as error:
                told.append(str(error))
            if i % 50 == 10:
                runner.reset()
            (runner.pause if i % 20 == 5 else runner.resume)()
        runner.stop()

    thread = threading.Thread(target=torment)
    thread.start()
    runner.run()
    thread.join()
    assert runner.error is None
    assert len(told) == 120  # a lone body has no joint_states either
    assert all("there is" in message for message in told)
