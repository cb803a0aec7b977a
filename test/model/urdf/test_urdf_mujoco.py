"""The <mujoco_inputs> block, in MuJoCo itself."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from control_tools import silent, written
from paths import MODELS

from hrp_model import load_body
from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.devices import ForceSensor, Imu
from hrp_model.rigid import Pose, axis_angle_matrix, matrix_quaternion
from hrp_model.urdf import CommandInterface, Hardware

MASS, LENGTH = 2.0, 0.5


def pendulum(*devices, **joint):
    """Return a point mass below a joint about Y, on a fixed base."""
    root = Link(name="BASE", parent=None, joint=Joint(type=JointType.FIXED, name="BASE"))
    made = Joint(**{"type": JointType.REVOLUTE, "axis": [0, 1, 0], "name": "J", "id": 0, **joint})
    ball = Link(name="BALL", parent="BASE", joint=made, mass=MASS, center_of_mass=[0, 0, -LENGTH],
                inertia=0.02 * np.eye(3))  # fmt: skip
    return Body(name="pendulum", links=(root, ball), devices=devices)


def simulated(body, **options):
    """Return MuJoCo's model of a URDF with the block copied into it, and its state."""
    mujoco = pytest.importorskip("mujoco")
    robot, frames, _ = written(body, ros2_control=Hardware.MUJOCO, **options)
    plain = ElementTree.Element("robot", robot.attrib)
    plain.extend(x for x in robot if x.tag in ("link", "joint"))
    for link in plain.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(plain, encoding="unicode"))
    for device, frame in zip(body.devices, frames.devices, strict=True):
        # MuJoCo makes one body of what fixed joints join, and a site of what was a link.
        where = spec.body(frames.links[device.link]) or spec.worldbody
        x, y, z, w = matrix_quaternion(device.X_LS.R)
        where.add_site(name=frame, pos=device.X_LS.p, quat=[w, x, y, z])
    spec.compile()
    mjcf = ElementTree.fromstring(spec.to_xml())
    mjcf.extend(robot.find("mujoco_inputs/raw_inputs"))
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(mjcf, encoding="unicode"))
    state = mujoco.MjData(model)

    def run(seconds):
        for _ in range(round(seconds / model.opt.timestep)):
            mujoco.mj_step(model, state)

    return model, state, run, frames


def test_servos_hold_the_initial_posture_against_gravity():
    body = load_body(MODELS / "arm" / "arm.body", silent())
    model, state, run, frames = simulated(body)
    for link in body.moving_links:
        name = frames.joints[link.name]
        state.joint(name).qpos = link.joint.initial
        state.actuator(name).ctrl = link.joint.initial
    run(2.0)
    for link in body.moving_links:
        q = state.joint(frames.joints[link.name]).qpos[0]
        assert q == pytest.approx(link.joint.initial, abs=5e-3)
    assert model.nu == len(body.moving_links)


def test_a_position_is_reached_without_overshoot():
    _, state, run, _ = simulated(pendulum())
    state.actuator("J").ctrl = 0.5
    highest = 0.0
    for _ in range(200):
        run(0.005)
        highest = max(highest, state.joint("J").qpos[0])
    # What is left is the sag under its weight: m g l sin(q) / (w^2 I).
    assert 0.49 < state.joint("J").qpos[0] <= highest < 0.5


def test_a_velocity_is_kept():
    _, state, run, _ = simulated(pendulum(), command_interface=CommandInterface.VELOCITY)
    state.actuator("J").ctrl = 0.2
    run(1.0)
    assert state.joint("J").qvel[0] == pytest.approx(0.2, abs=0.05)


def test_an_effort_is_the_torque_of_the_joint_within_its_limit():
    body = pendulum(effort=Range(-5.0, 5.0))
    _, state, run, _ = simulated(body, command_interface=CommandInterface.EFFORT)
    state.actuator("J").ctrl = 100.0
    run(0.002)
    assert state.actuator("J").force[0] == pytest.approx(5.0)


def test_the_parts_of_sensors_read_what_ros2_control_expects_of_them():
    X_LS = Pose(axis_angle_matrix([1, 0, 0], np.pi / 2), [0.1, 0.0, 0.0])
    devices = (
        Imu(name="imu", link="BALL", X_LS=X_LS),
        ForceSensor(name="fts", link="BALL", X_LS=X_LS),
    )
    _, state, run, _ = simulated(pendulum(*devices))
    run(1.0)
    up = X_LS.R.T @ [0, 0, 1]
    np.testing.assert_allclose(state.sensor("imu_accel").data, 9.81 * up, atol=1e-3)
    np.testing.assert_allclose(state.sensor("imu_gyro").data, np.zeros(3), atol=1e-3)
    turned = state.sensor("imu_quat").data
    np.testing.assert_allclose(np.abs(turned), [np.sqrt(0.5), np.sqrt(0.5), 0, 0], atol=1e-3)
    # The link hangs: its weight on the parent is downward, about a point 0.1 m beside it.
    weight = -MASS * 9.81 * up
    arm = X_LS.R.T @ ([0, 0, -LENGTH] - X_LS.p)
    np.testing.assert_allclose(-state.sensor("fts_force").data, weight, atol=1e-3)
    np.testing.assert_allclose(-state.sensor("fts_torque").data, np.cross(arm, weight), atol=1e-2)


def test_the_broadcaster_turns_mujocos_wrench_round():
    _, _, data = written(
        pendulum(ForceSensor(name="fts", link="BALL")), ros2_control=Hardware.MUJOCO
    )
    multiplier = data["/**/fts_broadcaster"]["ros__parameters"]["multiplier"]
    assert multiplier == {what: dict.fromkeys("xyz", -1.0) for what in ("force", "torque")}


@pytest.mark.parametrize("command", [CommandInterface.POSITION, CommandInterface.VELOCITY])
def test_servos_of_links_without_mass_have_gains(command):
    body = pendulum()
    ball = replace(body.links[1], mass=0.0, inertia=np.zeros((3, 3)))
    body = replace(body, links=(body.root, ball))
    robot, _, _ = written(body, ros2_control=Hardware.MUJOCO, command_interface=command)
    (servo,) = robot.find("mujoco_inputs/raw_inputs/actuator")
    assert all(float(servo.get(gain, "1")) > 0.0 for gain in ("kp", "kv"))


@pytest.mark.parametrize("hardware", [None, Hardware.GZ])
def test_other_hardware_needs_none_of_it(hardware):
    robot, _, _ = written(pendulum(), ros2_control=hardware)
    assert robot.find("mujoco_inputs") is None
