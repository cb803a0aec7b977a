"""A robot with scripted motion, and all messages that its nodes publish.

The nodes are in this process and are not spun: their messages are recorded instead.
"""

from __future__ import annotations

import copy
import threading
from collections import defaultdict
from contextlib import ExitStack, contextmanager

import numpy as np
import rclpy
from fake_engine import FakeEngine
from fake_middleware import Middleware
from message_bytes import read
from message_samples import ros_class
from rclpy.parameter import Parameter
from ros_peer import DOMAIN_ID
from sim.render.scenes import body_of, glowing
from sim.sensors.handmade import random_rotation

from hrp_model import Body, Joint, JointType, Link, Pose, devices
from hrp_model.geometry import Shape, Sphere
from hrp_model.kinematics import BodyState
from hrp_model.rigid import axis_angle_matrix
from hrp_msgs.topics.node_topics import NodeTopic
from hrp_sim import BodyEntry, PhysicsSettings, Placement, Simulation, WorldConfig
from hrp_sim.ros import sim_node
from hrp_sim.ros.sim_node import SimNode
from hrp_sim.run.run import Run
from hrp_sim.sensors import IDEAL

STEP = 1e-4  # [s]
STEP_NS = 100_000
PATIENCE = 300.0  # [s]
MARKER_RADIUS = 0.05
_ALWAYS = {"rate": 1.0 / STEP}  # a sample at every step


def unit(v):
    return v / np.linalg.norm(v)


class MovingRobot:
    """Three links that all move, with sensors mounted anywhere, in a room of oblique walls.

    Attributes:
        body: The robot. Scanners and the camera sample at every second step.
        walls: Normals, shape (6, 3), and distances from the origin, shape (6,).
        wrench: Force and torque that the parent applies to HAND about its origin, in W.
    """

    def __init__(self, seed, image_type=devices.ImageType.COLOR_POINT_CLOUD):
        self._rng = rng = np.random.default_rng(seed)
        self.body = self._make_body(image_type)
        self._p = rng.uniform(-0.3, 0.3, 3)
        self._R = random_rotation(rng)
        self._v, self._a, self._w = rng.uniform(-1.0, 1.0, (3, 3))
        self._q, self._dq, self._ddq = rng.uniform(-1.0, 1.0, (3, 2))
        self.wrench = rng.uniform(-50.0, 50.0, (2, 3))
        tilted = np.vstack([np.eye(3), -np.eye(3)]) + rng.uniform(-0.2, 0.2, (6, 3))
        self.walls = np.array([unit(n) for n in tilted]), rng.uniform(3.0, 5.0, 6)

    def at(self, time):
        """Return the robot's state at a time in [s]: its poses and all that moves it."""
        state = BodyState(self.body)
        state.p[0] = self._p + time * self._v + 0.5 * time**2 * self._a
        state.R[0] = axis_angle_matrix(unit(self._w), time * np.linalg.norm(self._w)) @ self._R
        state.v[0], state.w[0] = self._v + time * self._a, self._w
        state.dv[0], state.dw[0] = self._a, 0.0
        state.q[:] = self._q + time * self._dq + 0.5 * time**2 * self._ddq
        state.dq[:], state.ddq[:] = self._dq + time * self._ddq, self._ddq
        state.calc_forward_kinematics(velocity=True, acceleration=True)
        return state

    def mounting(self, name, time):
        """Return X_WS of a device at a time in [s]."""
        device = next(d for d in self.body.devices if d.name == name)
        state, i = self.at(time), self.body.link_index(device.link)
        return Pose(state.R[i], state.p[i]) @ device.X_LS

    def simulation(self, marker, settings=IDEAL):
        """Return a simulation of it, with a glowing ball at a point in W."""
        ball = Shape(Sphere(MARKER_RADIUS), np.eye(4), glowing((255, 0, 0)))
        options = dict.fromkeys(("joint_states", "odometry", "gyro", "wrist"), _ALWAYS)
        bodies = (
            BodyEntry(placement=Placement(name="robot", body=self.body), sensors=options),
            BodyEntry(
                placement=Placement(
                    name="marker", body=body_of("marker", (ball,)), X_WL=Pose(p=marker)
                )
            ),
        )
        config = WorldConfig(
            physics=PhysicsSettings(time_step=STEP),
            sensors=settings,
            bodies=bodies,
        )
        engine = FakeEngine(config.physics, self._move, self._cast_rays)
        return Simulation(config, engine=engine, defer_images=True)

    def _move(self, simulated, time):
        if simulated.name == "robot":
            motion, state = simulated.motion, self.at(time)
            names = {"p": "p", "R": "R", "v": "v", "w": "w", "a": "dv", "alpha": "dw", "q": "q"}
            for name, source in names.items():
                getattr(motion, name)[:] = getattr(state, source)
            motion.dq[:] = state.dq
            motion.force[-1], motion.torque[-1] = self.wrench

    def _cast_rays(self, origins, directions, *_):
        normals, distances = self.walls
        with np.errstate(divide="ignore"):
            t = (distances - origins @ normals.T) / (directions @ normals.T)
        return np.where(t >= 0.0, t, np.inf).min(axis=1)

    def _make_body(self, image_type):
        rng = self._rng
        links = [Link(name="BASE", parent=None, joint=Joint(type=JointType.FREE, name="BASE"))]
        for name, kind in (("ARM", JointType.REVOLUTE), ("HAND", JointType.PRISMATIC)):
            joint = Joint(type=kind, name=name, id=len(links) - 1, axis=unit(rng.normal(size=3)))
            X_PL = Pose(random_rotation(rng), rng.uniform(-0.4, 0.4, 3))
            links.append(Link(name=name, parent=links[-1].name, joint=joint, X_PL=X_PL))

        def mounted(name, link="HAND"):
            X_LS = Pose(random_rotation(rng), 0.3 * unit(rng.normal(size=3)))
            return {"name": name, "link": link, "X_LS": X_LS}

        imu = mounted("gyro")
        scans = {"scan_rate": 0.5 / STEP, "max_distance": 20.0}
        picture = {"frame_rate": 0.5 / STEP, "width": 160, "height": 100, "field_of_view": 1.0}
        return Body(
            name="robot",
            links=tuple(links),
            devices=(
                devices.RateGyroSensor(**imu),
                devices.AccelerationSensor(**{**imu, "name": "gsensor"}),
                devices.ForceSensor(**mounted("wrist")),
                devices.RangeSensor(**mounted("laser"), **scans, yaw_step=0.1),
                devices.RangeSensor(
                    **mounted("lidar", "ARM"), **scans, yaw_step=0.3, pitch_range=0.7
                ),
                devices.Camera(**mounted("eye"), **picture, image_type=image_type),
            ),
        )


class Recorder:
    """Records published messages, by topic without the slash; all topics seem to have subscribers.

    Attributes:
        messages: By topic, in order.
    """

    def __init__(self):
        self.messages = defaultdict(list)
        self._arrived = threading.Condition()

    def publish(self, topic, message):
        if isinstance(message, bytes):
            message = read(message, ros_class(topic.type_name.replace("/", "/msg/")))
        with self._arrived:
            self.messages[topic.name.lstrip("/")].append(copy.deepcopy(message))
            self._arrived.notify_all()

    def wait_for(self, topic):
        """Return the last message of a topic, as soon as there is one."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self.messages[topic], PATIENCE), topic
            return self.messages[topic][-1]


@contextmanager
def published(simulation, monkeypatch, frame_prefix="", parameters=(), **node_options):
    """Yield a Recorder, the simulation's node, and a function that steps and publishes."""
    recorder = Recorder()
    monkeypatch.setattr(
        NodeTopic, "publish", lambda topic, message: recorder.publish(topic, message)
    )
    monkeypatch.setattr(sim_node, "rcl_sender", Middleware().sender)  # all topics have subscribers
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN_ID)
    prefix = [Parameter("frame_prefix", value=frame_prefix)]
    described = Parameter("describe", value=True), Parameter("publish_frequency", value=0.0)
    with ExitStack() as undo:
        undo.callback(rclpy.shutdown, context=context)
        overrides = [*prefix, *described, *parameters]
        node = SimNode(
            lambda _: simulation, context=context, parameter_overrides=overrides, **node_options
        )
        undo.callback(node.close)
        run = undo.enter_context(Run(simulation, [node.world_topics]))
        yield recorder, node, lambda: run.until(simulation.state.time_ns + 1)
