"""The bodies of a world in the planning scene of a robot, for MoveIt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from rclpy.node import Node

from hrp_model import Body, Pose
from hrp_model.late_dataclass import dataclass
from hrp_model.printable import printable
from hrp_model.rigid import Array, matrix_quaternion
from hrp_msgs import qos
from hrp_msgs.messages import not_installed
from hrp_msgs.topics.node_topics import NodeTopic

from ..engine.articulation.articulation import GeomKind
from ..engine.schedule import NS_PER_S
from ..engine.state import ContactPoints
from ..simulation import Simulation
from ..world.obstacles import Obstacle, obstacles

if TYPE_CHECKING:
    from hrp_msgs.topics.planning_scene import SceneChanges, SceneShape

# What is smaller is no motion: resting bodies tremble. In [m], and of a rotation matrix.
_MOVED = 1e-3
# Of the cosine between two directions that count as opposite.
_OPPOSITE = -0.7
# A new subscriber may find the publisher later than this finds the subscriber, in [s].
_REPEATED_AFTER = 2.0


@dataclass(frozen=True)
class PlanningRobot:
    """The robot whose motions are planned.

    Attributes:
        name: Its name in the world.
        frame: Name of the frame P in which MoveIt plans.
        pose: Returns the pose X_WP.
        links: Names of the links of its URDF, by those of the model.
    """

    name: str
    frame: str
    pose: Callable[[], Pose]
    links: Mapping[str, str]


@dataclass
class _Sent:
    """A body as MoveIt knows it.

    Attributes:
        obstacle: The body.
        shapes: Its shapes.
        p, R: Poses of its links when they were sent.
        link: Index of the link of the robot to which it is attached; -1 without.
    """

    obstacle: Obstacle
    shapes: list[SceneShape]
    p: Array
    R: Array
    link: int = -1

    def has_moved(self) -> bool:
        motion = self.obstacle.simulated.motion
        return _has_moved(motion.p, self.p) or _has_moved(motion.R, self.R)


class PlanningSceneTopic:
    """Publishes the bodies of a world as collision objects of MoveIt's planning scene.

    Each has the pose, the collision shapes and, as subframes, the links of a body. What a holder
    of the robot holds is attached to its link, what two of its links press from opposite sides to
    the link that carries these, until none touches it. Shapes are published once, and again when
    there is another subscriber: move_group subscribes without durability, so that a latched message
    would not reach it. After that only changes are published; subframes of a body with joints stay
    where they were, as MoveIt moves an object without them.

    Args:
        node: The node that publishes.
        name: Name of the topic.
        simulation: The simulation.
        robot: The robot, which is no obstacle.
        rate: Maximum rate in simulation time, in [Hz].

    Attributes:
        topic: The topic.

    Raises:
        ImportError: The package moveit_msgs is not installed.
        KeyError: The robot was deleted meanwhile.
        WrongUseError: The name or the quality of service of the topic is invalid.
    """

    def __init__(
        self, node: Node, name: str, simulation: Simulation, robot: PlanningRobot, rate: float
    ) -> None:
        from hrp_msgs.topics import planning_scene

        self._messages = planning_scene
        self._simulated = simulation.bodies[robot.name]
        self.topic = NodeTopic(
            node, planning_scene.SceneChanges.message_type, name, qos.PLANNING_SCENE
        )  # not recorded: recordings lack its definition
        self._simulation, self._robot = simulation, robot
        self._period_ns, self._next_ns = round(NS_PER_S / rate), 0
        self._last_ns = 0
        self._X_WP = robot.pose()
        self._sent: dict[str, _Sent] = {}
        self._closing = Lock()
        self._subscribers: frozenset[bytes] = frozenset()
        self._repeat_at: float | None = None

    def publish(self, *, is_halted: bool) -> None:
        """Publish what has changed, if it is due; called in the stepping thread.

        Args:
            is_halted: Whether the run is halted, so that each change is due.
        """
        time_ns = self._simulation.state.time_ns
        if not is_halted and self._last_ns <= time_ns < self._next_ns:
            return
        self._last_ns, self._next_ns = time_ns, time_ns + self._period_ns
        with self._closing:
            self._publish(time_ns)

    def _publish(self, time_ns: int) -> None:
        X_WP, again = self._robot.pose(), False
        if _has_moved(X_WP.p, self._X_WP.p) or _has_moved(X_WP.R, self._X_WP.R):
            self._X_WP, again = X_WP, True
        is_there = self._simulation.bodies.get(self._robot.name) is self._simulated
        # A removed robot is soon closed, in another thread.
        subscribers = self.topic.subscribers() if is_there else frozenset()
        if subscribers - self._subscribers:
            again, self._repeat_at = True, monotonic() + _REPEATED_AFTER
        elif self._repeat_at is not None and monotonic() > self._repeat_at:
            again, self._repeat_at = True, None
        if bool(subscribers) is not bool(self._subscribers):  # as it forgets those of this step
            self._simulation.record_contacts(self, on=bool(subscribers))
        self._subscribers = subscribers
        if not subscribers:
            return
        changes = self._messages.SceneChanges(time_ns, self._robot.frame)
        self._collect(changes, again=again)
        if (message := changes.message()) is not None:
            self.topic.publish(message)

    def close(self) -> None:
        """Remove all objects, as another world may follow, and close the topic."""
        with self._closing:
            changes = self._messages.SceneChanges(self._last_ns, self._robot.frame)
            for name, one in self._sent.items():
                _remove(changes, name, one)
            self._sent.clear()
            if (message := changes.message()) is not None:
                self.topic.publish(message)
            # So that a late ``publish`` leaves the simulation alone.
            self._subscribers = frozenset()
            self.topic.close()

    def release(self) -> None:
        """Need no contacts any more; called in the stepping thread after ``close``."""
        self._simulation.record_contacts(self, on=False)

    def _collect(self, changes: SceneChanges, *, again: bool) -> None:
        """Collect what has changed since the last message; with ``again`` also all that has not."""
        simulation, robot, sent = self._simulation, self._robot, self._sent
        bodies = simulation.bodies
        for name in [k for k, x in sent.items() if bodies.get(k) is not x.obstacle.simulated]:
            _remove(changes, name, sent.pop(name))
        held = self._held()
        if again:
            for name in [k for k, x in sent.items() if x.link == held.get(k, -1)]:
                del sent[name]
        new = {k: x for k, x in bodies.items() if k not in sent}
        fixed = [name for name in new if simulation.is_fixed(name)]
        added = obstacles(new, fixed, robot.name)
        for name, obstacle in added.items():
            sent[name] = _sent(obstacle, self._messages.SceneShape)
            if name not in held:  # else it is never in MoveIt's world
                self._add(changes, name)
        for name, one in sent.items():
            link = held.get(name, -1)
            if link != one.link:
                self._hold(changes, name, link)
            elif link < 0 and one.has_moved():
                self._move(changes, name)

    def _held(self) -> dict[str, int]:
        """Return the link of the robot that holds each body, by a joint or between others."""
        robot, model = self._robot.name, self._simulated.body
        found: dict[str, int] = {}
        for name, links in pressed(self._simulation.contacts(), robot).items():
            before = self._sent[name].link if name in self._sent else -1
            if not self._simulation.is_fixed(name) and (links is not None or before >= 0):
                found[name] = before if before >= 0 or links is None else above(model, *links)
        for joint in self._simulation.handling.joints.values():
            for (body, other), (link, _) in (
                (joint.bodies, joint.links),
                (joint.bodies[::-1], joint.links[::-1]),
            ):
                if body == robot and not self._simulation.is_fixed(other):
                    found[other] = link
        return found

    def _add(self, changes: SceneChanges, name: str) -> None:
        one = self._sent[name]
        obstacle = one.obstacle
        frames = {k: _placed(x) for k, x in obstacle.subframes().items()}
        changes.add(
            printable(name),
            _placed(self._X_WP.inverse() @ obstacle.pose()),
            zip(one.shapes, map(_placed, obstacle.part_poses()), strict=True),
            frames,
            obstacle.color,
        )

    def _move(self, changes: SceneChanges, name: str) -> None:
        one = self._sent[name]
        obstacle, motion = one.obstacle, one.obstacle.simulated.motion
        one.p, one.R = motion.poses()
        poses = map(_placed, obstacle.part_poses())
        has_joints = bool(obstacle.simulated.body.moving_links)
        changes.move(
            printable(name),
            _placed(self._X_WP.inverse() @ obstacle.pose()),
            zip(one.shapes, poses, strict=True) if has_joints else (),
        )

    def _hold(self, changes: SceneChanges, name: str, link: int) -> None:
        """Attach a body to a link of the robot, or, with -1, return it to the world."""
        one = self._sent[name]
        if one.link >= 0:
            changes.detach(printable(name))
        one.link = link
        if link < 0:
            self._move(changes, name)
            return
        robot = self._simulated
        X_WL = Pose(robot.motion.R[link], robot.motion.p[link])
        links = [self._robot.links[x.name] for x in robot.body.links]
        obstacle = one.obstacle
        changes.attach(
            printable(name),
            links[link],
            [links[i] for i in gripping_links(robot.body, link)],
            _placed(X_WL.inverse() @ obstacle.pose()),
            zip(one.shapes, map(_placed, obstacle.part_poses()), strict=True),
            {k: _placed(x) for k, x in obstacle.subframes().items()},
        )


def pressed(contacts: ContactPoints, robot: str) -> dict[str, tuple[int, int] | None]:
    """Return two links of a robot that press a body from opposite sides, as fingers do.

    For each body that touches the robot; None if there are no such links.
    """
    touching: dict[str, list[tuple[int, Array]]] = {}
    for bodies, links, normal in zip(
        contacts.bodies, contacts.links.tolist(), contacts.normal, strict=True
    ):
        for side, sign in ((0, 1.0), (1, -1.0)):
            if bodies[side] == robot != bodies[1 - side]:
                touching.setdefault(bodies[1 - side], []).append((links[side], sign * normal))
    found: dict[str, tuple[int, int] | None] = {}
    for name, points in touching.items():
        pairs = (
            (a, b)
            for i, (a, n) in enumerate(points)
            for b, m in points[:i]
            if a != b and float(n @ m) < _OPPOSITE
        )
        found[name] = next(pairs, None)
    return found


def above(body: Body, a: int, b: int) -> int:
    """Return the link that carries two links, such as the hand of two fingers."""
    chain = {a}
    while (a := body.parent_indices[a]) >= 0:
        chain.add(a)
    while b not in chain:
        b = body.parent_indices[b]
    return b


def gripping_links(body: Body, link: int) -> list[int]:
    """Return the links that may touch what a link holds, such as fingers.

    These are all links behind the last joint before it.
    """
    top, found = body.rigid_tops[body.links[link].name], list[int]()
    for i, parent in enumerate(body.parent_indices):  # parents are first
        if body.links[i].name == top or parent in found:
            found.append(i)
    return found


def _remove(changes: SceneChanges, name: str, one: _Sent) -> None:
    if one.link >= 0:
        changes.detach(printable(name))
    changes.remove(printable(name))


def _has_moved(now: Array, before: Array) -> bool:
    return bool(np.abs(now - before).max() > _MOVED)


def _sent(obstacle: Obstacle, make: type[SceneShape]) -> _Sent:
    shapes = [
        make(
            "mesh" if geom.kind is GeomKind.MESH else geom.kind.name.lower(),
            geom.size,
            geom.vertices,
            geom.triangles,
        )
        for _, geom in obstacle.parts
    ]
    return _Sent(obstacle, shapes, *obstacle.simulated.motion.poses())


def _placed(pose: Pose) -> tuple[Array, tuple[float, float, float, float]]:
    return pose.p, matrix_quaternion(pose.R)


def planning_scene(
    node: Node, name: str, simulation: Simulation, robot: PlanningRobot, rate: float
) -> PlanningSceneTopic | None:
    """Return the topic of a planning scene; None, with a warning, without moveit_msgs."""
    try:
        return PlanningSceneTopic(node, name, simulation, robot, rate)
    except ImportError:
        problem = f"{not_installed('moveit_msgs')}: there is no topic 'planning_scene'"
        node.get_logger().warning(problem, once=True)
        return None
