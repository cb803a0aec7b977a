"""Torque sensors: the effort on their joint."""

import numpy as np
import pytest
from sim.sensors.factory_tools import sensors_of
from sim.sensors.handmade import arm_body, random_pose, simulated, world_of

from hrp_model import Body, Joint, JointType, Link, devices
from hrp_sim import Simulation
from hrp_sim.control import LIMP
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.world.config import BodyEntry, WorldConfig

AXIS = np.array([0.6, 0.0, 0.8])


def body_with(joint_type, device):
    links = (
        Link(name="BASE", parent=None, joint=Joint(type=JointType.FIXED, name="BASE")),
        Link(
            name="ARM",
            parent="BASE",
            joint=Joint(type=joint_type, name="J", id=0, axis=AXIS),
            mass=2.0,
            center_of_mass=np.array([0.0, 0.3, 0.0]),
            inertia=np.eye(3),
        ),
    )
    return Body(name="robot", links=links, devices=(device,))


@pytest.mark.parametrize(
    ("joint_type", "read"), [(JointType.REVOLUTE, "torque"), (JointType.PRISMATIC, "force")]
)
def test_it_reads_the_effort_of_its_joint_along_the_axis_in_its_own_frame(joint_type, read):
    X_LS = random_pose(np.random.default_rng(1))
    device = devices.TorqueSensor(name="strain", link="ARM", X_LS=X_LS)
    body = body_with(joint_type, device)
    entry = BodyEntry(placement=Placement(name="r", body=body, fixed=True), control=LIMP)
    config = WorldConfig(physics=PhysicsSettings(), bodies=(entry,))
    with Simulation(config) as simulation:
        simulation.command("r", effort={"J": 3.5})
        simulation.run(0.1)
        reading = simulation.sensors["strain"].read(simulation.state)
    expected = {"force": np.zeros(3), "torque": np.zeros(3), read: 3.5 * X_LS.R.T @ AXIS}
    np.testing.assert_allclose(reading.force, expected["force"], atol=1e-12)
    np.testing.assert_allclose(reading.torque, expected["torque"], atol=1e-12)


def test_without_a_moving_joint_it_is_left_out_with_a_warning(diagnostics):
    device = devices.TorqueSensor(name="strain", link="BASE")
    made = sensors_of(diagnostics, device, root=JointType.FIXED)
    assert "strain" not in [sensor.name for sensor in made]
    assert "neither turns nor slides" in diagnostics.take("unusable-device").message


def test_several_bodies_read_their_own_joints(diagnostics):
    device = devices.TorqueSensor(name="strain", link="ARM")
    robot = simulated(arm_body(device))
    robot.motion.effort[0] = 2.0
    (sensor,) = [s for s in sensors_of(diagnostics, device) if s.name == "strain"]
    np.testing.assert_array_equal(sensor.read(world_of(robot)).torque, (0.0, 0.0, 2.0))
