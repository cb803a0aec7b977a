"""Servos of mimic joints, for engines that do not hold them by forces on both joints."""

from __future__ import annotations

import numpy as np

from hrp_model import Body

from ..engine.state import MAX_DRIVE_VALUE, BodyMotion, JointDrive


class MimicJoints:
    """Sets the servo targets of mimic joints from the positions of their leaders.

    Followers exert no force on their leaders then.

    Args:
        body: The model.

    Attributes:
        leaders: Name of the leader by the name of its follower.
    """

    def __init__(self, body: Body) -> None:
        index = {link.name: i for i, link in enumerate(body.moving_links)}
        mimics = [
            (i, link.joint.mimic)
            for i, link in enumerate(body.moving_links)
            if link.joint.mimic is not None and link.joint.mimic.link in index
        ]
        self._joints = np.array([i for i, _ in mimics], dtype=np.int64)
        self._leaders = np.array([index[mimic.link] for _, mimic in mimics], dtype=np.int64)
        self._multiplier = np.array([mimic.multiplier for _, mimic in mimics])
        self._offset = np.array([mimic.offset for _, mimic in mimics])
        self.leaders = {
            body.moving_links[i].joint.name: body.link(mimic.link).joint.name for i, mimic in mimics
        }

    def set_targets(self, motion: BodyMotion, drive: JointDrive) -> None:
        """Write target positions and velocities of the mimic joints."""
        largest = 0.5 * MAX_DRIVE_VALUE
        q = self._multiplier * motion.q[self._leaders] + self._offset
        drive.q[self._joints] = np.clip(q, -largest, largest)
        dq = self._multiplier * motion.dq[self._leaders]
        drive.dq[self._joints] = np.clip(dq, -largest, largest)
