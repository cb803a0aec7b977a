"""Odometry from wheels: exact while none slips, with covariances that its errors have."""

from dataclasses import replace
from math import cos, pi, sin

import numpy as np
import pytest
from each_case import mostly_slow
from paths import MODELS
from sim.sensors.factory_tools import DarkRenderer, no_rays
from sim.sensors.handmade import GRAVITY, arm_body, simulated, world_of
from vehicles import car, vehicle, wheel

from hrp_model import Body, Diagnostics, Joint, JointType, Link, Pose, load_body
from hrp_model.geometry import Cylinder, Shape, Sphere
from hrp_model.kinematics.drive import drive_kinematics
from hrp_sim import BodyEntry, Placement, Simulation
from hrp_sim.control import vehicle_command
from hrp_sim.engine.engine import PhysicsError
from hrp_sim.engine.state import WorldState
from hrp_sim.sensors import IDEAL, OdometrySensor, SensorSettings, WheelOdometrySensor, make_sensors
from hrp_sim.sensors.body_state import motion_of_fixed_frame
from hrp_sim.world.config import WorldConfig

PERIOD_NS = 10_000_000
TICK = 0.02
RADIUS, TRACK = 0.1, 0.4
PAIR = (wheel("L", [0, 0.2, 0]), wheel("R", [0, -0.2, 0]))
PLANE = np.ix_([0, 1, 5], [0, 1, 5])


def sensor_of(body, diagnostics=None, seed=0, **options):
    settings = SensorSettings(odometry="wheels", **options)
    made = make_sensors(
        world_of(simulated(body)),
        GRAVITY,
        no_rays,
        DarkRenderer(),
        diagnostics or Diagnostics(),
        settings_of=lambda _body, _sensor: settings,
        seed=seed,
    )
    return next((s for s in made if isinstance(s, WheelOdometrySensor)), None)


def readings(sensor, body, positions):
    """Yield a reading for each row of joint positions, one period apart."""
    robot = simulated(body)
    for i, q in enumerate(positions):
        robot.motion.q[:] = q
        yield sensor.read(WorldState(i * PERIOD_NS, {"r1": robot}))


def pose(reading):
    x, y, _ = reading.position
    return np.array([x, y, 2.0 * np.arctan2(reading.orientation[2], reading.orientation[3])])


def turned(change):
    """Return a difference of poses, with its angle between -pi and pi."""
    return np.array([*change[:2], (change[2] + pi) % (2.0 * pi) - pi])


def test_two_wheels_make_arcs_whose_angle_is_the_difference_of_their_integrals():
    body = vehicle(*PAIR)
    speeds = np.repeat(np.random.default_rng(1).normal(size=(6, 2), scale=4.0), 30, axis=0)
    angles = np.cumsum([[3.0, -5.0], *(0.01 * speeds)], axis=0)
    found = list(readings(sensor_of(body), body, angles))
    x, y, yaw = 0.0, 0.0, 0.0
    np.testing.assert_allclose(pose(found[0]), 0.0, atol=1e-15)
    for left, right in speeds[::30] * 0.3 * RADIUS:  # distances
        turn = (right - left) / TRACK
        radius = 0.5 * (left + right) / turn
        x, y = x + radius * (sin(yaw + turn) - sin(yaw)), y - radius * (cos(yaw + turn) - cos(yaw))
        yaw += turn
    np.testing.assert_allclose(turned(pose(found[-1]) - [x, y, yaw]), 0.0, atol=1e-12)
    left, right = speeds[-1] * RADIUS
    np.testing.assert_allclose(found[-1].linear_velocity, [0.5 * (left + right), 0, 0], atol=1e-9)
    np.testing.assert_allclose(found[-1].angular_velocity, [0, 0, (right - left) / TRACK])
    assert found[-1].position[2] == pytest.approx(0.1)  # of the root above the floor


def test_a_car_goes_round_in_a_circle():
    rack = [wheel("RL", [0, 0.2, 0]), wheel("RR", [0, -0.2, 0])]
    tiny = Shape(Sphere(0.01))
    rack += [wheel("S", [0.5, 0, 0], axis=[0, 0, 1], shape=tiny), wheel("F", [0, 0, 0], parent="S")]
    body = vehicle(*rack)
    radius = 1.25
    angle = np.arctan2(0.5, radius)
    rolled = np.array([radius - 0.2, radius + 0.2, np.hypot(0.5, radius)]) / RADIUS
    names = [link.name for link in body.moving_links]
    positions = np.zeros((101, 4))
    positions[:, names.index("S")] = angle
    for name, distance in zip(("RL", "RR", "F"), rolled, strict=True):
        positions[:, names.index(name)] = distance * np.linspace(0.0, 2.0 * pi, 101)
    found = [pose(x) for x in readings(sensor_of(body), body, positions)]
    np.testing.assert_allclose(turned(found[-1]), 0.0, atol=1e-9)
    np.testing.assert_allclose(found[50][:2], [0.0, 2.0 * radius], atol=1e-9)


def test_errors_of_whole_pulses_do_not_add_up():
    joints = {"encoder_pulse": 100.0}
    body = vehicle(wheel("L", [0, 0.2, 0], **joints), wheel("R", [0, -0.2, 0], **joints))
    angles = np.outer(np.arange(500) * 0.01, [3.0, 3.0 + 1e-3])
    sensor = sensor_of(body, encoders=True, wheel_slip=0.0)
    *_, last = readings(sensor, body, angles)
    pulse = RADIUS * 2.0 * pi / 100.0
    assert abs(last.position[0] - RADIUS * angles[-1].mean()) <= pulse
    deviation = np.sqrt(np.diag(last.pose_covariance)[0])
    assert pulse / 6.0 < deviation < pulse
    with_speed = np.sqrt(np.diag(last.twist_covariance)[0])
    assert with_speed == pytest.approx(pulse / np.sqrt(12.0) / 0.01, rel=1e-3)


@pytest.mark.parametrize("angular", [0.0, 0.8], ids=["straight", "slalom"])
def test_errors_have_the_stated_covariance(angular):
    """The normalised errors squared of 100 runs have the mean of chi-squared, within 95 %."""
    body, runs, steps = vehicle(*PAIR), 100, 40
    turn = angular * np.sign(np.sin(2.0 * pi * np.arange(steps) / 20.0))
    speeds = (0.5 + np.outer(turn, [-0.5 * TRACK, 0.5 * TRACK])) / RADIUS
    angles = np.vstack([np.zeros(2), np.cumsum(0.01 * speeds, axis=0)])
    *_, exact = readings(sensor_of(body), body, angles)
    of_pose, of_twist = 0.0, 0.0
    for seed in range(runs):
        noisy = sensor_of(body, seed=seed, wheel_noise=0.03, wheel_slip=0.0)
        *_, last = readings(noisy, body, angles)
        error = turned(pose(last) - pose(exact))
        of_pose += error @ np.linalg.solve(last.pose_covariance[PLANE], error)
        v, w = last.linear_velocity - exact.linear_velocity, last.angular_velocity
        error = np.array([v[0], w[2] - exact.angular_velocity[2]])
        two = np.ix_([0, 5], [0, 5])
        of_twist += error @ np.linalg.solve(last.twist_covariance[two], error)
    # Quantiles 0.025 and 0.975 of chi-squared with 300 and 200 degrees of freedom.
    assert 253.9 < of_pose < 349.9
    assert 162.7 < of_twist < 241.1


def test_to_be_read_twice_or_again_after_a_reset_changes_nothing():
    body = vehicle(*PAIR)
    angles = np.random.default_rng(2).normal(size=(5, 2))
    sensor = sensor_of(body, wheel_noise=0.1)
    first = list(readings(sensor, body, angles))
    again = list(readings(sensor, body, angles[-1:] * np.ones((1, 2))))  # an earlier time
    np.testing.assert_array_equal(pose(again[0]), 0.0)
    sensor.reset()
    repeated = list(readings(sensor, body, angles))
    np.testing.assert_array_equal([pose(r) for r in repeated], [pose(r) for r in first])
    robot = simulated(body)
    robot.motion.q[:] = angles[-1]
    twice = sensor.read(WorldState(4 * PERIOD_NS, {"r1": robot}))
    np.testing.assert_array_equal(pose(twice), pose(first[-1]))
    np.testing.assert_array_equal(twice.twist_covariance, first[-1].twist_covariance)


def test_an_error_of_the_yaw_moves_the_origin_of_another_frame():
    body = vehicle(*PAIR)
    *_, last = readings(sensor_of(body), body, np.outer(np.arange(50), [0.1, 0.15]))
    moved = motion_of_fixed_frame(last, Pose(p=[0.5, -0.25, -0.1]))
    yaw = pose(last)[2]
    x, y = cos(yaw) * 0.5 + sin(yaw) * 0.25, sin(yaw) * 0.5 - cos(yaw) * 0.25
    A = np.array([[1.0, 0.0, -y], [0.0, 1.0, x], [0.0, 0.0, 1.0]])
    expected = A @ last.pose_covariance[PLANE] @ A.T
    np.testing.assert_allclose(moved.pose_covariance[PLANE], expected, rtol=1e-12)
    A = np.array([[1.0, 0.0, 0.25], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    expected = A @ last.twist_covariance[PLANE] @ A.T
    np.testing.assert_allclose(moved.twist_covariance[PLANE], expected, rtol=1e-12)


def test_robots_without_wheels_and_bodies_without_joints_keep_their_true_motion(diagnostics):
    settings = {
        "wheels": SensorSettings(odometry="wheels"),
        "none": SensorSettings(odometry="none"),
    }

    def followed(body, odometry):
        options = {"settings_of": lambda _body, _sensor: settings[odometry]}
        world, renderer = world_of(simulated(body)), DarkRenderer()
        made = make_sensors(world, GRAVITY, no_rays, renderer, diagnostics, **options)
        assert not any(isinstance(s, WheelOdometrySensor) for s in made)
        return next(s for s in made if isinstance(s, OdometrySensor)).followed

    assert followed(arm_body(), "wheels") == "truth"
    diagnostics.take("no-wheels")
    assert followed(arm_body(), "none") == "none"
    box = Body(name="box", links=vehicle().links)
    assert followed(box, "none") == followed(box, "wheels") == "truth"
    wide = sensor_of(vehicle(*PAIR), wheel_separation_multiplier=2.0)
    assert wide.kinematics.effective_track == pytest.approx(2.0 * TRACK)
    assert IDEAL.odometry == "truth"


def with_inertia(body, center=0.0):
    """Return a vehicle with a chassis of 10 kg, whose wheels have the inertia of discs."""
    root = {"mass": 10.0, "center_of_mass": [center, 0, 0], "inertia": np.diag([0.1, 0.1, 0.15])}
    heavy = replace(body.root, **root)
    others = [replace(x, inertia=np.diag([0.003, 0.005, 0.003])) for x in body.links[1:]]
    return replace(body, links=(heavy, *others))


BALL = Link(
    name="BALL",
    parent="CHASSIS",
    joint=Joint(type=JointType.FIXED, name="BALL"),
    X_PL=Pose(p=[-0.15, 0, -0.05]),
    mass=0.1,
    collision=(Shape(Sphere(0.05)),),
)
FOUR = [wheel(f"{s}{x}", [x, y, 0]) for x in (0.15, -0.15) for s, y in (("L", 0.2), ("R", -0.2))]
NARROW = {"shape": Shape(Cylinder(0.1, 0.004))}
VEHICLES = {
    "rover": load_body(MODELS / "rover" / "rover.body"),
    "two wheels": with_inertia(vehicle(*PAIR, BALL), -0.03),
    "four wheels": with_inertia(vehicle(*FOUR)),
    "car": with_inertia(car(velocity=(-20.0, 20.0))),
    "narrow wheels": with_inertia(
        vehicle(wheel("L", [0, 0.2, 0], **NARROW), wheel("R", [0, -0.2, 0], **NARROW), BALL), -0.03
    ),
}
# Bounds of the error of the yaw, relative to the sum of all turns: how well the effective track is
# known, which a caster changes.
OF_YAW = {"rover": 0.01, "two wheels": 0.03, "four wheels": 0.01, "car": 0.005}
# Forward velocity [m/s], yaw rate [rad/s] and duration [s].
PATHS = {
    "slalom": [(0.4, 0.8, 0.8), (0.4, -0.8, 1.2), (0.0, 0.0, 0.6)],
    "straight": [(0.5, 0.0, 2.0), (0.0, 0.0, 0.6)],
    "square": [(0.5, 0.0, 1.0), (0.0, pi / 4.0, 2.0)] * 4 + [(0.0, 0.0, 0.6)],
    "spin": [(0.0, pi / 4.0, 4.0), (0.0, 0.0, 0.6)],
}


def commands(path):
    """Yield the velocities of a path at each tick; they change within half a second."""
    before = np.zeros(2)
    for *wanted, duration in path:
        for t in np.arange(0.0, duration, TICK):
            yield before + (wanted - before) * min(1.0, (t + TICK) / 0.5)
        before = np.array(wanted)


def on_floor(body, odometry):
    """Return a simulation of a vehicle."""
    height = drive_kinematics(body).root_height
    floor = Placement(name="floor", body=load_body(MODELS / "floor.body"), fixed=True)
    placed = Placement(name="vehicle", body=body, X_WL=Pose(p=[0, 0, height]))
    config = WorldConfig(
        bodies=(BodyEntry(placement=floor), BodyEntry(placement=placed)),
        sensors=SensorSettings(odometry=odometry),
    )
    return Simulation(config, diagnostics=Diagnostics.silent())


def drive(body, path, then):
    """Drive a vehicle on a floor; call ``then`` with the simulation at first and after each tick.

    Returns the sum of all turns, in [rad].
    """
    turns = 0.0
    with on_floor(body, "wheels") as simulation:
        simulation.run(0.1)  # until it stands
        then(simulation)
        for linear, angular in commands(PATHS[path]):
            simulation.command("vehicle", vehicle_command(body, linear, angular))
            simulation.run(TICK)
            turns += abs(angular) * TICK
            then(simulation)
    return turns


def compared(body, path):
    """Return the error of odometry on a path, the truth, the last reading and all turns."""
    found = []

    def look(simulation):
        sensors = (simulation.sensors[k] for k in ("wheel_odometry", "odometry"))
        found.append([s.read(simulation.state) for s in sensors])

    turns = drive(body, path, look)
    measured, true = (turned(pose(b) - pose(a)) for a, b in zip(found[0], found[-1], strict=True))
    return turned(measured - true), true, found[-1][0], turns


@pytest.mark.parametrize("path", mostly_slow(PATHS, 1))
@pytest.mark.parametrize("name", mostly_slow(OF_YAW, 1))
def test_odometry_of_a_vehicle_on_a_floor_is_near_the_truth(name, path):
    error, _, last, turns = compared(VEHICLES[name], path)
    assert abs(error[2]) <= OF_YAW[name] * turns + 1e-3
    # The quantile 0.975 of chi-squared with three degrees of freedom.
    assert error @ np.linalg.solve(last.pose_covariance[PLANE], error) < 9.35
    if path == "straight":
        assert np.abs(error).max() < 1e-3


def test_a_caster_that_is_dragged_makes_wide_wheels_turn_less():
    """The caster's friction is overcome by rims, which slip against each other meanwhile.

    Loads per mu g, in [kg], at lever arms in [m]: of the caster 2.1 at 0.15, of each wheel 5, whose
    rims reach from b - h to b + h with b = 0.2 and h = 0.02. If a rim does not slip at b + s h, a
    share s of its friction pulls, and 5 (1 - s^2) h / 2 is the moment against its turning.
    """
    s = 0.0
    for _ in range(10):
        s = (2.1 * 0.15 + 2.0 * 5.0 * (1.0 - s**2) * 0.01) / (2.0 * 5.0 * 0.2)
    error, true, _, _ = compared(VEHICLES["two wheels"], "spin")
    assert error[2] / true[2] == pytest.approx(s * 0.02 / 0.2, rel=0.1)
    error, true, _, _ = compared(VEHICLES["narrow wheels"], "spin")
    assert abs(error[2] / true[2]) < 0.003


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_errors_against_a_simulated_motion_have_the_stated_covariance(path):
    """As by kinematics alone, above; a rim of 4 mm slips by a tenth of the noise."""
    body, rows = VEHICLES["narrow wheels"], []

    def record(simulation):
        rows.append(simulation.bodies["vehicle"].motion.q.copy())
        true.append(pose(simulation.sensors["odometry"].read(simulation.state)))

    true = []
    drive(body, path, record)
    total = 0.0
    for seed in range(100):
        *_, last = readings(
            sensor_of(body, seed=seed, wheel_noise=0.05, wheel_slip=0.0), body, rows
        )
        error = turned(pose(last) - turned(true[-1] - true[0]))
        total += error @ np.linalg.solve(last.pose_covariance[PLANE], error)
    assert 253.9 < total < 349.9  # as above


def test_a_snapshot_has_the_odometry_of_wheels_only_where_it_is_measured():
    """So snapshots from before there was such a sensor are restored."""
    body = VEHICLES["narrow wheels"]
    with on_floor(body, "truth") as simulation:
        true = simulation.save()
        assert not [name for name in true.arrays if "wheel_odometry" in name]
        assert len(true.arrays["simulation/vehicle/on"]) == len(simulation.devices)
    with on_floor(body, "wheels") as simulation:
        simulation.command("vehicle", vehicle_command(body, 0.5, 0.5))
        simulation.run(0.3)
        saved = simulation.save()
        [after, again] = [simulation.run(0.2)["wheel_odometry"] for _ in range(2)]
        simulation.restore(saved)
        repeated = simulation.run(0.2)["wheel_odometry"]
        np.testing.assert_array_equal(pose(repeated), pose(after))
        np.testing.assert_array_equal(repeated.pose_covariance, after.pose_covariance)
        assert again.position[0] > after.position[0] > 0.05
        with pytest.raises(PhysicsError, match="lacks 'vehicle/memory/wheel_odometry"):
            simulation.restore(true)
