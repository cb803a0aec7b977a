"""Our robots in our worlds: they stand, and feel and see what is there."""

import numpy as np
import pytest
from paths import MODELS

from hrp_sim.control import JointCommand
from hrp_sim.engine.engine import Solver
from hrp_sim.simulation import Simulation
from hrp_sim.world.load import load_world

G = 9.80665


def run(world, seconds):
    """Return the last reading of every sensor but cameras, and the state, after some time."""
    simulation = Simulation(load_world(MODELS / "worlds" / world))
    simulation.wanted = lambda name: not name.endswith("camera")
    latest = {}
    for _ in range(round(seconds * 1000)):
        latest.update(simulation.step())
    return latest, simulation.engine.state.bodies


@pytest.fixture(
    scope="module", params=["humanoid_in_room.yaml", "humanoid_body_in_room.yaml"], ids=str
)
def stood(request):
    return run(request.param, 1.0)


def test_the_humanoid_stands_still(stood):
    motion = stood[1]["humanoid"].motion
    np.testing.assert_allclose(motion.p[0], [0.0, 0.0, 0.76], atol=1e-4)
    np.testing.assert_allclose(motion.R[0], np.eye(3), atol=1e-4)
    np.testing.assert_allclose(motion.q, 0.0, atol=1e-4)


def test_its_feet_carry_its_weight_in_equal_parts(stood):
    left, right = (stood[0][f"{side}_foot_force"].force for side in ("left", "right"))
    np.testing.assert_allclose(left[2] + right[2], 41.7 * G, rtol=1e-3)
    np.testing.assert_allclose(left[2] + right[2], 42.0 * G, rtol=1e-2)
    np.testing.assert_allclose(left[2], right[2], rtol=1e-3)


def test_gyro_and_accelerometer_read_as_one_sensor(stood):
    assert "accelerometer" not in stood[0]
    np.testing.assert_allclose(stood[0]["gyro"].linear_acceleration, [0.0, 0.0, G], atol=0.02)
    np.testing.assert_allclose(stood[0]["gyro"].angular_velocity, 0.0, atol=1e-4)


@pytest.mark.parametrize(("degrees", "expected"), [(0, 2.88), (90, 2.0), (-90, 1.5), (-24, 1.752)])
def test_the_scan_sees_each_thing_on_its_own_side(stood, degrees, expected):
    scan = stood[0]["scanner"]
    assert len(scan.ranges) == 201
    ray = round((np.radians(degrees) - scan.angle_min) / scan.angle_increment)
    np.testing.assert_allclose(scan.ranges[ray], expected, atol=1e-3)


def test_the_arm_holds_its_posture_and_feels_its_tool():
    latest, bodies = run("arm.yaml", 1.0)
    q = bodies["arm"].motion.q
    np.testing.assert_allclose(q, [0.0, 0.5, 0.9, 0.0, 0.6, 0.0], atol=0.01)
    force = latest["wrist_force"].force
    np.testing.assert_allclose(np.linalg.norm(force), 0.3 * G, rtol=1e-3)
    # The tool pulls down on the wrist, which leans forward by the sum of the pitches.
    lean = q[1] + q[2] + q[4]
    np.testing.assert_allclose(
        force, 0.3 * G * np.array([np.sin(lean), 0, -np.cos(lean)]), atol=1e-2
    )


def test_the_rover_rests_on_its_tracks():
    latest, bodies = run("rover.yaml", 0.5)
    np.testing.assert_allclose(bodies["rover"].motion.p[0], [-1.0, 0.0, 0.17], atol=1e-3)
    np.testing.assert_allclose(latest["imu"].linear_acceleration, [0.0, 0.0, G], atol=0.02)
    ahead = len(latest["scanner"].ranges) // 2
    np.testing.assert_allclose(latest["scanner"].ranges[ahead], 3.78, atol=1e-3)


def test_the_rover_sees_walls_and_floor_in_sixteen_layers():
    latest, _ = run("rover.yaml", 0.2)
    points = latest["lidar"].points
    assert points.shape == (16, 180, 3)
    ahead, left = points[:, 90], points[:, 135]
    higher = np.radians(np.arange(-15, 16, 2)) > np.arctan(-0.775 / 4.15)
    np.testing.assert_allclose(ahead[higher, 0], 4.15, atol=2e-3)
    np.testing.assert_allclose(ahead[~higher, 2], -0.775, atol=2e-3)
    np.testing.assert_allclose(left[8:, 1], 2.0, atol=2e-3)
    assert np.isfinite(points).all()


def test_the_head_camera_measures_how_far_the_front_wall_is():
    simulation = Simulation(load_world(MODELS / "worlds" / "humanoid_in_room.yaml"))
    if "head_camera" not in simulation.sensors:
        pytest.skip("no OpenGL")
    simulation.wanted = lambda name: name == "head_camera"
    images = [simulation.step().get("head_camera") for _ in range(40)]
    (image,) = (image for image in images if image is not None)
    simulation.close()
    np.testing.assert_allclose(image.depth[120, 160], 2.88, rtol=1e-4)
    red, green = image.color[200, 62].astype(int), image.color[160, 253].astype(int)
    assert red[0] > 2 * max(red[1], red[2])
    assert green[1] > 2 * max(green[0], green[2])
    assert max(image.depth[200, 62], image.depth[160, 253]) < 2.2


def test_commanded_tracks_drive_the_rover_forward_and_turn_it_left(caplog):
    simulation = Simulation(load_world(MODELS / "worlds" / "rover.yaml"))
    simulation.wanted = lambda name: False
    motion = simulation.bodies["rover"].motion

    def drive(left, right):
        names = ["TRACK_L", "TRACK_R"]
        simulation.command("rover", JointCommand(names, velocity=[left, right]))
        for _ in range(1000):
            simulation.step()

    drive(0.3, 0.3)
    np.testing.assert_allclose(motion.v[0], [0.3, 0.0, 0.0], atol=0.006)
    drive(-0.2, 0.2)
    assert motion.w[0, 2] > 0.3
    assert not caplog.records


def test_blocks_slide_down_the_slope_as_their_materials_say():
    incline, up = np.radians(20.0), np.array([2.3321, 0.9020])
    slope = np.array([np.cos(incline), np.sin(incline)])
    bodies = run("slope.yaml", 1.0)[1]
    fell = {name: (up - b.motion.p[0, [0, 2]]) @ slope for name, b in bodies.items()}
    for name, friction in (("Ice", 0.05), ("Wood", 0.3)):
        way = G / 2.0 * (np.sin(incline) - friction * np.cos(incline))
        np.testing.assert_allclose(fell[name], way, rtol=0.01)
    assert abs(fell["Rubber"]) < 1e-4


def test_the_stack_stands():
    bodies = run("stack.yaml", 5.0)[1]
    for i in range(10):
        place = bodies[f"block{i}"].motion.p[0]
        np.testing.assert_allclose(place, [0.0, 0.0, 0.05 + 0.1 * i], atol=1e-3)


def test_the_press_runs_down_and_its_loop_stays_closed():
    simulation = Simulation(load_world(MODELS / "worlds" / "press.yaml"))
    simulation.wanted = lambda name: False
    motion = simulation.bodies["Press"].motion
    body = simulation.bodies["Press"].body
    crank, slide = (body.moving_links.index(body.link(name)) for name in ("CRANK", "SLIDE"))
    speeds = []
    for _ in range(8000):
        simulation.step()
        angle = motion.q[crank]  # from straight up, towards the slide
        rod = np.sqrt(0.26**2 - (0.10 * np.cos(angle)) ** 2)
        assert abs(0.24 + motion.q[slide] - (0.10 * np.sin(angle) + rod)) < 1e-4
        speeds.append(abs(motion.dq[crank]))
    assert max(speeds[:500]) > 18.0
    assert max(speeds[-500:]) < 1e-3, "friction holds it where it came to rest"


def test_efforts_that_take_turns_at_their_limits_do_not_hold_up_a_step():
    # With the iterative solver, bounding one effort of the standing humanoid brings another
    # beyond its range, which once went round for ever.
    config = load_world(MODELS / "worlds" / "humanoid_in_room.yaml")
    simulation = Simulation(config.with_physics(solver=Solver.QUICK))
    simulation.wanted = lambda name: False
    for _ in range(1000):
        simulation.step()
    assert simulation.bodies["humanoid"].motion.p[0, 2] > 0.7
