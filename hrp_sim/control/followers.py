"""Joints that follow others by the model's word, as the second finger of a gripper does."""

from __future__ import annotations

import numpy as np

from hrp_model import Body

from ..physics.state import MAX_DRIVE_VALUE, BodyMotion, JointDrive


class Followers:
    """Aims the servos of joints that follow others at where those have come to.

    A leader feels nothing of its followers: they stand for a gear that is stiff enough.

    Args:
        body: The model.

    Attributes:
        leaders: Name of the joint that each joint follows, by its own.
    """

    def __init__(self, body: Body) -> None:
        index = {link.name: i for i, link in enumerate(body.moving_links)}
        told = [(i, x.joint.mimic) for i, x in enumerate(body.moving_links)]
        mimics = [(i, mimic) for i, mimic in told if mimic is not None and mimic.link in index]
        self._joints = np.array([i for i, _ in mimics], dtype=np.int64)
        self._leaders = np.array([index[mimic.link] for _, mimic in mimics], dtype=np.int64)
        self._multiplier = np.array([mimic.multiplier for _, mimic in mimics])
        self._offset = np.array([mimic.offset for _, mimic in mimics])
        self.leaders = {
            body.moving_links[i].joint.name: body.link(mimic.link).joint.name for i, mimic in mimics
        }

    def aim(self, motion: BodyMotion, drive: JointDrive) -> None:
        """Write where the joints that follow must be, and how fast they must move."""
        if not len(self._joints):
            return
        largest = 0.5 * MAX_DRIVE_VALUE
        q = self._multiplier * motion.q[self._leaders] + self._offset
        drive.q[self._joints] = np.clip(q, -largest, largest)
        dq = self._multiplier * motion.dq[self._leaders]
        drive.dq[self._joints] = np.clip(dq, -largest, largest)
