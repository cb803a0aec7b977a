"""Extra joints as equations: a residual that is zero in closed postures, and its Jacobian.

They follow from the relative poses between links of a tree, in few array operations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...body import Body, ExtraJoint, ExtraJointType, JointType
from ...rigid import Array, Pose, unit_vector
from ..dynamics import poses
from ..state import BodyState
from ..tree import Tree

Indices = NDArray[np.intp]
NUM_ROWS = 6  # of a relative pose
_POINT = 3  # column of a pose's matrix
_TURN, _SLIDE = 0, 1  # columns for the axis of a revolute and of a prismatic joint
_AXIS_OF_A, _AXIS_OF_B = (0, 1, 2, 0, 1, 0), (_POINT, _POINT, _POINT, 2, 2, 1)
_NEXT, _AFTER = [1, 2, 0], [2, 0, 1]
HUGE = 1e9  # larger than any number of a mechanism, in [m], [rad] or without unit
# Rows of a relative pose that each type constrains to zero: the position of B's point along t1,
# t2 and the axis, then three entries of the relative rotation; see ``LoopConstraints``.
_ROWS = {
    ExtraJointType.BALL: (0, 1, 2),
    ExtraJointType.XY: (0, 1),
    ExtraJointType.Z: (2,),
    ExtraJointType.PISTON: (0, 1, 3, 4),
    ExtraJointType.HINGE: (0, 1, 2, 3, 4),
    ExtraJointType.FIXED: (0, 1, 2, 3, 4, 5),
}


class RelativeRows:
    """Rows of the poses of frames B in frames A, for many pairs of links.

    For each pair: the three elements of the position, then the elements (x, z), (y, z) and (x, y)
    of the rotation. Each is a product of a column V of A's pose with a column U of B's, so that
    its derivative by a joint with screw (w, v) at the origin is w . (U x V), plus V . v for a
    position.

    Args:
        body: A tree; its root does not move.
        pairs: Links of A and B as indices in ``body.links``, and the poses of A and B in them.
        movers: The moving joints, as elements of the body's joint vector, shape (m,).
        signs: For each pair and joint in ``movers``: 1 if it moves B relative to A, -1 if A
            relative to B, else 0; shape (pairs, m).
        rows: Rows to compute: 6 times the pair plus 0 to 5, shape (r,).
    """

    def __init__(
        self,
        body: Body,
        pairs: Sequence[tuple[int, int, Pose, Pose]],
        movers: Indices,
        signs: Array,
        rows: Indices,
    ) -> None:
        self._tree, self._movers = Tree.of(body), movers
        self._q = np.array([link.joint.initial for link in body.moving_links], dtype=np.float64)
        self._origin, self._upright = np.zeros(3), np.eye(3)
        moved = [body.moving_links[i] for i in movers]
        self._links = np.array(
            [*(a for a, *_ in pairs), *(b for _, b, *_ in pairs)]
            + [body.link_index(link.name) for link in moved],
            dtype=np.intp,
        )
        screws = np.zeros((len(moved), 4, 4))
        for matrix, link in zip(screws, moved, strict=True):
            kind = _TURN if link.joint.type is JointType.REVOLUTE else _SLIDE
            matrix[:3, kind], matrix[3, 3] = link.joint.axis, 1.0
        ends = [X.matrix() for *_, X, _ in pairs] + [X.matrix() for *_, X in pairs]
        self._local = np.concatenate([np.reshape(ends, (-1, 4, 4)), screws])
        self._signs = signs[rows // NUM_ROWS]
        self._count = len(rows)
        self._index(len(pairs), rows)

    def _index(self, pairs: int, rows: Indices) -> None:
        """Compute the indices of all vectors in the flattened matrices."""
        a, b = (rows // NUM_ROWS + first for first in (0, pairs))
        row = rows % NUM_ROWS
        joints = 2 * pairs + np.arange(len(self._movers))
        zero = np.array([12, 13, 14])  # in the last row of the first matrix
        is_point = (row < NUM_ROWS // 2)[:, None]
        V = _vector(a, np.array(_AXIS_OF_A, dtype=np.intp)[row])
        U = _vector(b, np.array(_AXIS_OF_B, dtype=np.intp)[row])
        self._U, self._V = U, V
        self._from = np.where(is_point, _vector(a, _POINT), zero)
        self._along = np.where(is_point, V, zero)
        self._turn, self._slide = _vector(joints, _TURN), _vector(joints, _SLIDE)
        left = np.concatenate([U, _vector(joints, _POINT)])
        right = np.concatenate([V, self._turn])
        self._cross = left[:, _NEXT], right[:, _AFTER], left[:, _AFTER], right[:, _NEXT]
        pair = np.arange(pairs)[:, None]
        columns = np.arange(3)
        self._diagonals = tuple(
            _vector((pair + first).repeat(3, 1), columns) for first in (0, pairs)
        )

    def evaluate(self, q: Array) -> tuple[Array, Array, Array]:
        """Return the rows, their derivatives by ``q``, shape (r, m), and the frames' matrices."""
        matrices = self.matrices(q)
        a, b, c, d = self._cross
        crossed = matrices.take(a) * matrices.take(b) - matrices.take(c) * matrices.take(d)
        speed = crossed[self._count :] + matrices.take(self._slide)
        slopes = crossed[: self._count] @ matrices.take(self._turn).T
        slopes += matrices.take(self._along) @ speed.T
        slopes *= self._signs
        return self.residual(matrices), slopes, matrices

    def diagonals(self, matrices: Array) -> Array:
        """Return the diagonals of the rotations, shape (pairs, 3)."""
        a, b = self._diagonals
        return np.asarray(np.einsum("ijk,ijk->ij", matrices.take(a), matrices.take(b)))

    def residual(self, matrices: Array) -> Array:
        """Return the rows, shape (r,)."""
        arms = matrices.take(self._U) - matrices.take(self._from)
        return np.asarray(np.einsum("ij,ij->i", arms, matrices.take(self._V)))

    def matrices(self, q: Array) -> Array:
        """Return the matrices of all frames A, then of all B, then of all joints.

        Args:
            q: Positions of ``movers`` in [rad] or [m], shape (m,).
        """
        whole = self._q.copy()
        whole[self._movers] = q
        T = poses(self._tree, whole, self._origin, self._upright)
        return np.asarray(T.take(self._links, axis=0) @ self._local)


def _vector(matrix: Indices, column: Indices | int) -> Indices:
    """Return the indices of a column of each matrix in the flattened matrices."""
    first = np.asarray(16 * matrix + column)
    return np.asarray(first[..., None] + np.array([0, 4, 8]))


class LoopConstraints:
    """Extra joints of a body as equations in the joints that move them.

    In frame C of an extra joint, whose axes are t1, t2 and the joint's axis, the rows are the
    position p of B's point relative to A's, in [m], and the entries (t1, axis), (t2, axis) and
    (t1, t2) of the rotation between the two ends, which are sines of small angles in [rad].
    Each type uses those of these six rows that it constrains.

    If both joint frames have identity rotations, the model gives only two points and an axis.
    Then the relative rotation of the links in the initial posture is the one that closes the
    joint, as in the simulation. Otherwise the joint frames define it.

    Attributes:
        extra_joints: The constraints.
        joints: Elements of the body's joint vector that affect any of them, shape (m,).
        ends: Pose of each extra joint's frame J in link A, and in link B when it is closed.
        axes: The axis of each, expressed in J.
        initial: Positions of ``joints`` in the model's initial posture, shape (m,).
        rows: Number of equations of each extra joint.
        lengths: Which of all rows are in [m], shape (r,).

    Args:
        body: The model.
        extra_joints: Some of its extra joints; by default all.

    Raises:
        KeyError: An extra joint names a link that does not exist.
        ValueError: A number is not finite or too large, or an axis is zero.
    """

    def __init__(self, body: Body, extra_joints: Sequence[ExtraJoint] | None = None) -> None:
        self.extra_joints = tuple(body.extra_joints if extra_joints is None else extra_joints)
        chains = _chains(body, self.extra_joints)
        _check(chains, self.extra_joints)
        self._state = BodyState(chains)
        self._state.p[0], self._state.R[0] = np.zeros(3), np.eye(3)
        self._state.calc_forward_kinematics()
        self._a, self._b = (
            np.array([chains.link_index(x.links[end]) for x in self.extra_joints], dtype=np.intp)
            for end in (0, 1)
        )
        self.ends = self._ends()
        self.axes = tuple(x.X_AJ.R.T @ _unit_axis(x) for x in self.extra_joints)
        signs = np.array([_signs(chains, x) for x in self.extra_joints])
        signs = signs.reshape(len(self.extra_joints), len(chains.moving_links))
        used = np.flatnonzero(signs.any(axis=0))
        place = {link.name: i for i, link in enumerate(body.moving_links)}
        names = [chains.moving_links[i].name for i in used]
        self.joints: Indices = np.array([place[name] for name in names], dtype=np.intp)
        self.initial = self._state.q[used]
        self.rows = tuple(len(_ROWS[x.type]) for x in self.extra_joints)
        rows = np.array(
            [NUM_ROWS * i + row for i, x in enumerate(self.extra_joints) for row in _ROWS[x.type]],
            dtype=np.intp,
        )
        self.lengths = rows % NUM_ROWS < 3
        self._free = np.array(
            [[r not in _ROWS[x.type] for r in (5, 5, 4)] for x in self.extra_joints], dtype=bool
        ).reshape(-1, 3)
        self._relative = RelativeRows(chains, self._pairs(), used, signs[:, used], rows)

    def residual(self, q: Array) -> Array:
        """Return the residual alone, shape (r,); see ``evaluate``."""
        return self._relative.residual(self._relative.matrices(q))

    def evaluate(self, q: Array) -> tuple[Array, Array, Array]:
        """Return the residual, its Jacobian, and the matrices for ``upright``.

        Args:
            q: Positions of ``joints`` in [rad] or [m], shape (m,).

        Returns:
            Residual of shape (r,) and Jacobian of shape (r, m), with the rows of one extra
            joint after the other, and the matrices.
        """
        return self._relative.evaluate(q)

    def sums(self) -> Array:
        """Return 0/1 weights that sum rows in [m], then in [rad], per joint, (2, joints, r)."""
        owner = np.repeat(np.arange(len(self.rows)), self.rows)
        own = owner == np.arange(len(self.rows))[:, None]
        return np.array([own & self.lengths, own & ~self.lengths], dtype=np.float64)

    def check(self, q: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the residual, shape (r,), and whether each extra joint is upright."""
        matrices = self._relative.matrices(q)
        return self._relative.residual(matrices), self.upright(matrices)

    def upright(self, matrices: Array) -> NDArray[np.bool_]:
        """Return whether the axis of each extra joint points the right way.

        The residual is also zero where an axis is reversed.

        Args:
            matrices: From ``evaluate``.
        """
        return np.asarray(((self._relative.diagonals(matrices) > 0.0) | self._free).all(axis=1))

    def _pairs(self) -> list[tuple[int, int, Pose, Pose]]:
        """Return the links of each extra joint and its frame C in them."""
        in_J = [Pose(_basis(axis)) for axis in self.axes]
        places = zip(self._a, self._b, strict=True)
        return [
            (int(a), int(b), X_AJ @ X_JC, X_BJ @ X_JC)
            for (a, b), (X_AJ, X_BJ), X_JC in zip(places, self.ends, in_J, strict=True)
        ]

    def _ends(self) -> list[tuple[Pose, Pose]]:
        R = self._state.R
        ends = []
        for x, a, b in zip(self.extra_joints, self._a, self._b, strict=True):
            rotated = not all(np.array_equal(X.R, np.eye(3)) for X in (x.X_AJ, x.X_BJ))
            ends.append((x.X_AJ, x.X_BJ if rotated else Pose(R[b].T @ R[a], x.X_BJ.p)))
        return ends


def loop_joints(body: Body, extra: ExtraJoint) -> list[int]:
    """Return the joints of the loop that an extra joint closes, as elements of q."""
    return [i for i, sign in enumerate(_signs(body, extra)) if sign]


def _signs(body: Body, extra: ExtraJoint) -> list[float]:
    """Return 1, -1 or 0 for each joint: it moves end B away from A, A from B, or neither."""
    above_a, above_b = (_ancestors(body, name) for name in extra.links)
    return [float(x.name in above_b) - float(x.name in above_a) for x in body.moving_links]


def _ancestors(body: Body, name: str) -> set[str]:
    """Return a link and those above it, without the root."""
    names: set[str] = set()
    link = body.link(name)
    while link.parent is not None:
        names.add(link.name)
        link = body.link(link.parent)
    return names


def loop_name(joint: ExtraJoint) -> str:
    """Return the name of a loop for messages: that of its extra joint, or of its two links."""
    return joint.name or " - ".join(joint.links)


def _unit_axis(joint: ExtraJoint) -> Array:
    axis = unit_vector(joint.axis)
    if axis is None:
        raise ValueError(f"extra joint '{loop_name(joint)}' has a zero axis")
    return axis


def _check(chains: Body, extra_joints: Sequence[ExtraJoint]) -> None:
    for joint in extra_joints:
        ends = (joint.X_AJ.R, joint.X_BJ.R, joint.X_AJ.p, joint.X_BJ.p, joint.axis)
        if not all((np.abs(x) < HUGE).all() for x in ends):
            raise ValueError(
                f"extra joint '{loop_name(joint)}' has a number that is not finite or above "
                f"{HUGE:g}"
            )
    for link in chains.links[1:]:
        numbers = (link.X_PL.R, link.X_PL.p, link.joint.axis, np.array(link.joint.initial))
        if not all((np.abs(x) < HUGE).all() for x in numbers):
            raise ValueError(
                f"link '{link.name}' in a closed loop has a number that is not finite or above "
                f"{HUGE:g}"
            )


def _basis(axis: Array) -> Array:
    """Return the rotation R_JC, whose columns are t1, t2 and the axis."""
    t1 = np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis)
    t1 /= np.linalg.norm(t1)
    return np.array([t1, np.cross(axis, t1), axis]).T


def _chains(body: Body, extra_joints: Sequence[ExtraJoint]) -> Body:
    """Return the part of a body between its root and the ends of extra joints.

    Fewer links are faster. The root's pose does not matter, as both ends move with it.
    """
    kept = {body.root.name}.union(
        *(_ancestors(body, name) for joint in extra_joints for name in joint.links)
    )
    return Body(name=body.name, links=tuple(link for link in body.links if link.name in kept))
