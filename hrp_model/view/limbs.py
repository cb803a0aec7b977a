"""Limbs of a robot that people move by their tips, and the hands at these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..body import Body
from ..kinematics.state import BodyState
from ..printable import printable
from ..rigid import Array, matrix_quaternion, quaternion_matrix
from ..urdf.moveit.groups import Chain, Limbs, gripper_postures
from .viewer import Viewer, quaternion_wxyz

if TYPE_CHECKING:
    from viser import ClientHandle, TransformControlsEvent, TransformControlsHandle

_MIN_JOINTS = 3  # of a limb that is moved by its tip
_ALL_DIRECTIONS = 6  # joints that reach any pose
_FARTHEST = 1e6  # [m] of a handle; farther ones, which no mouse reaches, are ignored
_TOLERANCE, _MAX_ITERATIONS = 1e-4, 40  # of the inverse kinematics


def limbs_of(body: Body) -> dict[str, Chain]:
    """Return the limbs of a body that can be moved by their tips, by the name of the tip.

    Limbs with joints that follow others are left out, as inverse kinematics takes all for free.
    """
    return {
        printable(chain.tip.name): chain
        for chain in Limbs(body).chains
        if chain.ends
        and len(chain.joints) >= _MIN_JOINTS
        and not any(link.joint.mimic for link in chain.joints)
    }


def hands_of(body: Body) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """Return the open and the closed posture of each hand, by the name of the link that has it.

    Postures are positions by joint name, in [rad] or [m]; see ``gripper_postures``.
    """
    found = {}
    for chain in Limbs(body).chains:
        if (postures := gripper_postures(body, chain.hand)) is not None:
            joints = {link.name: link.joint.name for link in chain.hand}
            opened, closed = ({joints[k]: v for k, v in posture.items()} for posture in postures)
            found[printable(chain.tip.name)] = opened, closed
    return found


class TipHandle:
    """A handle at the tip of a limb, which moves it by inverse kinematics.

    Args:
        viewer: The page.
        name: Its path in the scene.
        body: The robot.
        limb: One of its limbs.
        size: Of the handle, in [m].
        on_move: Called with the page and the positions of the limb's joints, by joint name, in
            [rad] or [m].
    """

    def __init__(
        self,
        viewer: Viewer,
        name: str,
        body: Body,
        limb: Chain,
        size: float,
        on_move: Callable[[ClientHandle | None, Mapping[str, float]], None],
    ) -> None:
        self._body, self._limb, self._on_move = body, limb, on_move
        self._tip = body.link_index(limb.tip.name)
        self._state = BodyState(body)
        self._page: int | None = None  # in which somebody moves it
        self._turns = len(limb.joints) >= _ALL_DIRECTIONS
        self._control: TransformControlsHandle = viewer.server.scene.add_transform_controls(
            name, scale=size, disable_rotations=not self._turns, depth_test=False, line_width=4.0
        )

        async def move(event: TransformControlsEvent) -> None:  # in the order of arrival
            self._drag(event)

        self._control.on_update(move)

    def place(self, p: Array, R: Array, q: Array) -> None:
        """Place the handle, unless somebody moves it.

        Args:
            p: p_WL of all links, in [m], shape (links, 3).
            R: R_WL, shape (links, 3, 3).
            q: Targets of the joints, in [rad] or [m], shape (joints,), from which it is moved.
        """
        if self._page is not None or not (np.isfinite(p).all() and np.isfinite(R).all()):
            return
        self._state.p[0], self._state.R[0], self._state.q[:] = p[0], R[0], q
        self._control.position = p[self._tip]
        self._control.wxyz = quaternion_wxyz(matrix_quaternion(R[self._tip]))

    def release(self, page: int) -> None:
        """Let it go if it is moved in a page, by its identifier, which has gone."""
        if self._page == page:
            self._page = None

    def remove(self) -> None:
        """Remove the handle."""
        self._control.remove()

    def _drag(self, event: TransformControlsEvent) -> None:
        self._page = None if event.phase == "end" else event.client_id
        control, state = self._control, self._state
        w, x, y, z = (float(value) for value in control.wxyz)
        if not (np.isfinite([w, x, y, z]).all() and np.abs(control.position).max() < _FARTHEST):
            return
        R = quaternion_matrix((x, y, z, w)) if self._turns else None
        state.calc_forward_kinematics()
        path = state.joint_path(self._limb.base.name, self._limb.tip.name)
        result = path.calc_inverse_kinematics(
            control.position, R, tolerance=_TOLERANCE, max_iterations=_MAX_ITERATIONS, restarts=0
        )
        state.q[path.joints] = result.q  # the nearest ones, where it cannot reach
        names = (path.joint(i).name for i in range(path.num_joints))
        joints = (self._body.link(name).joint.name for name in names)
        self._on_move(event.client, dict(zip(joints, result.q.tolist(), strict=True)))
