"""Record the motion of robots as a document that a browser plays without a server."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..body import Body
from ..rigid import Array
from ..shapes.measure import BoundingBox, union
from .robot import RobotView
from .viewer import Viewer

# Poses of all links of a body: p_WL of shape (links, 3), R_WL of shape (links, 3, 3).
LinkPoses = tuple[Array, Array]
# Motions that nobody sees are left out, in [m] and as elements of rotation matrices.
_VISIBLE = 2e-5
# Radius of the part of the scene that is shown at first, relative to that of the robots.
_MAX_PATH = 6.0


class SceneRecording:
    """Records robots and their motion.

    Attributes:
        notes: What is not drawn as in the models, as sentences.

    Args:
        bodies: The robots by name.
        poses: Poses of their links at first, by name of the robot.
        path: Points on the path of the robots in the world, which the page should show if they
            are not far away, in [m], shape (n, 3).
    """

    def __init__(
        self, bodies: Mapping[str, Body], poses: Mapping[str, LinkPoses], path: Array
    ) -> None:
        self._viewer = Viewer(port=0)
        try:
            self._robots = {name: RobotView(self._viewer, name, x) for name, x in bodies.items()}
            self.notes = [note for robot in self._robots.values() for note in robot.meshes.notes]
            self._shown = {name: (np.array(p), np.array(R)) for name, (p, R) in poses.items()}
            self._move()
            self._look_at(path)
            self._recorded = self._viewer.server.get_scene_serializer()
        except BaseException:
            self._viewer.close()
            raise

    def __enter__(self) -> SceneRecording:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._viewer.close()

    def wait(self, duration: float) -> None:
        """Let the robots rest for a duration in [s]."""
        self._recorded.insert_sleep(duration)

    def move(self, poses: Mapping[str, LinkPoses]) -> None:
        """Move the robots; links whose motion is not visible stay where they are."""
        for name, (p, R) in poses.items():
            shown_p, shown_R = self._shown[name]
            differs = np.abs(p - shown_p).max(axis=1) > _VISIBLE
            differs |= np.abs(R - shown_R).max(axis=(1, 2)) > _VISIBLE
            shown_p[differs], shown_R[differs] = p[differs], R[differs]
        self._move()

    def html(self) -> str:
        """Return the document; nothing may be recorded afterwards."""
        return str(self._recorded.as_html())

    def _look_at(self, path: Array) -> None:
        """Turn the camera to the robots that can move, or to all if there are none."""
        robots = list(self._robots.values())
        robots = [x for x in robots if not x.body.is_static] or robots
        start = union(box for x in robots if (box := x.bounds()) is not None)
        if start is None:
            return
        path = path[np.isfinite(path).all(axis=1)]
        boxes = [start, BoundingBox(path.min(axis=0), path.max(axis=0))] if len(path) else [start]
        whole = union(boxes)
        assert whole is not None
        is_near = whole.radius < _MAX_PATH * start.radius
        self._viewer.look_at(whole if is_near else start)

    def _move(self) -> None:
        for name, robot in self._robots.items():
            robot.move(*self._shown[name])
