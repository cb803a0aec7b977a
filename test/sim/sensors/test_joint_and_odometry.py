"""Joint vectors and the motion of the root, as they are in the state."""

import numpy as np
from sim.sensors.handmade import BASE, TIME_NS, arm_body, random_rotation, simulated, world_of

from hrp_model import Pose
from hrp_sim.sensors import JointSensor, OdometrySensor
from hrp_sim.sensors.body_state import motion_of_fixed_frame


def test_joint_reading_is_a_copy_of_the_joint_vectors():
    robot = simulated(arm_body())
    robot.motion.q[:], robot.motion.dq[:], robot.motion.effort[:] = 0.1, 0.2, 0.3
    sensor = JointSensor(name="joint_states", body="r1", rate_hz=500.0, joints=("SHOULDER",))
    reading = sensor.read(world_of(robot))
    robot.motion.q[:], robot.motion.dq[:], robot.motion.effort[:] = 7, 8, 9
    assert (reading.time_ns, reading.body, reading.names) == (TIME_NS, "r1", ("SHOULDER",))
    np.testing.assert_array_equal(reading.position, [0.1])
    np.testing.assert_array_equal(reading.velocity, [0.2])
    np.testing.assert_array_equal(reading.effort, [0.3])


def test_odometry_has_the_pose_in_the_world_and_the_twist_in_the_roots_axes():
    rng = np.random.default_rng(3)
    robot = simulated(arm_body())
    R, p, v, w = random_rotation(rng), *rng.normal(size=(3, 3))
    robot.motion.R[BASE], robot.motion.p[BASE] = R, p
    robot.motion.v[BASE], robot.motion.w[BASE] = v, w
    reading = OdometrySensor(name="odometry", body="r1", rate_hz=100.0).read(world_of(robot))
    assert (reading.time_ns, reading.body) == (TIME_NS, "r1")
    np.testing.assert_array_equal(reading.position, p)
    np.testing.assert_allclose(turned(reading.orientation, [1.0, 2.0, 3.0]), R @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(R @ reading.linear_velocity, v)
    np.testing.assert_allclose(R @ reading.angular_velocity, w)


def test_the_motion_of_another_frame_of_the_root_link_is_that_of_its_points():
    rng = np.random.default_rng(4)
    robot = simulated(arm_body())
    R, p, v, w = random_rotation(rng), *rng.normal(size=(3, 3))
    robot.motion.R[BASE], robot.motion.p[BASE] = R, p
    robot.motion.v[BASE], robot.motion.w[BASE] = v, w
    R_LB, p_LB = random_rotation(rng), rng.normal(size=3)
    reading = OdometrySensor(name="odometry", body="r1", rate_hz=100.0).read(world_of(robot))
    moved = motion_of_fixed_frame(reading, Pose(R_LB, p_LB))
    assert (moved.time_ns, moved.body) == (TIME_NS, "r1")
    np.testing.assert_allclose(moved.position, p + R @ p_LB)
    ahead = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(turned(moved.orientation, ahead), R @ R_LB @ ahead)
    np.testing.assert_allclose(R @ R_LB @ moved.linear_velocity, v + np.cross(w, R @ p_LB))
    np.testing.assert_allclose(R @ R_LB @ moved.angular_velocity, w)


def turned(xyzw, v):
    """Return a vector turned by a unit quaternion: v + 2 u x (u x v + w v)."""
    u, w = np.array(xyzw[:3]), xyzw[3]
    return v + 2.0 * np.cross(u, np.cross(u, v) + w * np.array(v))
