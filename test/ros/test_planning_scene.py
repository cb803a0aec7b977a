"""The planning scene that MoveIt is given, applied as MoveIt applies it, against the world."""

import sys
from dataclasses import replace
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
from paths import MODELS
from ros_session import session
from sim.handling.lifters import box, entry, lifter
from sim.physics.scenes import PRISMATIC, at, child, floor, placed, root

from hrp_model.body import Body
from hrp_model.geometry import Box
from hrp_model.rigid import Pose, quaternion_matrix
from hrp_msgs import topics
from hrp_msgs.interfaces.build import HERE, is_missing
from hrp_sim import Simulation
from hrp_sim.ros import planning_scene
from hrp_sim.ros.planning_scene import PlanningRobot, PlanningSceneTopic
from hrp_sim.world.config import BodyEntry, WorldConfig
from hrp_sim.world.obstacles import GAP, planning_pose

IS_INSTALLED = not is_missing("moveit_msgs")
DEFAULTS = {"string": "", "bool": False, "float64": 0.0, "byte": b"\0"}


def stand_in(package, name):
    """Return a class with the fields and constants of a message that is not installed."""
    if not (HERE / package / "msg" / f"{name}.msg").is_file():
        return getattr(import_module(f"{package}.msg"), name)
    lines = (HERE / package / "msg" / f"{name}.msg").read_text().splitlines()
    constants = [line.split()[1].split("=") for line in lines if "=" in line]
    fields = [line.split() for line in lines if "=" not in line]

    def default(kind):
        if kind.endswith("[]"):
            return []
        if kind in DEFAULTS:
            return DEFAULTS[kind]
        owner, _, short = kind.rpartition("/")
        return stand_in(owner or package, short)()

    def make(self, **values):
        assert values.keys() <= {field for _, field in fields}
        for kind, field in fields:
            setattr(self, field, values.get(field, default(kind)))

    return type(name, (), {"__init__": make, **{k: bytes([int(v)]) for k, v in constants}})


@pytest.fixture
def messages(monkeypatch):
    """Make the module of messages importable."""
    if not IS_INSTALLED:
        module = ModuleType("moveit_msgs.msg")
        for path in (HERE / "moveit_msgs" / "msg").glob("*.msg"):
            setattr(module, path.stem, stand_in("moveit_msgs", path.stem))
        monkeypatch.setitem(sys.modules, "moveit_msgs", ModuleType("moveit_msgs"))
        monkeypatch.setitem(sys.modules, "moveit_msgs.msg", module)
        monkeypatch.delitem(sys.modules, "hrp_msgs.topics.planning_scene", raising=False)
    yield
    if not IS_INSTALLED:
        sys.modules.pop("hrp_msgs.topics.planning_scene", None)
        vars(topics).pop("planning_scene", None)


class FakeTopic:
    """A topic with subscribers, which keeps what is published."""

    def __init__(self, *_):
        self.ids, self.messages = {b"1"}, []

    def subscribers(self):
        return frozenset(self.ids)

    def publish(self, message):
        self.messages.append(message)

    def close(self):
        pass


def matrix(pose):
    X, q = np.eye(4), pose.orientation
    X[:3, :3] = quaternion_matrix([q.x, q.y, q.z, q.w])
    X[:3, 3] = pose.position.x, pose.position.y, pose.position.z
    return X


class MoveIt:
    """What setPlanningSceneDiffMsg of MoveIt 2.12 does: attached objects first, then the world.

    Attributes:
        world: Pose and number of shapes of each object.
        attached: Link, pose in the link, and the links that may touch, of each attached object.
    """

    def __init__(self, link_pose):
        self.world, self.attached, self._link_pose = {}, {}, link_pose

    def apply(self, scene):
        assert scene.is_diff
        assert scene.robot_state.is_diff
        for one in scene.robot_state.attached_collision_objects:
            name = one.object.id
            if one.object.operation == b"\1":
                link, X_LO, _, count = self.attached.pop(name)
                if name not in self.world:
                    self.world[name] = self._link_pose(link) @ X_LO, count
                continue
            assert one.object.operation == b"\0"
            assert one.object.header.frame_id == one.link_name
            self.world.pop(name, None)
            count = self._count(one.object)
            touch = list(one.touch_links)
            self.attached[name] = one.link_name, matrix(one.object.pose), touch, count
        for one in scene.world.collision_objects:
            if one.operation == b"\0":
                self.world[one.id] = matrix(one.pose), self._count(one)
            elif one.operation == b"\3":
                assert not one.primitives
                assert not one.meshes
                self.world[one.id] = matrix(one.pose), self.world[one.id][1]
            else:
                assert one.operation == b"\1"
                del self.world[one.id]

    @staticmethod
    def _count(one):
        assert len(one.primitives) == len(one.primitive_poses)
        assert len(one.meshes) == len(one.mesh_poses)
        assert one.primitives or one.meshes
        return len(one.primitives) + len(one.meshes)


class Scene:
    """A lifter whose cup is above a box on the floor, and what MoveIt knows of them."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(planning_scene, "NodeTopic", FakeTopic)
        self.bodies = (
            BodyEntry(placement=floor()),
            entry(lifter(), at(z=0.27), fixed=True),
            entry(box(), at(z=0.1)),
        )
        self.sim = sim = Simulation(WorldConfig(bodies=self.bodies))
        robot = sim.bodies["lifter"]
        links = {link.name: f"{link.name}_link" for link in robot.body.links}
        self.X_WP = planning_pose(robot, is_fixed=True)
        planned = PlanningRobot("lifter", "base", lambda: self.X_WP, links)
        self.topic = PlanningSceneTopic(None, "planning_scene", sim, planned, 10.0)
        self.moveit = MoveIt(self._link_pose)
        self.applied = 0

    def _link_pose(self, name):
        motion, index = self.sim.bodies["lifter"].motion, int(name == "HAND_link")
        return (self.X_WP.inverse() @ Pose(motion.R[index], motion.p[index])).matrix()

    def step(self, steps=1):
        for _ in range(steps):
            self.sim.step()
            self.topic.publish(is_halted=False)
        self.apply()

    def apply(self):
        new = self.topic.topic.messages[self.applied :]
        self.applied += len(new)
        for message in new:
            self.moveit.apply(message)
        return new

    def check(self, *names):
        """Check that these bodies are in MoveIt's world, where they are."""
        assert sorted(self.moveit.world) == sorted(names)
        for name, (X_PO, _) in self.moveit.world.items():
            place = (self.X_WP.matrix() @ X_PO)[:3, 3]
            place[2] += GAP if self.sim.is_fixed(name) else 0.0
            np.testing.assert_allclose(place, self.sim.bodies[name].motion.p[0], atol=2e-3)


@pytest.fixture
def scene(messages, monkeypatch):
    made = Scene(monkeypatch)
    yield made
    made.sim.close()


def test_moveit_knows_where_all_bodies_are(scene):
    scene.step(400)
    scene.check("floor", "box")
    count = scene.applied
    scene.step(200)
    assert scene.applied == count  # nothing moves
    scene.sim.push("box", "BASE", np.array([20.0, 0.0, 0.0]), np.zeros(3), 0.3)
    scene.step(int(1.0 / scene.sim.engine.settings.time_step))
    assert scene.sim.bodies["box"].motion.p[0, 0] > 0.01
    assert 0 < scene.applied - count <= 11  # ten a second
    scene.check("floor", "box")
    second = entry(box(), at(x=1.0, z=0.5), name="second")
    scene.sim.spawn(second)
    scene.topic.publish(is_halted=True)
    scene.apply()
    scene.check("floor", "box", "second")
    scene.sim.move(replace(second.placement, X_WL=at(x=2.0, z=0.5)))
    scene.sim.remove("box")
    scene.topic.topic.ids = {b"1", b"2"}  # at the same time
    scene.topic.publish(is_halted=True)
    scene.apply()
    scene.check("floor", "second")
    scene.topic.close()
    scene.apply()
    scene.check()
    assert scene.sim.engine.record_contacts
    scene.topic.release()
    assert not scene.sim.engine.record_contacts


def test_what_a_holder_holds_is_attached_to_its_link(scene):
    scene.step(50)
    scene.sim.handling.hold("cup")
    scene.step(200)
    scene.check("floor")
    link, X_LO, touch, _ = scene.moveit.attached["box"]
    assert link in touch
    before = (scene.X_WP.matrix() @ scene._link_pose(link) @ X_LO)[:3, 3]
    np.testing.assert_allclose(before, scene.sim.bodies["box"].motion.p[0], atol=2e-3)
    scene.moveit.world.clear()  # move_group is started again
    scene.moveit.attached.clear()
    scene.topic.topic.ids = {b"2"}  # in place of the first
    scene.step(200)
    scene.check("floor")
    assert list(scene.moveit.attached) == ["box"]
    scene.sim.handling.let_go("cup")
    scene.step(400)
    assert not scene.moveit.attached
    scene.check("floor", "box")
    scene.sim.handling.hold("cup")
    scene.step(200)
    scene.sim.remove("box")
    scene.topic.publish(is_halted=True)
    scene.apply()
    scene.check("floor")
    assert not scene.moveit.attached


def gripper():
    """A hand with two fingers along X, which close on what is between them."""
    finger = (placed(Box(np.array([0.05, 0.2, 0.2]))),)
    x = np.array([1.0, 0.0, 0.0])
    fingers = [
        child(name, "HAND", PRISMATIC, x, X_PL=at(x=place), id=i, mass=0.5, collision=finger)
        for i, (name, place) in enumerate({"LEFT": -0.2, "RIGHT": 0.2}.items(), 1)
    ]
    hand = child("HAND", "BASE", PRISMATIC, np.array([0.0, 0.0, 1.0]), id=0, mass=2.0)
    return Body(name="lifter", links=(root(), hand, *fingers))


def test_what_fingers_hold_is_attached_to_their_hand(scene):
    sim, robot = scene.sim, entry(gripper(), at(z=0.13), fixed=True)
    sim.remove("lifter")
    sim.spawn(robot)
    scene.X_WP = planning_pose(sim.bodies["lifter"], is_fixed=True)
    links = {link.name: f"{link.name}_link" for link in robot.placement.body.links}
    planned = PlanningRobot("lifter", "base", lambda: scene.X_WP, links)
    scene.topic, scene.applied = PlanningSceneTopic(None, "", sim, planned, 10.0), 0
    scene.step(100)
    scene.check("floor", "box")
    sim.command("lifter", {"LEFT": 0.085, "RIGHT": -0.085})
    scene.step(300)
    assert scene.moveit.attached["box"][0] == "HAND_link"
    assert {"LEFT_link", "RIGHT_link"} <= set(scene.moveit.attached["box"][2])
    count = scene.applied
    for on in (True, False) * 150:  # contacts stay known when another user comes or goes
        sim.step()
        sim.record_contacts("another", on=on)
        scene.topic.publish(is_halted=False)
    scene.apply()
    assert scene.applied == count
    sim.command("lifter", {"LEFT": 0.0, "RIGHT": 0.0})
    scene.step(300)
    assert not scene.moveit.attached
    scene.check("floor", "box")


def test_a_removed_robot_needs_nothing_until_its_topic_is_closed(scene):
    scene.step(50)
    scene.sim.remove("lifter")
    scene.topic.publish(is_halted=True)
    assert not scene.sim.engine.record_contacts
    scene.topic.close()
    scene.apply()
    scene.check()


def test_nothing_is_computed_without_subscribers(scene):
    scene.topic.topic.ids = set()
    scene.step(300)
    assert not scene.topic.topic.messages


def test_a_node_publishes_it_where_moveit_is_installed(tmp_path):
    world = tmp_path / "world.yaml"
    world.write_text(
        f"bodies:\n  - model: {MODELS}/floor.body\n"
        f"  - {{model: {MODELS}/lifter/lifter.body, name: lifter, position: [0, 0, 0.5]}}\n"
    )
    with session({"world": str(world), "planning_scene_rate": 10.0, "describe": True}) as running:
        node = running.ros.node
        (body,) = (b for k, b in node.world_topics.bodies.items() if k == "lifter")
        robot = body._planning_robot()
        assert (robot.frame, robot.pose().p.tolist()) == ("base_link", [0.0, 0.0, 0.5])
        if not IS_INSTALLED:
            assert "/planning_scene" not in {name for name, _ in node.get_topic_names_and_types()}
            pytest.skip("the package moveit_msgs is not installed")
        from moveit_msgs.msg import PlanningScene
        from ros_peer import Peer

        peer = Peer()
        try:
            peer.follow("planning_scene", PlanningScene)
            peer.wait_for("planning_scene")
            (found,) = peer.messages["planning_scene"][0].world.collision_objects
            assert (found.id, found.header.frame_id) == ("Floor", "base_link")
            assert found.pose.position.z == pytest.approx(-0.5 - GAP)
        finally:
            peer.close()
