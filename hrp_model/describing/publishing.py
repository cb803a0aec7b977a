"""What of a body is published as TF, and when. Knows no ROS."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from ..body import Body, JointType, Link
from ..frames import BodyFrames, Frame, joint_pose


@dataclass(frozen=True, eq=False)
class FrameTree:
    """The frames of a body, split into those that stay and those that joints move.

    Attributes:
        fixed: Frames that never move relative to their parents.
        moving: By joint name: the link it moves, the link's frame and the parent's.
        floating: Names of links that float inside the body; no joint position tells where.
    """

    fixed: tuple[Frame, ...]
    moving: Mapping[str, tuple[Link, str, str]]
    floating: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        """All frames but the topmost."""
        return frozenset((*(f.name for f in self.fixed), *(x[1] for x in self.moving.values())))

    def moved(self, positions: Mapping[str, float]) -> list[Frame]:
        """Return the frames that these joints move, at their positions in [rad] or [m]."""
        frames = []
        for name, q in positions.items():
            link, frame, parent = self.moving[name]
            frames.append(Frame(frame, parent, joint_pose(link, q)))
        return frames


def frame_tree(body: Body, names: BodyFrames) -> FrameTree:
    """Return the frames of a body below its root."""
    fixed: list[Frame] = []
    moving: dict[str, tuple[Link, str, str]] = {}
    floating: list[str] = []
    for link in body.links[1:]:
        assert link.parent is not None
        frame, parent = names.links[link.name], names.links[link.parent]
        if link.joint.moves:
            moving[names.joints[link.name]] = (link, frame, parent)
        elif link.joint.type is JointType.FREE:
            floating.append(link.name)
        else:
            fixed.append(Frame(frame, parent, link.X_PL))
    return FrameTree((*names.base, *fixed, *names.fixed), moving, tuple(floating))


def frame_in_world(body: Body, names: BodyFrames, world: str) -> Frame:
    """Return the topmost frame of a body whose root is where the model puts it.

    Args:
        body: The robot.
        names: Its frames.
        world: Name of the frame of the world.
    """
    X_WF = body.root.X_PL
    for frame in reversed(names.base):  # from the root up
        X_WF = X_WF @ frame.pose.inverse()
    return Frame(names.root, world, X_WF)


class StampThrottle:
    """Lets joints through at a limited rate, judged by the stamps of their messages.

    The first message in each period of the stamps passes, so that what other nodes publish
    at multiples of the period has the same stamps. Each joint has its own account, so that
    two sources of joint states that know different joints do not starve one another.

    Args:
        frequency: Most messages per second for any one joint, in [Hz]; 0 lets all through.
    """

    def __init__(self, frequency: float) -> None:
        self._interval_ns = round(1e9 / frequency) if frequency > 0.0 else 0
        self._last: dict[str, int] = {}

    def lets_through(self, joints: Iterable[str], stamp_ns: int) -> bool:
        """Tell whether a message of these joints is due, and if so, count it as published.

        A stamp before the last one means that time began anew: that message is due.
        """
        names = list(joints)
        last = min((self._last.get(name, -1) for name in names), default=-1)
        interval = self._interval_ns
        if interval and 0 <= last <= stamp_ns and last // interval == stamp_ns // interval:
            return False
        self._last.update(dict.fromkeys(names, stamp_ns))
        return True


def usable_positions(
    names: Iterable[str], positions: Iterable[float], known: Container[str]
) -> tuple[dict[str, float], list[str]]:
    """Pair joint names with positions; return what can be used, and the names not known.

    Positions that are not finite mean "no position" and are left out.
    """
    usable: dict[str, float] = {}
    unknown: list[str] = []
    for name, position in zip(names, positions, strict=True):
        if name not in known:
            unknown.append(name)
        elif isfinite(position):
            usable[name] = position
    return usable, unknown
