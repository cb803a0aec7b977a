"""Relative poses between links of a tree, and their derivatives, in few array operations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...body import Body, JointType
from ...rigid import Array, Pose
from ..fast_dynamics import poses
from ..tree import Tree

Indices = NDArray[np.intp]

NUM_ROWS = 6  # of a relative pose
_POINT = 3  # column of a pose's matrix
_TURN, _SLIDE = 0, 1  # columns for the axis of a revolute and of a prismatic joint
_AXIS_OF_A, _AXIS_OF_B = (0, 1, 2, 0, 1, 0), (_POINT, _POINT, _POINT, 2, 2, 1)
_NEXT, _AFTER = [1, 2, 0], [2, 0, 1]


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
