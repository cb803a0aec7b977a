"""What a run comes to, against closed forms, and that watching it changes nothing."""

import re
from dataclasses import replace
from math import degrees, pi

import numpy as np
import pytest
from numpy.testing import assert_allclose
from paths import MODELS

from hrp_model import Diagnostics, load_body
from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.geometry import Box, Shape
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_sim import JointCommand, Simulation, load_world
from hrp_sim.control import HOLD, LIMP, vehicle_command
from hrp_sim.engine.engine import Placement
from hrp_sim.run.summary import RunRecorder, result_lines, result_of
from hrp_sim.world.config import BodyEntry, WorldConfig

FLOOR = load_body(MODELS / "floor.body")
G = 9.80665
X, Y, Z = np.eye(3)


def pillar(height=1.0, width=0.2, mass=1.0):
    """A free box on end, with its origin in the middle."""
    size = np.array([width, width, height])
    inertia = mass / 12.0 * np.diag(np.sum(size**2) - size**2)
    joint = Joint(type=JointType.FREE, name="root")
    link = Link(name="PILLAR", parent=None, joint=joint, mass=mass, inertia=inertia)
    shapes = (Shape(Box(size), np.eye(4)),)
    return Body(name="pillar", links=(replace(link, collision=shapes, visual=shapes),))


def at(body, z=0.0, lean=0.0, **options):
    name, fixed = options.pop("name", body.name), body.is_root_fixed
    X_WL = Pose(axis_angle_matrix(Y, lean), np.array([0.0, 0.0, z]))
    placement = Placement(name=name, body=body, X_WL=X_WL, fixed=fixed, **options)
    return BodyEntry(placement=placement, control=LIMP)


def simulation_of(*entries):
    return Simulation(
        WorldConfig(bodies=entries),
        defer_images=True,
        diagnostics=Diagnostics.silent(),
    )


def ran(simulation, seconds, before_step=lambda _: None):
    """Return the result of a run, and close the simulation."""
    watch = RunRecorder(simulation)
    for _ in range(round(seconds / simulation.engine.settings.time_step)):
        before_step(simulation)
        readings = simulation.step()
        watch.take_step(simulation.state.time_ns, readings)
    result = result_of(watch, "a world", 1.0)
    simulation.close()
    return result


def fall_of(result):
    return result.bodies["pillar"].fall


def test_what_stands_did_not_fall_and_bears_its_weight_on_its_contacts():
    result = ran(simulation_of(at(FLOOR), at(pillar(), 0.5)), 1.0)
    assert fall_of(result) == ""
    pillar_end = result.bodies["pillar"].end
    assert_allclose([pillar_end.p[2], pillar_end.tilt], [0.5, 0.0], atol=1e-3)
    assert not result.bodies["Floor"].free
    assert result.contacts == 4
    assert result.peak_force.force > G / 4.0 * 0.9
    assert {body for body, _ in result.peak_force.between} == {"Floor", "pillar"}
    assert "'pillar' did not fall: root at z = 0.500 m (at the start 0.500 m)" in "\n".join(
        result_lines(result)
    )


def test_what_tips_over_fell_by_its_tilt():
    result = ran(simulation_of(at(FLOOR), at(pillar(), 0.52, lean=0.4)), 3.0)
    # 90 degrees, less the initial 23 degrees.
    assert "it has tilted by 67 deg since the start" in fall_of(result)
    assert_allclose(result.bodies["pillar"].start.tilt, 0.4)
    assert_allclose(result.bodies["pillar"].end.tilt, pi / 2.0, atol=0.01)
    assert_allclose(result.bodies["pillar"].end.p[2], 0.1, atol=0.01)
    assert result.bodies["pillar"].fall


def test_a_slanted_start_is_no_fall():
    result = ran(simulation_of(at(FLOOR), at(pillar(), 0.1, lean=pi / 2.0)), 0.5)
    assert fall_of(result) == ""
    assert degrees(result.bodies["pillar"].end.tilt) == pytest.approx(90.0, abs=0.5)


def test_what_has_no_floor_falls_as_fast_as_gravity_makes_it():
    result = ran(simulation_of(at(pillar(), 0.0)), 1.0)
    assert fall_of(result) == f"it is falling at {G:.3g} m/s"
    assert result.contacts == result.max_contacts == 0
    assert result.peak_force is None
    assert "contacts: none" in result_lines(result)


def test_a_body_that_sinks_together_fell_and_one_that_drops_onto_its_feet_did_not():
    column = Joint(
        type=JointType.PRISMATIC, name="COLUMN", axis=Z, initial=0.5, position=Range(0.0, 0.5)
    )
    base, foot = pillar(0.1).links[0], pillar(0.1).links[0]
    foot = replace(foot, name="FOOT")
    top = replace(base, name="TOP", joint=Joint(type=JointType.FREE, name="root"))
    foot = replace(foot, parent="TOP", joint=replace(column, axis=-Z))
    body = Body(name="pillar", links=(top, foot))
    entry = at(body, 0.6, q=np.array([0.5]))
    assert "its root is 0.05" in fall_of(ran(simulation_of(at(FLOOR), entry), 1.0))
    high = replace(entry.placement, X_WL=Pose(np.eye(3), np.array([0.0, 0.0, 0.8])))
    held = replace(entry, placement=high, control=HOLD)
    assert fall_of(ran(simulation_of(at(FLOOR), held), 1.0)) == ""


def test_a_blow_is_seen_though_it_lasts_for_one_step():
    result = ran(simulation_of(at(FLOOR), at(pillar(0.2), 0.1 + 0.2)), 1.0)
    speed = np.sqrt(2.0 * G * 0.2)
    assert_allclose(result.peak_force.time_ns * 1e-9, speed / G, atol=2e-3)
    assert result.peak_force.force > 20.0 * G / 4.0


def test_the_largest_effort_is_told_with_its_share_of_the_limit():
    simulation = Simulation(load_world("arm"), defer_images=True)
    limit = simulation.bodies["arm"].body.moving_links[0].joint.effort[1]

    def drive(simulation):
        effort = 0.5 * limit if simulation.state.time_ns < 5_000_000 else -0.25 * limit
        simulation.command("arm", JointCommand(["J1"], effort=[effort]))

    result = ran(simulation, 0.02, drive)
    body, name, joint = result.hardest_joint
    assert (body, name) == ("arm", "J1")
    assert_allclose([joint.share, joint.largest_effort, joint.limit], [0.5, 0.5 * limit, limit])
    assert_allclose(joint.effort, -0.25 * limit)
    assert "50% of its limit" in "\n".join(result_lines(result))


def test_the_last_readings_are_summed_up_by_sensor():
    result = ran(Simulation(load_world("humanoid_in_room"), defer_images=True), 0.2)
    of = {name: dict(sensor.values) for name, sensor in result.sensors.items()}
    assert_allclose(of["gyro"]["acceleration"], G, rtol=0.01)
    assert_allclose(of["scanner"]["nearest"], 1.5, atol=0.05)
    assert result.sensors["head_camera"].image == (320, 240)
    assert result.sensors["joint_states"].samples == 100
    text = "\n".join(result_lines(result))
    assert "320 x 240 pixels, brightness" in text
    assert "nearest 1.5 m" in text


@pytest.mark.parametrize("world", ["humanoid_in_room", "rover", "press"])
def test_watching_changes_nothing_to_the_last_bit(world):
    def states(is_watched):
        simulation = Simulation(load_world(world), defer_images=True)
        watch = RunRecorder(simulation) if is_watched else None
        for _ in range(60):
            readings = simulation.step()
            if watch is not None:
                watch.take_step(simulation.state.time_ns, readings)
        state = simulation.state_hash()
        simulation.close()
        return state

    assert states(True) == states(False)


def test_bodies_that_come_later_are_met_and_another_simulation_begins_anew():
    simulation = simulation_of(at(FLOOR))
    watch = RunRecorder(simulation)
    simulation.spawn(at(pillar(), 0.5))
    for _ in range(20):
        readings = simulation.step()
        watch.take_step(simulation.state.time_ns, readings)
    result = result_of(watch, "", 1.0)
    assert result.bodies["pillar"].free
    assert result.max_contacts == 4
    simulation.remove("pillar")
    other = simulation_of(at(FLOOR))
    watch.follow(other)
    watch.take_step(0, {})
    assert result_of(watch, "", 1.0).max_contacts == 0
    simulation.close()
    other.close()


def test_the_simulated_time_of_a_run_is_that_of_its_steps_after_resets_and_in_other_worlds():
    simulation, other = simulation_of(at(FLOOR)), simulation_of(at(FLOOR))
    watch = RunRecorder(simulation)
    for followed, seconds in ((simulation, 0.3), (simulation, 0.1), (other, 0.2)):
        followed.reset()
        for _ in range(round(seconds / followed.engine.settings.time_step)):
            watch.follow(followed)
            readings = followed.step()
            watch.take_step(followed.state.time_ns, readings)
    result = result_of(watch, "", 2.0)
    assert_allclose([result.time, result.simulated], [0.2, 0.6])
    assert_allclose(result.real_time_factor, 0.3)
    simulation.close()
    other.close()


def test_of_many_bodies_those_that_fell_are_listed_first():
    standing = [at(pillar(), 0.5, name=f"s{i}") for i in range(11)]
    entries = [
        replace(e, placement=replace(e.placement, X_WL=Pose(np.eye(3), np.array([i, 0.0, 0.5]))))
        for i, e in enumerate(standing)
    ]
    lost = at(pillar(), 0.5, name="lost")
    lost = replace(
        lost, placement=replace(lost.placement, X_WL=Pose(np.eye(3), np.array([500.0, 0.0, 0.5])))
    )
    lines = result_lines(ran(simulation_of(at(FLOOR), *entries, lost), 0.3))
    assert lines[0].startswith("'lost' fell (it is falling at")
    assert lines[10] == "and 2 more free bodies, 0 of which fell"


def test_sensors_that_were_not_read_are_left_out_of_the_last_readings():
    rover = MODELS / "worlds" / "rover.yaml"
    unread = result_lines(ran(Simulation(rover, defer_images=True), 0.0))
    assert not any("last readings" in line or "mast_camera" in line for line in unread)
    read = result_lines(ran(Simulation(rover, defer_images=True), 0.1))
    assert "last readings:" in read
    assert any(line.startswith("  mast_camera  320 x 240 pixels") for line in read)


def test_a_vehicle_says_how_far_it_went_and_where_that_led():
    simulation = Simulation(MODELS / "worlds" / "rover.yaml", defer_images=True)
    watch = RunRecorder(simulation)

    def drive(seconds, speed):
        rover = simulation.bodies["rover"].body
        for _ in range(round(seconds / simulation.engine.settings.time_step)):
            simulation.command("rover", vehicle_command(rover, speed, 0.0))
            watch.take_step(simulation.state.time_ns, simulation.step())
        return result_of(watch, "a world", 1.0)

    ahead = drive(1.0, 0.5).bodies["rover"]
    away = np.linalg.norm(ahead.end.p - ahead.start.p)
    assert ahead.path_length == pytest.approx(0.5, abs=0.05)
    assert_allclose(ahead.path_length, away, rtol=0.02)
    simulation.reset()
    stayed = drive(0.1, 0.0)  # the way back of a reset is not one that it went
    assert stayed.bodies["rover"].path_length == pytest.approx(ahead.path_length, abs=0.01)
    back = drive(0.2, -0.5)
    simulation.close()
    assert back.bodies["rover"].path_length > ahead.path_length + 0.05
    assert re.match(
        r"'rover' did not fall: it went 0.\d+ m and ended 0.\d+ m from its start;",
        result_lines(back)[0],
    )
    assert "from its start" not in result_lines(stayed)[0]
