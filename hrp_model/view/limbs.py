"""Limbs of a robot that people move by their tips, and the hands at these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from ..body import Body, Link
from ..kinematics.state import BodyState
from ..printable import printable
from ..rigid import Array, matrix_quaternion, quaternion_matrix
from ..shapes.measure import geometry_box, union
from ..urdf.srdf import Chain, Limbs
from .viewer import Viewer, quaternion_wxyz

if TYPE_CHECKING:
    from viser import ClientHandle, TransformControlsEvent, TransformControlsHandle

_MIN_JOINTS = 3  # of a limb that is moved by its tip
_ALL_DIRECTIONS = 6  # joints that reach any pose
_MIN_CLOSING = 0.1  # of the distance of fingers to their middle
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

    Postures are positions by joint name, in [rad] or [m]. Closed is the end of each joint's range
    at which its link is nearest to the middle of all fingers.
    """
    found = {}
    for chain in Limbs(body).chains:
        fingers = [link for link in chain.hand if all(map(isfinite, link.joint.position_limits))]
        postures = _open_and_closed(body, fingers) if fingers else None
        if postures is not None and len(fingers) == len(chain.hand):
            found[printable(chain.tip.name)] = postures
    return found


def _open_and_closed(
    body: Body, fingers: list[Link]
) -> tuple[dict[str, float], dict[str, float]] | None:
    state = BodyState(body)
    indices = [body.moving_links.index(link) for link in fingers]
    centers = np.zeros((2, len(fingers), 3))  # at the lower and upper ends
    for end in range(2):
        for link, index in zip(fingers, indices, strict=True):
            state.q[index] = link.joint.position_limits[end]
        state.calc_forward_kinematics()
        centers[end] = [_center(body, state, link) for link in fingers]
    middle = centers.mean(axis=(0, 1))
    distances = np.linalg.norm(centers - middle, axis=2)
    if np.abs(distances[1] - distances[0]).min() < _MIN_CLOSING * distances.mean():
        return None
    opened, closed = {}, {}
    for i, link in enumerate(fingers):
        lower, upper = link.joint.position_limits
        is_upper_closed = bool(distances[1, i] < distances[0, i])
        opened[link.joint.name] = lower if is_upper_closed else upper
        closed[link.joint.name] = upper if is_upper_closed else lower
    return opened, closed


def _center(body: Body, state: BodyState, link: Link) -> Array:
    index = body.link_index(link.name)
    T_WL = np.eye(4)
    T_WL[:3, :3], T_WL[:3, 3] = state.R[index], state.p[index]
    boxes = (geometry_box(shape.geometry) for shape in link.visual or link.collision)
    shapes = link.visual or link.collision
    box = union(
        found.transformed(T_WL @ shape.T_FG)
        for shape, found in zip(shapes, boxes, strict=True)
        if found is not None
    )
    return state.p[index] if box is None else box.center


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
