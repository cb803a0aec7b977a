"""A world that runs: what a step returns, when, and what commands and resets do."""

from __future__ import annotations

import numpy as np
import pytest
from fake_engine import FakeEngine
from paths import MODELS, SHARED, needs_shared

from hrp_sim import JointCommand, PhysicsError, Simulation, load_world
from hrp_sim.sensors import ImageReading, RenderRequest

HUMANOID = MODELS / "worlds" / "humanoid_in_room.yaml"
ARM = MODELS / "worlds" / "arm.yaml"


def count_readings(simulation, seconds):
    counts = dict.fromkeys(simulation.sensors, 0)
    for _ in range(round(seconds * 1000)):
        for name in simulation.step():
            counts[name] += 1
    return counts


def test_every_sensor_is_read_at_its_own_rate():
    world = load_world(HUMANOID)
    simulation = Simulation(world, engine=FakeEngine(world.physics), defer_images=True)
    assert count_readings(simulation, 3.0) == {
        "joint_states": 1500,
        "odometry": 300,
        "gyro": 1500,
        "left_foot_force": 1500,
        "right_foot_force": 1500,
        "scanner": 60,
        "head_camera": 90,
    }


def test_a_reading_carries_the_time_of_its_step():
    world = load_world(ARM)
    simulation = Simulation(world, engine=FakeEngine(world.physics))
    for step in range(1, 100):
        for reading in simulation.step().values():
            assert reading.time_ns == step * 1_000_000


def test_what_nobody_wants_is_not_read():
    world = load_world(ARM)
    simulation = Simulation(world, engine=FakeEngine(world.physics))
    simulation.wanted = lambda name: name == "wrist_force"
    assert {name for _ in range(10) for name in simulation.step()} == {"wrist_force"}


def test_images_come_now_or_as_exposures():
    for defer, kind in ((False, ImageReading), (True, RenderRequest)):
        simulation = Simulation(load_world(HUMANOID), defer_images=defer)
        if "head_camera" not in simulation.sensors:
            pytest.skip("this machine has no EGL")
        simulation.wanted = lambda name: name == "head_camera"
        images = [r for _ in range(40) for r in simulation.step().values()]
        assert [type(image) for image in images] == [kind]
        simulation.close()


def test_a_command_moves_a_joint_and_a_reset_undoes_it():
    simulation = Simulation(load_world(ARM))
    simulation.wanted = lambda name: False
    start = simulation.state_hash()
    motion = simulation.bodies["arm"].motion
    name = simulation.bodies["arm"].body.moving_links[0].joint.name
    simulation.command("arm", JointCommand([name], position=[0.8]))
    for _ in range(1000):
        simulation.step()
    assert motion.q[0] == pytest.approx(0.8, rel=0.01)
    moved = simulation.state_hash()
    simulation.reset()
    assert simulation.state_hash() == start
    simulation.command("arm", JointCommand([name], position=[0.8]))
    for _ in range(1000):
        simulation.step()
    assert simulation.state_hash() == moved


def test_physics_that_fails_leaves_the_world_as_it_was():
    simulation = Simulation(load_world(ARM))
    simulation.step()
    before = simulation.state_hash()
    simulation.bodies["arm"].drive.effort[0] = np.nan
    with pytest.raises(PhysicsError, match="J1"):
        simulation.step()
    assert simulation.state_hash() == before
    simulation.bodies["arm"].drive.effort[0] = 0.0
    simulation.step()
    assert simulation.state.time_ns == 2_000_000


def test_two_robots_of_one_model_have_their_own_sensors(tmp_path):
    world = tmp_path / "two.yaml"
    model = MODELS / "arm" / "arm.body"
    world.write_text(
        f"bodies:\n- {{name: left, model: {model}, position: [0, 1, 0]}}\n"
        f"- {{name: right, model: {model}, position: [0, -1, 0]}}\n"
    )
    simulation = Simulation(load_world(world))
    assert {"left/wrist_force", "right/wrist_force"} <= simulation.sensors.keys()
    simulation.command("left", JointCommand(["J1"], position=[0.5]))
    for _ in range(500):
        simulation.step()
    left, right = (simulation.bodies[name].motion.q[0] for name in ("left", "right"))
    assert left > 0.4
    assert abs(right) < 0.01


@needs_shared
@pytest.mark.parametrize(
    "model",
    [
        "fkanehiro__openhrp3/sample/model/sample1.wrl",
        "choreonoid__choreonoid/share/model/SR1/SR1.body",
        "choreonoid__choreonoid/share/model/GR001/GR001.body",
    ],
)
def test_real_humanoids_stand_on_a_floor_untuned(model):
    simulation = Simulation(load_world(SHARED / "models" / model), defer_images=True)
    simulation.wanted = lambda name: False
    robot = next(b for b in simulation.bodies.values() if not b.body.is_static)
    start = robot.motion.p[0].copy()
    for _ in range(2000):
        simulation.step()
    assert np.linalg.norm(robot.motion.p[0] - start) < 0.05
    assert robot.motion.R[0, 2, 2] > 0.99
