"""The frames of a body, split into those that stay and those that joints move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..body import Body, JointType, Link
from ..frames import BodyFrames, Frame, joint_pose


@dataclass(frozen=True, eq=False)
class FrameTree:
    """The frames of a body, split into those that stay and those that joints move.

    Attributes:
        fixed: Frames that never move relative to their parents.
        moving: By joint name: the link it moves, the link's frame and the parent's.
        floating: Names of links that float inside the body; no joint position tells where.
        tracks: Names of joints whose positions tell how surfaces run, and move no frame.
    """

    fixed: tuple[Frame, ...]
    moving: Mapping[str, tuple[Link, str, str]]
    floating: tuple[str, ...]
    tracks: frozenset[str]

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
    tracks = [link for link in body.links if link.joint.type is JointType.TRACK]
    return FrameTree(
        (*names.base, *fixed, *names.fixed),
        moving,
        tuple(floating),
        frozenset(names.joints.get(x.name, x.joint.name) for x in tracks),  # none of the root's
    )


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
