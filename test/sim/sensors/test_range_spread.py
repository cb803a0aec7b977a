"""Scans that take their whole period, taken by a scanner that spins while it scans."""

from dataclasses import replace

import numpy as np
import pytest
from ray_oracle import distances
from sim.physics.scenes import Z, at, box_inertia, fixed, lone, moving, placed

from hrp_model import Pose, devices
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import axis_angle_matrix, rpy_matrix
from hrp_sim.control import LIMP
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.sensors import SensorSettings
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

DEGREE = np.pi / 180.0
R_SC = rpy_matrix(-np.pi / 2, np.pi / 2, 0.0)
SPIN = 20.0  # [rad/s]: two thirds of a turn in a tenth of a second
WALLS = [  # an asymmetric room around the origin
    (Box(np.array([0.2, 20.0, 9.0])), at(4.1)),
    (Box(np.array([0.2, 20.0, 9.0])), at(-2.1)),
    (Box(np.array([20.0, 0.2, 9.0])), at(y=3.1)),
    (Box(np.array([20.0, 0.2, 9.0])), at(y=-1.1)),
    (Box(np.array([20.0, 20.0, 0.2])), at(z=-0.6)),
    (Box(np.array([20.0, 20.0, 0.2])), at(z=2.1)),
]


def simulation(*, rate=10.0, step=0.001, options=None, **scan):
    scan = {"yaw_range": 270 * DEGREE, "yaw_step": 1 * DEGREE, "max_distance": 30.0} | scan
    device = devices.RangeSensor(
        name="laser", link="BASE", X_LS=Pose(R=R_SC.T), scan_rate=rate, **scan
    )
    top = lone(placed(Sphere(0.1)), name="top", inertia=box_inertia(1.0, [0.2, 0.2, 0.2]))
    bodies = [moving(replace(top, devices=(device,)), w=SPIN * Z)]
    for k, (geometry, X_WG) in enumerate(WALLS):
        bodies.append(replace(fixed(lone(placed(geometry)), X_WG), name=f"wall{k}"))
    return Simulation(
        WorldConfig(
            physics=PhysicsSettings(gravity=(0.0, 0.0, 0.0), time_step=step),
            sensors=SensorSettings(**{"spread_scan": True} | (options or {})),
            bodies=tuple(BodyEntry(placement=p, control=LIMP) for p in bodies),
        )
    )


def run(sim, duration):
    """Return the scans that appear, and when."""
    found = []
    for _ in range(round(duration / sim.engine.settings.time_step)):
        readings = sim.step()
        if "laser" in readings:
            found.append((sim.state.time_ns, readings["laser"]))
    return found


def expected_ranges(times, directions_C):
    """What a sensor that spins about the origin sees, each column from its own time [s]."""
    columns = []
    for k, time in enumerate(times):
        d = directions_C[:, k] @ axis_angle_matrix(Z, SPIN * time).T
        columns.append(distances(WALLS, np.zeros_like(d), d))
    return np.stack(columns, axis=1)


def cast_times(scan, columns, step):
    """When each column is cast, in [s]: in the first step at or after its time."""
    start = scan.time_ns * 1e-9
    return np.ceil((start + np.arange(columns) * scan.time_increment) / step - 1e-6) * step


def planar_directions(scan):
    a = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    return np.stack([np.cos(a), np.sin(a), np.zeros_like(a)], axis=1)[np.newaxis]


def test_each_ray_is_cast_from_where_the_sensor_is_then():
    scans = run(simulation(), 0.5)
    assert [(now, scan.time_ns) for now, scan in scans] == [
        (k * 100_000_000, (k - 1) * 100_000_000) for k in (2, 3, 4, 5)
    ]
    for _, scan in scans:
        assert scan.time_increment == pytest.approx(0.1 / 271, rel=1e-12)
        assert scan.scan_time == 0.1
        expected = expected_ranges(cast_times(scan, 271, 0.001), planar_directions(scan))
        np.testing.assert_allclose(scan.ranges, expected[0], rtol=1e-9)
        at_once = expected_ranges(np.full(271, scan.time_ns * 1e-9), planar_directions(scan))
        assert np.abs(scan.ranges - at_once[0]).max() > 1.0


def test_columns_of_layers_are_spread_alike():
    layers = {"pitch_range": 60 * DEGREE, "pitch_step": 20 * DEGREE, "yaw_step": 5 * DEGREE}
    scans = run(simulation(**layers), 0.3)
    assert len(scans) == 2
    for _, scan in scans:
        assert scan.ranges.shape == (4, 55)
        assert scan.time_increment == pytest.approx(0.1 / 55, rel=1e-12)
        expected = expected_ranges(cast_times(scan, 55, 0.001), scan.directions)
        np.testing.assert_allclose(scan.ranges, expected, rtol=1e-9)


@pytest.mark.parametrize(("rate", "step"), [(30.0, 0.001), (400.0 / 3.0, 0.001), (40.0, 0.003)])
def test_scans_follow_each_other_where_no_period_is_a_whole_number_of_steps(rate, step):
    scans = run(simulation(rate=rate, step=step, yaw_step=3 * DEGREE), 30 / rate + 2 * step)
    due = np.ceil(np.arange(1, 31) / rate / step - 1e-6) * step
    stamps = np.array([(scan.time_ns, now) for now, scan in scans]) * 1e-9
    np.testing.assert_allclose(stamps, np.stack([due[:-1], due[1:]], axis=1), atol=1e-9)
    for (_, scan), end in zip(scans[:8], due[1:], strict=False):
        assert 91 * scan.time_increment == pytest.approx(1 / rate, rel=1e-12)
        # The last rays of a scan that began late in its step do not wait for the next scan.
        times = np.minimum(cast_times(scan, 91, step), end)
        expected = expected_ranges(times, planar_directions(scan))
        np.testing.assert_allclose(scan.ranges, expected[0], rtol=1e-9)


def test_a_scan_of_a_sensor_that_does_not_move_is_that_of_all_at_once():
    def scan(spread):
        sim = simulation(options={"spread_scan": spread})
        sim.move(moving(sim.bodies["top"].body))
        return run(sim, 0.2)[-1][1].ranges

    np.testing.assert_array_equal(scan(True), scan(False))


def test_a_reset_gives_up_the_scan_that_is_being_taken():
    sim = simulation()
    first = run(sim, 0.35)
    sim.reset()
    again = run(sim, 0.35)
    assert [now for now, _ in again] == [now for now, _ in first] == [200_000_000, 300_000_000]
    for (_, one), (_, other) in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.ranges, other.ranges)


def test_a_scan_that_began_before_the_clock_was_put_back_is_given_up():
    """There is no stamp for it; nor is there in a snapshot that is taken then."""
    sim = simulation()
    run(sim, 0.25)
    sim.retime(0)
    snapshot = sim.save()
    scans = run(sim, 0.35)
    stamps = [(now, scan.time_ns) for now, scan in scans]
    assert stamps == [(200_000_000, 100_000_000), (300_000_000, 200_000_000)]
    sim.restore(snapshot)
    for (_, one), (_, other) in zip(scans, run(sim, 0.35), strict=True):
        np.testing.assert_array_equal(one.ranges, other.ranges)


def counted_rays(sim):
    """Count the rays that the sensor of a simulation asks for from now on."""
    counts, sensor = [], sim.sensors["laser"]
    cast_rays = sensor.cast_rays

    def count(origins, *rest):
        counts.append(len(origins))
        return cast_rays(origins, *rest)

    object.__setattr__(sensor, "cast_rays", count)
    return counts


def test_nothing_is_cast_while_nobody_listens():
    sim = simulation()
    counts = counted_rays(sim)
    sim.wanted = lambda _name: False
    assert run(sim, 0.25) == []
    assert counts == []


@pytest.mark.parametrize("pause", [0.001, 0.03, 0.1])
def test_a_scan_of_which_a_step_was_missed_is_not_told(pause):
    sim = simulation()
    run(sim, 0.25)
    sim.wanted = lambda _name: False
    run(sim, pause)
    sim.wanted = lambda _name: True
    times = [now for now, _ in run(sim, 0.6 - 0.25 - pause)]
    assert times[0] == (500_000_000 if pause > 0.05 else 400_000_000)
    assert np.all(np.diff(times) == 100_000_000)


def test_a_sensor_that_goes_off_and_on_begins_with_a_whole_scan():
    sim = simulation()
    run(sim, 0.25)
    sim.set_enabled("laser", False)
    sim.set_enabled("laser", True)
    (now, scan), *_ = run(sim, 0.25)
    assert (now, scan.time_ns) == (400_000_000, 300_000_000)


def test_whoever_reads_in_between_gets_nothing_and_spoils_nothing():
    plain, asked = simulation(), simulation()
    expected = run(plain, 0.35)
    found = run(asked, 0.25)
    assert asked.sensors["laser"].read(asked.state) is None
    found += run(asked, 0.1)
    for (_, one), (_, other) in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one.ranges, other.ranges)


def test_rays_are_cast_once_each_and_a_few_at_a_time():
    sim = simulation()
    run(sim, 0.1)
    counts = counted_rays(sim)
    run(sim, 0.1)
    assert sum(counts) == 271  # the last of this scan, and the first of the next
    assert max(counts) <= 4
