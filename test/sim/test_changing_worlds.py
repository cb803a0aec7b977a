"""Simulations in which bodies come, go, jump and are pushed, and which are saved meanwhile."""

import queue
from dataclasses import replace

import numpy as np
import pytest
from fake_engine import FakeEngine
from paths import MODELS
from sim.physics.scenes import at, lone, moving

from hrp_model import Pose, load_body
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import (
    BodyEntry,
    ControlSettings,
    JointCommand,
    PhysicsError,
    PhysicsSettings,
    Placement,
    Simulation,
    WorldConfig,
    load_world,
)
from hrp_sim.control import JointControl
from hrp_sim.run.samplers import RenderThread
from hrp_sim.sensors import CameraSensor, SensorSettings

ARM = MODELS / "worlds" / "arm.yaml"
HUMANOID = MODELS / "worlds" / "humanoid_in_room.yaml"
WEIGHTLESS = WorldConfig(physics=PhysicsSettings(gravity=(0.0, 0.0, 0.0)))


@pytest.fixture(scope="module")
def arm_body():
    return load_body(MODELS / "arm" / "arm.body")


def arm_entry(body, name, y=1.0):
    placement = Placement(name=name, body=body, X_WL=at(0.0, y), fixed=True)
    return BodyEntry(placement=placement)


def ball(name="ball", **placement):
    inertia = np.eye(3) * 0.1
    return BodyEntry(placement=moving(lone(mass=2.0, inertia=inertia), name=name, **placement))


def run(simulation, steps):
    return [name for _ in range(steps) for name in simulation.step()]


def test_whoever_walks_through_the_bodies_is_not_disturbed_by_those_that_come_and_go():
    simulation = Simulation(WEIGHTLESS)
    simulation.spawn(ball("first"))
    before, seen = simulation.bodies, []
    for name in before:
        simulation.spawn(ball("second", X_WL=at(3.0)))
        simulation.remove("first")
        seen.append(name)
    assert seen == ["first"]
    assert list(simulation.bodies) == ["second"]
    simulation.close()


def test_sensors_come_and_go_with_their_body_and_others_keep_their_names(arm_body):
    simulation = Simulation(load_world(ARM))
    before = dict(simulation.sensors)
    assert "wrist_force" in before
    run(simulation, 7)
    simulation.spawn(arm_entry(arm_body, "second"))
    with_second = simulation.sensors
    assert {name: with_second[name] for name in before} == before
    assert with_second.keys() - before.keys() == {f"second/{name}" for name in before}
    assert {with_second[f"second/{name}"].body for name in before} == {"second"}
    assert "second/wrist_force" in run(simulation, 2)
    simulation.remove("arm")
    assert simulation.sensors.keys() == with_second.keys() - before.keys()
    simulation.spawn(arm_entry(arm_body, "third"))
    assert simulation.sensors["wrist_force"].body == "third"
    assert not set(run(simulation, 50)) - simulation.sensors.keys()


def test_samples_of_a_new_body_are_counted_from_its_beginning(arm_body):
    world = load_world(ARM)
    simulation = Simulation(world, engine=FakeEngine(world.physics))
    run(simulation, 3)  # its sensors are due every second step, at odd times
    simulation.spawn(arm_entry(arm_body, "second"))
    times = []
    for _ in range(1000):
        for name, reading in simulation.step().items():
            times += [reading.time_ns] if name == "second/wrist_force" else []
    assert times == list(range(5_000_000, 1_004_000_000, 2_000_000))
    simulation.reset()
    assert run(simulation, 1000).count("second/wrist_force") == 500


def test_a_spawned_body_is_driven_and_stays_after_a_reset(arm_body):
    simulation = Simulation(load_world(ARM))
    simulation.wanted = lambda name: False
    run(simulation, 100)
    second = simulation.spawn(arm_entry(arm_body, "second"))
    joint = arm_body.moving_links[0].joint.name
    simulation.command("second", JointCommand([joint], position=[0.5]))
    run(simulation, 1000)
    assert second.motion.q[0] == pytest.approx(0.5, abs=0.02)
    simulation.reset()
    assert second.motion.q[0] == 0.0
    assert simulation.is_fixed("second")
    run(simulation, 100)
    assert abs(second.motion.q[0]) < 0.01


@pytest.mark.parametrize(
    ("entry", "error", "words"),
    [
        (ball("arm"), PhysicsError, "the world has a body 'arm' already"),
        (ball("bad", X_WL=at(np.nan)), PhysicsError, "body 'bad', link 'BASE'"),
        (
            BodyEntry(
                placement=ball("bad").placement,
                control=ControlSettings(joints={"KNEE": JointControl()}),
            ),
            ValueError,
            "body 'bad' has no moving joint 'KNEE'",
        ),
        (
            BodyEntry(placement=ball("bad").placement, sensors={"odometri": {"rate": 5.0}}),
            ValueError,
            "the sensor 'odometri', which body 'bad' does not have",
        ),
        (
            BodyEntry(placement=ball("bad").placement, sensors={"odometry": {"rat": 5.0}}),
            ValueError,
            "sensors have no option 'rat'",
        ),
    ],
)
def test_a_body_that_is_refused_leaves_everything_as_it_was(entry, error, words):
    simulation, other = Simulation(load_world(ARM)), Simulation(load_world(ARM))
    run(simulation, 20)
    sensors, bodies = dict(simulation.sensors), dict(simulation.bodies)
    with pytest.raises(error, match=words):
        simulation.spawn(entry)
    assert simulation.sensors == sensors
    assert simulation.bodies == bodies
    run(simulation, 20)
    run(other, 40)
    assert simulation.state_hash() == other.state_hash()


def test_encoders_and_filters_do_not_feel_the_way_of_a_jump():
    def first_readings(**options):
        settings = SensorSettings(rate=1000.0, **options)
        simulation = Simulation(replace(load_world(ARM), sensors=settings))
        simulation.wanted = lambda name: name in ("joint_states", "wrist_force")
        run(simulation, 50)
        body = simulation.bodies["arm"].body
        turned = Pose(axis_angle_matrix(np.array([1.0, 0.0, 0.0]), np.pi / 2), np.ones(3))
        q = np.full(len(body.moving_links), 0.5)
        simulation.move(Placement(name="arm", body=body, X_WL=turned, q=q, fixed=True))
        return simulation.step()

    ideal, other = first_readings(), first_readings(encoders=True, wrench_cutoff=1.0)
    assert not other["joint_states"].velocity.any()
    np.testing.assert_allclose(other["joint_states"].position, 0.5, atol=1e-3)
    for part in ("force", "torque"):
        told, true = (getattr(readings["wrist_force"], part) for readings in (other, ideal))
        np.testing.assert_allclose(told, true, rtol=1e-12)


def test_what_was_meant_for_a_removed_body_is_forgotten(arm_body):
    simulation = Simulation(load_world(ARM))
    simulation.spawn(arm_entry(arm_body, "second"))
    simulation.command("second", JointCommand(["J1"], position=[0.5]))
    simulation.push("second", "BASE", np.ones(3), np.zeros(3), 1.0)
    simulation.step()
    simulation.push("second", "BASE", np.ones(3), np.zeros(3), 1.0)
    simulation.command("second", JointCommand(["J1"], position=[0.5]))
    simulation.remove("second")
    run(simulation, 5)
    newcomer = simulation.spawn(ball("second"))
    run(simulation, 5)
    assert newcomer.motion.v[0, 0] == 0.0
    for call in (
        lambda: simulation.remove("nobody"),
        lambda: simulation.move(ball("nobody").placement),
        lambda: simulation.push("nobody", "BASE", np.ones(3), np.zeros(3), 1.0),
    ):
        with pytest.raises(KeyError, match="no body 'nobody'; there is Floor, arm, second"):
            call()


def test_a_robot_that_jumped_holds_its_new_posture(arm_body):
    simulation = Simulation(load_world(ARM))
    q = np.full(len(arm_body.moving_links), 0.3)
    arm = simulation.bodies["arm"]
    X_WL = Pose(axis_angle_matrix(np.array([0.0, 0.0, 1.0]), 0.5), np.array([1.0, 0.0, 0.2]))
    fixed = simulation.is_fixed("arm")
    simulation.move(Placement(name="arm", body=arm.body, X_WL=X_WL, q=q, fixed=fixed))
    run(simulation, 300)
    np.testing.assert_allclose(arm.motion.q, q, atol=0.02)
    np.testing.assert_allclose(arm.motion.p[0], X_WL.p, atol=1e-12)


@pytest.mark.parametrize("duration", [0.5, 0.0105, 0.0001])
def test_a_push_gives_its_impulse_exactly(duration):
    simulation = Simulation(WEIGHTLESS)
    thing = simulation.spawn(ball())
    own = np.array([0.0, 0.1, 0.0])
    thing.wrench.force[0] = own
    force, torque = np.array([3.0, 0.0, -1.0]), np.array([0.0, 0.0, 0.2])
    simulation.push("ball", "BASE", force, torque, duration)
    run(simulation, 700)
    np.testing.assert_allclose(2.0 * thing.motion.v[0], force * duration + own * 0.7, rtol=1e-9)
    np.testing.assert_allclose(0.1 * thing.motion.w[0], torque * duration, rtol=1e-9)
    np.testing.assert_array_equal(thing.wrench.force[0], own)


def test_pushes_add_up_and_a_reset_ends_them():
    simulation = Simulation(WEIGHTLESS)
    thing = simulation.spawn(ball())
    x, none = np.array([1.0, 0.0, 0.0]), np.zeros(3)
    simulation.push("ball", "BASE", 2.0 * x, none, 0.1)
    run(simulation, 50)
    simulation.push("ball", "BASE", 3.0 * x, none, 0.1)
    run(simulation, 200)
    assert 2.0 * thing.motion.v[0, 0] == pytest.approx(0.5, rel=1e-9)
    simulation.push("ball", "BASE", x, none, 1.0)
    simulation.reset()
    run(simulation, 10)
    assert thing.motion.v[0, 0] == 0.0


def test_a_push_at_a_point_turns_the_body():
    """The point is of the link, so it turns with it; over one step that is the first arm."""
    R = axis_angle_matrix(np.array([0.0, 0.0, 1.0]), np.pi / 2)
    simulation = Simulation(WEIGHTLESS)
    thing = simulation.spawn(ball(X_WL=at(1.0, 2.0, 3.0, R=R)))
    simulation.push(
        "ball", "BASE", np.array([0.0, 0.0, 4.0]), np.zeros(3), 0.001, point=[0.5, 0, 0]
    )
    simulation.step()
    # The arm is 0.5 y in W, so the torque is 2 N m about x.
    np.testing.assert_allclose(0.1 * thing.motion.w[0], [0.002, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(2.0 * thing.motion.v[0], [0.0, 0.0, 0.004], atol=1e-15)


def test_a_push_on_a_step_that_fails_is_not_used_up():
    simulation = Simulation(WEIGHTLESS)
    thing = simulation.spawn(ball())
    simulation.push("ball", "BASE", np.array([1.0, 0.0, 0.0]), np.zeros(3), 0.01)
    thing.wrench.torque[0, 0] = np.nan
    with pytest.raises(PhysicsError, match="'BASE': the external force"):
        simulation.step()
    thing.wrench.torque[0, 0] = 0.0
    run(simulation, 20)
    assert 2.0 * thing.motion.v[0, 0] == pytest.approx(0.01, rel=1e-9)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"link": "HAND"}, KeyError),
        ({"force": np.array([0.0, 0.0, np.nan])}, ValueError),
        ({"force": np.zeros(2)}, ValueError),
        ({"force": np.zeros((3, 1))}, ValueError),
        ({"torque": np.array([0.0, 0.0, 1e30])}, ValueError),
        ({"point": np.array([np.inf, 0.0, 0.0])}, ValueError),
        ({"duration": 0.0}, ValueError),
        ({"duration": -1.0}, ValueError),
        ({"duration": np.nan}, ValueError),
        ({"duration": np.inf}, ValueError),
    ],
)
def test_a_push_that_makes_no_sense_is_refused(changes, error):
    simulation = Simulation(WEIGHTLESS)
    simulation.spawn(ball())
    push = {"link": "BASE", "force": np.ones(3), "torque": np.ones(3), "duration": 1.0} | changes
    with pytest.raises(error):
        simulation.push("ball", **push)
    simulation.step()


def test_cameras_see_who_came_and_not_who_went():
    simulation = Simulation(load_world(HUMANOID))
    camera = simulation.sensors.get("head_camera")
    if not isinstance(camera, CameraSensor):
        pytest.skip("this machine has no EGL")
    plain = camera.read(simulation.state).color
    early = camera.capture(simulation.state)
    rover = load_body(MODELS / "rover" / "rover.body")
    simulation.spawn(
        BodyEntry(placement=Placement(name="rover", body=rover, X_WL=at(2.0, 0.0, 0.5)))
    )
    assert np.any(camera.read(simulation.state).color != plain)
    np.testing.assert_array_equal(camera.render(early).color, plain)
    simulation.remove("rover")
    np.testing.assert_array_equal(camera.read(simulation.state).color, plain)
    simulation.close()


def test_what_a_camera_caught_before_it_went_can_still_be_developed():
    simulation = Simulation(load_world(HUMANOID), defer_images=True)
    camera = simulation.sensors.get("head_camera")
    if not isinstance(camera, CameraSensor):
        pytest.skip("this machine has no EGL")
    before = camera.read(simulation.state).color
    early = camera.capture(simulation.state)
    simulation.remove(camera.body)
    assert "head_camera" not in simulation.sensors
    images = queue.Queue()
    room = RenderThread(lambda name, image: images.put(image))
    room.submit("head_camera", lambda: camera.render(early))
    after = images.get(timeout=300).color
    room.close()
    # The room around it is there as ever.
    assert (after == before).all(axis=-1).mean() > 0.5
    simulation.close()


def busy(solver_world):
    """A simulation in the middle of everything: a command under way, a push, a newcomer."""
    simulation = Simulation(solver_world, defer_images=True)
    body = simulation.bodies["arm"].body
    run(simulation, 33)
    simulation.spawn(arm_entry(body, "second"))
    run(simulation, 20)
    simulation.command("second", JointCommand(["J1", "J2"], position=[1.5, -0.5]))
    simulation.push("arm", "BASE", np.array([1.0, 0, 0]), np.zeros(3), 0.1)
    simulation.push("second", body.links[-1].name, np.array([3.0, 5.0, 0]), np.ones(3), 0.1)
    run(simulation, 30)
    simulation.command("arm", JointCommand(["J2"], velocity=[0.4]))  # not taken yet
    return simulation


def test_a_saved_simulation_goes_on_with_commands_pushes_and_samples():
    world = load_world(ARM)
    simulation = busy(world)
    snapshot = simulation.save()
    ahead = run(simulation, 400)
    end = simulation.state_hash()
    simulation.restore(snapshot)
    assert run(simulation, 400) == ahead
    assert simulation.state_hash() == end
    fresh = Simulation(world, defer_images=True)
    fresh.spawn(arm_entry(fresh.bodies["arm"].body, "second"))
    fresh.command("arm", JointCommand(["J1"], position=[2.0]))  # forgotten
    fresh.restore(snapshot)
    assert run(fresh, 400) == ahead
    assert fresh.state_hash() == end


def test_saving_changes_nothing():
    world = load_world(ARM)
    simulation, other = busy(world), busy(world)
    for _ in range(10):
        simulation.save()
        run(simulation, 7)
    run(other, 70)
    assert simulation.state_hash() == other.state_hash()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("drives/arm/target", np.zeros(2), "shape"),
        ("drives/arm/target", None, "lacks 'target'"),
        ("simulation/more", np.zeros(2), "unknown part"),
        ("simulation/x/more", np.zeros(2), "unknown part"),
        ("pushes/link", np.zeros(9, dtype=np.int64), "shape"),
        ("pushes/link", np.array([0, 99]), "which this world does not have"),
        ("pushes/left_ns", np.array([0, 1]), "out of range"),
        ("pushes/wrench", np.full((2, 9), 1e20), "out of range"),
        ("pushes/body", np.array(["arm", "leg"]), "which this world does not have"),
        ("physics/bodies", np.array(["arm", "Floor"]), "lacks bodies of the world: 'second'"),
        ("physics/arm/group_p", np.zeros(0), "shape"),
    ],
)
def test_a_snapshot_that_does_not_fit_changes_nothing(name, value, words):
    simulation = busy(load_world(ARM))
    good = simulation.save()
    arrays = {k: v for k, v in good.arrays.items() if k != name}
    if value is not None:
        arrays[name] = value
    run(simulation, 10)
    before = simulation.save()
    with pytest.raises(PhysicsError, match=words):
        simulation.restore(type(good)(arrays))
    after = simulation.save()
    assert before.arrays.keys() == after.arrays.keys()
    for key, array in before.arrays.items():
        np.testing.assert_array_equal(array, after.arrays[key])
