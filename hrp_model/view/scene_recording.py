"""Record the motion of robots as a document that a browser plays without a server."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

import numpy as np

from ..body import Body
from ..rigid import Array
from ..shapes.measure import union
from .robot import RobotView
from .viewer import Viewer

# Poses of all links of a body: p_WL of shape (links, 3), R_WL of shape (links, 3, 3).
LinkPoses = tuple[Array, Array]
# Motions that nobody sees are left out, in [m] and as elements of rotation matrices.
_VISIBLE = 2e-5


class SceneRecording:
    """Records robots and their motion.

    Attributes:
        notes: What is not drawn as in the models, as sentences.

    Args:
        bodies: The robots by name.
        poses: Poses of their links at first, by name of the robot.
    """

    def __init__(self, bodies: Mapping[str, Body], poses: Mapping[str, LinkPoses]) -> None:
        self._viewer = Viewer(port=0)
        try:
            self._robots = {name: RobotView(self._viewer, name, x) for name, x in bodies.items()}
            self.notes = [note for robot in self._robots.values() for note in robot.meshes.notes]
            self._shown = {name: (np.array(p), np.array(R)) for name, (p, R) in poses.items()}
            self._move()
            box = union(box for x in self._robots.values() if (box := x.bounds()) is not None)
            if box is not None:
                self._viewer.look_at(box)
            self._recorded = self._viewer.server.get_scene_serializer()
        except BaseException:
            self._viewer.close()
            raise

    def __enter__(self) -> SceneRecording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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

    def _move(self) -> None:
        for name, robot in self._robots.items():
            robot.move(*self._shown[name])
