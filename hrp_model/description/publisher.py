"""Publish the description of a robot, and the frames of its links, which follow joint states."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field
from math import isfinite

from hrp_msgs import names, qos
from hrp_msgs.convert.tf import FrameNames, FramePose, MovingFrames, tf_message, transform
from hrp_msgs.messages import String, TFMessage
from hrp_msgs.topics.topic import TopicMaker

from ..diagnostics import counted, listed
from ..frames import Frame
from ..kinematics.loops import Gap
from ..kinematics.loops.mimic import ClosedLoops
from ..late_dataclass import dataclass
from ..rigid import matrix_quaternion
from .description import Description
from .frame_tree import NO_FRAMES, FrameTree, MovedFrame, MovedFrames

STALE_AFTER = 5.0  # [s]; the slowest publishers of joint states have 1 Hz
_MAX_LISTED = 10
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
MAX_FREQUENCY = 100.0  # [Hz], by default
_WARNING_PERIOD = 10.0  # [s] of repeating the same warning
_STATIC_NS = 0  # stamp of static transforms, in [ns]


class LastPositions:
    """The last position of each joint, including joints of other robots."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, float]] = {}
        self._restamped = 0

    def update(self, time_ns: int, joints: Sequence[str], positions: Sequence[float]) -> None:
        """Store finite positions in [rad] or [m] with their stamp in [ns].

        If a joint has a later stamp already, time was reset: all later positions are dropped.
        """
        last = self._last
        for name in joints:
            if name in last and last[name][0] > time_ns:
                self._last = last = {k: x for k, x in last.items() if x[0] <= time_ns}
                break
        for name, q in zip(joints, positions, strict=True):
            if isfinite(q):
                last[name] = time_ns, q

    def restamped(self, joints: Container[str]) -> dict[int, dict[str, float]]:
        """Return the positions of joints by new stamps in [ns], which were not used before.

        TF listeners drop repeated stamps. The new ones are a few nanoseconds later than the
        original ones, as the node's clock may differ from that of the joint states.
        """
        self._restamped += 1
        by_stamp: dict[int, dict[str, float]] = {}
        for name, (time_ns, q) in sorted(self._last.items(), key=lambda item: item[1][0]):
            if name in joints:
                by_stamp.setdefault(time_ns + self._restamped, {})[name] = q
        return by_stamp


class JointFollower:
    """Computes the moving frames of a robot from joint states, with statistics.

    Attributes:
        received: Number of messages.
        ignored: Number of messages that could not be used.
        published: Number of messages that led to frames.
        last_received: Time of the last message, in [s] of the caller's clock; None before the
            first.
        seen: Joints of the robot that have had a position.
        last: The last positions.
        unknown: Names that are not moving joints of the robot, in the order of appearance.
        computed: Joints whose positions were computed from others by closed loops.
        open_loops: Why loops are open in the last positions, as sentences.
        loop_residual: Largest gap of any loop; see ``closed_loops.Completed``.

    Args:
        tree: The frames of the robot.
        loops: Its closed loops.
        last: Last positions of a previous follower; by default none.
    """

    def __init__(
        self, tree: FrameTree, loops: ClosedLoops, last: LastPositions | None = None
    ) -> None:
        self._tree = tree
        self._loops = loops
        self.received = self.ignored = self.published = 0
        self.last_received: float | None = None
        self.seen: set[str] = set()
        self.unknown: dict[str, None] = {}
        self.last = LastPositions() if last is None else last
        self.computed: set[str] = set()
        self.open_loops: tuple[str, ...] = ()
        self.loop_residual = Gap(0.0, 0.0)
        self.set_max_frequency(0.0)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of all moving joints."""
        return tuple(self._tree.moving)

    @property
    def missing(self) -> list[str]:
        """Joints without a position so far, neither received nor computed."""
        return [n for n in self.joints if n not in self.seen and n not in self.computed]

    def set_max_frequency(self, frequency: float) -> None:
        """Limit the rate of frames; the next message passes in any case.

        Args:
            frequency: Maximum rate for each joint, by the stamps of its messages, in [Hz];
                0 means unlimited.
        """
        self._throttle = StampThrottle(frequency)

    def follow(
        self, time_ns: int, joints: Sequence[str], positions: Sequence[float], now: float
    ) -> MovedFrames:
        """Return the moved frames, including dependent joints of closed loops.

        Args:
            time_ns: Stamp of the message, in [ns].
            joints: Names, one per position.
            positions: In [rad] or [m]; values that are not finite are left out.
            now: Time at which the message was received, in [s].

        Returns:
            Empty if the rate limit has been reached.
        """
        self.received += 1
        self.last_received = now
        self.last.update(time_ns, joints, positions)
        known, unknown = usable_positions(joints, positions, self._tree.moving)
        self.unknown.update((name, None) for name in unknown if name not in self._tree.tracks)
        self.seen.update(known)
        if not known or not self._throttle.accept(known, time_ns):
            return NO_FRAMES
        self.published += 1
        completed, self.open_loops, self.loop_residual = self._loops.complete(known)
        self.computed.update(completed.keys() - known.keys())
        return self._tree.moved(completed)

    def repeated(self) -> dict[int, MovedFrames]:
        """Return the frames at the last positions, by new stamps in [ns].

        For frames that have got another name or pose although no joint has moved. The
        statistics and the rate limit do not change.
        """
        return {
            time_ns: self._tree.moved(self._loops.complete(positions).positions)
            for time_ns, positions in self.last.restamped(self._tree.moving).items()
        }


class StampThrottle:
    """Limits the rate of messages by their stamps.

    The first message in each period of the stamps passes, so that the stamps of several nodes
    agree. Joints are limited separately, so that several sources of joint states for different
    joints do not starve one another.

    Args:
        frequency: Maximum rate for each joint, in [Hz]; 0 means unlimited.
    """

    def __init__(self, frequency: float) -> None:
        self._interval_ns = round(1e9 / frequency) if frequency > 0.0 else 0
        self._last: dict[str, int] = {}

    def accept(self, joints: Iterable[str], stamp_ns: int) -> bool:
        """Return whether a message of these joints passes, and if so, record its stamp.

        A stamp before the last one means that time was reset: the message passes.
        """
        names = list(joints)
        last = min([self._last.get(name, -1) for name in names], default=-1)
        interval = self._interval_ns
        is_same = interval and 0 <= last <= stamp_ns and last // interval == stamp_ns // interval
        if is_same:
            return False
        self._last.update(dict.fromkeys(names, stamp_ns))
        return True


def usable_positions(
    names: Iterable[str], positions: Iterable[float], known: Container[str]
) -> tuple[dict[str, float], list[str]]:
    """Return the finite positions of known joints, and the unknown names."""
    usable: dict[str, float] = {}
    unknown: list[str] = []
    for name, position in zip(names, positions, strict=True):
        if name not in known:
            unknown.append(name)
        elif isfinite(position):
            usable[name] = position
    return usable, unknown


@dataclass(frozen=True)
class Health:
    """The health of one part of a node.

    Attributes:
        part: Name of the part.
        level: "ok", "warn", "error", or "stale" without recent messages.
        message: Summary in one line.
        values: Details by name.
    """

    part: str
    level: str
    message: str
    values: Mapping[str, object] = field(default_factory=dict)


def model_health(description: Description, changes: int, problem: str) -> Health:
    """Return the health of the model.

    Args:
        description: The published description.
        changes: How often it was replaced.
        problem: Why the last replacement failed; empty if it did not.
    """
    body, warnings = description.body, description.warnings
    values: dict[str, object] = {
        "model": body.name,
        "file": body.path or "",
        "links": len(body.links),
        "moving joints": len(body.moving_links),
        "devices": len(body.devices),
        "mass [kg]": body.total_mass,
        "changes": changes,
        "last change": problem or ("good" if changes else "none"),
        "warnings": len(warnings),
        **{f"warning {i}": text for i, text in enumerate(warnings[:_MAX_LISTED], 1)},
    }
    if problem:
        message = f"the new model is invalid, so the previous one is kept: {problem}"
        return Health("model", "error", message, values)
    if warnings:
        message = f"'{body.name}': {counted(len(warnings), 'warning')}, such as: {warnings[0]}"
        return Health("model", "warn", message, values)
    return Health("model", "ok", f"'{body.name}'", values)


class JointHealth:
    """Reports the health of the joint states since the previous report."""

    def __init__(self) -> None:
        self._last: tuple[float, int, int] | None = None

    def report(self, follower: JointFollower, now: float) -> Health:
        """Return the health since the last call.

        Args:
            follower: Receives the joint states.
            now: Time in [s], by the clock of the follower.
        """
        received_rate, published_rate = self._rates(follower, now)
        age = None if follower.last_received is None else now - follower.last_received
        missing = follower.missing
        values: dict[str, object] = {
            "joint_states [1/s]": received_rate,
            "age of the last [s]": "none received" if age is None else age,
            "ignored": follower.ignored,
            "/tf [1/s]": published_rate,
            "joints": len(follower.joints),
            "joints without position": listed(missing, _MAX_LISTED),
            "unknown joints": listed(list(follower.unknown), _MAX_LISTED),
            "computed joints": listed(sorted(follower.computed), _MAX_LISTED),
            "open loops": "; ".join(follower.open_loops),
            "loop residual [m]": follower.loop_residual.length,
            "loop residual [rad]": follower.loop_residual.angle,
        }
        level, message = _joint_status(follower, age, missing, received_rate)
        return Health("joint_states", level, message, values)

    def _rates(self, follower: JointFollower, now: float) -> tuple[float, float]:
        before, self._last = self._last, (now, follower.received, follower.published)
        if before is None or now <= before[0]:
            return 0.0, 0.0
        period = now - before[0]
        return (follower.received - before[1]) / period, (follower.published - before[2]) / period


class WarningThrottle:
    """Selects the problems to log: new ones, and lasting ones once per period.

    Problems that differ only in numbers count as the same.

    Args:
        period: Period of repeating a problem, in [s].
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._logged: dict[str, float] = {}

    def due(self, problems: Iterable[str], now: float) -> list[str]:
        """Return the problems to log at a time in [s], and record them as logged."""
        self._logged = {k: at for k, at in self._logged.items() if now < at + self._period}
        due = {_NUMBER.sub("#", problem): problem for problem in problems}
        due = {key: problem for key, problem in due.items() if key not in self._logged}
        self._logged.update(dict.fromkeys(due, now))
        return list(due.values())


def _joint_status(
    follower: JointFollower, age: float | None, missing: list[str], rate: float
) -> tuple[str, str]:
    """Return the level and the message of the joint states."""
    if not follower.joints:
        return "ok", "the robot has no moving joints"
    if age is None:
        return "stale", "no joint_states received yet"
    if age > STALE_AFTER:
        return "stale", f"no joint_states for {age:.0f} s"
    if follower.open_loops:
        return "warn", follower.open_loops[0]
    if missing:
        return "warn", f"no position received yet for {listed(missing, _MAX_LISTED)}"
    if follower.unknown:
        return (
            "warn",
            f"unknown joints in joint_states: {listed(list(follower.unknown), _MAX_LISTED)}",
        )
    return "ok", f"{rate:.0f} joint_states per second"


class DescriptionPublisher:
    """Publishes descriptions, one after the other, and the frames of their links.

    Args:
        topics: Creates the topics of the robot.
        warn: Called with each warning.
        semantics: Whether to publish ``robot_description_semantic``.
        tf: Whether to publish frames on ``/tf`` and ``/tf_static``.

    Attributes:
        description: The published description, after ``publish``.
        follower: Follows its joints, after ``publish``.
        frame_prefix: Prefix of all frame names.
        world_frame: Parent frame of the root; empty: no such transform.
        max_frequency: Maximum rate of frames in [Hz], from the next ``publish`` on; see
            ``JointFollower.set_max_frequency``.
    """

    description: Description
    follower: JointFollower

    def __init__(
        self,
        topics: TopicMaker,
        warn: Callable[[str], object],
        *,
        semantics: bool,
        tf: bool,
    ) -> None:
        self._urdf = topics.create(String, names.ROBOT_DESCRIPTION, qos.LATCHED)
        self._srdf = self._static = self._moving = None
        if semantics:
            self._srdf = topics.create(String, names.ROBOT_DESCRIPTION_SEMANTIC, qos.LATCHED)
        if tf:
            self._static = topics.create(TFMessage, names.TF_STATIC, qos.TF_STATIC)
            self._moving = topics.create(TFMessage, names.TF, qos.TF)
        self._moving_frames = MovingFrames()
        self.frame_prefix = self.world_frame = ""
        self.max_frequency = MAX_FREQUENCY
        self._warn = warn
        self._warnings = WarningThrottle(_WARNING_PERIOD)
        self._warned_of_world = False
        self._last_names: tuple[tuple[str, FrameNames], FrameNames] = ("", ()), ()

    def publish(self, description: Description, last: LastPositions | None = None) -> None:
        """Publish a robot, in place of a previous one with the given last joint positions."""
        self.description = description
        self.follower = JointFollower(description.tree, description.loops, last)
        self.follower.set_max_frequency(self.max_frequency)
        self._urdf.publish(String(data=description.urdf))
        if self._srdf is not None:
            self._srdf.publish(String(data=description.srdf))
        self.publish_fixed()
        self.publish_last_positions()
        for link in description.tree.floating:
            self._warn(f"no transform for link '{link}', which floats freely")

    def publish_fixed(self) -> None:
        """Publish the frames that do not move, such as after a change of their names."""
        frames = self._frame_poses(self.description.tree.fixed)
        if world := self.world_frame:
            [(_, top, p, xyzw)] = self._frame_poses([self.description.in_world(world)])
            own = (names.frame(x, self.frame_prefix) for x in self.description.frames.names)
            if world not in own:
                frames.append((world, top, p, xyzw))  # robots share the world frame: no prefix
            elif not self._warned_of_world:
                self._warned_of_world = True
                self._warn(
                    f"no transform from world_frame '{world}' to the model, as a frame of the "
                    "model has the same name"
                )
        if self._static is not None:
            self._static.publish(tf_message(transform(_STATIC_NS, *frame) for frame in frames))

    def publish_last_positions(self) -> None:
        """Publish the moving frames at the last positions, with new stamps."""
        for time_ns, frames in self.follower.repeated().items():
            self._publish_moved(time_ns, frames)

    def publish_initial_posture(self, time_ns: int) -> None:
        """Publish the moving frames at the initial joint positions, with a stamp in [ns]."""
        links = {name: link for name, (link, _, _) in self.description.tree.moving.items()}
        leaders = {name: x.joint for name, x in links.items() if x.joint.mimic is None}
        known = {name: joint.initial for name, joint in leaders.items()}
        if known and self._moving is not None and self._moving.has_subscribers():
            tree, loops = self.description.tree, self.description.loops
            self._publish_moved(time_ns, tree.moved(loops.complete(known).positions))

    def move(
        self,
        time_ns: int,
        joints: Sequence[str],
        positions: Sequence[float],
    ) -> None:
        """Publish the transforms of moved links, within the rate limit.

        Args:
            time_ns: Time of the positions, in [ns].
            joints: Names; unknown ones are reported once.
            positions: In [rad] or [m], one per name; values that are not finite are left out.
        """
        if frames := self._follow(time_ns, joints, positions):
            self._publish_moved(time_ns, frames)

    def _publish_moved(self, time_ns: int, frames: MovedFrames) -> None:
        if self._moving is not None:
            pairs = self._prefixed_names(frames.names)
            self._moving.publish(self._moving_frames.message(time_ns, pairs, frames.poses))

    def _follow(
        self, time_ns: int, joints: Sequence[str], positions: Sequence[float]
    ) -> MovedFrames:
        """Return the moved frames, and report problems."""
        follower, now = self.follower, time.monotonic()
        known = len(follower.unknown)
        frames = follower.follow(time_ns, joints, positions, now)
        if new := list(follower.unknown)[known:]:
            text = ", ".join(f"'{name}'" for name in new)
            self._warn(f"joint_states: unknown or fixed joints: {text}")
        for problem in self._warnings.due(follower.open_loops, now):
            self._warn(problem)
        return frames

    def _frame_poses(self, frames: Iterable[Frame]) -> list[FramePose]:
        return self._prefixed(
            MovedFrame(f.name, f.parent, tuple(f.pose.p.tolist()), matrix_quaternion(f.pose.R))
            for f in frames
        )

    def _prefixed_names(self, frames: FrameNames) -> FrameNames:
        """Return the names of frames with the prefix, which is the same for the next ones."""
        key, prefix = (self.frame_prefix, frames), self.frame_prefix
        if key != self._last_names[0]:
            pairs = ((names.frame(a, prefix), names.frame(b, prefix)) for a, b in frames)
            self._last_names = key, tuple(pairs)
        return self._last_names[1]

    def _prefixed(self, frames: Iterable[MovedFrame]) -> list[FramePose]:
        prefix = self.frame_prefix
        return [
            (names.frame(f.parent, prefix), names.frame(f.name, prefix), f.p, f.xyzw)
            for f in frames
        ]
