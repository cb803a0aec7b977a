"""How the links move: read from ODE in one go, and written as ``ode/_core_state.c`` does.

Arrays here have one column for each link that can move, of all bodies. numpy multiplies
and adds element by element in the order in which C does, so that results agree to the last
bit; products of whole matrices would not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrp_model.rigid import Array

from ..articulation import STATIC
from .assembly import Assembly
from .binding import Indices, Memory

# Beyond these nothing is physics any more.
FARTHEST, FASTEST, FASTEST_TURN = 1e6, 1e5, 1e5  # [m], [m/s], [rad/s]

# What is read of each link's group: which state (p, quaternion, R, v, w) and which number of
# it. x, y, z, x, y instead of x, y, z turns a cross product into products of slices.
_CYCLE = (0, 1, 2, 0, 1)
_LINK_ROWS = (
    *((0, i) for i in range(3)),
    *((2, 4 * i + k) for k in range(3) for i in _CYCLE),
    *((3, i) for i in range(3)),
    *((4, i) for i in _CYCLE),
)
# The whole state of a group: p 0-2, quaternion 3-6, R 7-18, v 19-21, w 22-24.
GROUP_ROWS = tuple((state, i) for state, size in enumerate((3, 4, 12, 3, 3)) for i in range(size))
_SOMEWHERE = (0.0, 0.0, 0.0)


def _addresses(places: Indices, rows: Sequence[tuple[int, int]]) -> Indices:
    """Return where numbers of states lie: rows by columns of ``places``, shape (n, 5)."""
    states = [state for state, _ in rows]
    offsets = np.array([8 * i for _, i in rows], dtype=np.int64)
    return np.ascontiguousarray(places[:, states].T + offsets[:, None])


class Motion:
    """The links of all bodies.

    Attributes:
        state: What ``read`` found last, shape (26, links).
        v, w: Of the same, views, shape (3, links).
    """

    def __init__(self, bodies: Sequence[Assembly]) -> None:
        self._bodies = bodies
        links = [np.flatnonzero(b.links.group != STATIC) for b in bodies]
        places = [b.addresses[b.links.group[i]] for b, i in zip(bodies, links, strict=True)]
        none = np.zeros((0, 5), dtype=np.int64)
        self._memory = Memory(_addresses(np.concatenate([none, *places]), _LINK_ROWS))
        groups = np.concatenate([none, *(b.addresses for b in bodies)])
        self._groups = Memory(_addresses(groups, GROUP_ROWS))
        self.state = np.zeros(self._memory.shape)
        self._is_fresh = False
        n = self.state.shape[1]
        self._R = self.state[3:18].reshape(3, 5, n)
        self.v, self._w = self.state[18:21], self.state[21:26]
        self.w = self._w[:3]
        local = [(b.links, i) for b, i in zip(bodies, links, strict=True)]
        self._local_p = _columns([x.p[i] for x, i in local], (3,))
        self._local_R = _columns([x.R[i] for x, i in local], (3, 3))
        self._make_room(links, n)

    def _make_room(self, links: Sequence[Indices], n: int) -> None:
        """Make the arrays of results; a lone body's own arrays, where that can be."""
        self._products = np.zeros((3, 5, n)), np.zeros((3, 3, 3, n))
        self._offset = np.zeros((5, n))
        self._now, self._before = np.zeros((2, 3, n)), np.zeros((2, 3, n))
        self._rates = np.zeros((2, 3, n))
        self._p, self._turned = np.zeros((3, n)), np.zeros((3, 3, n))
        self._poses: list[tuple[Array, slice | Indices, Array]] = []
        self._changes: list[tuple[Array, slice | Indices, Array]] = []
        moving = [(b, found) for b, found in zip(self._bodies, links, strict=True) if len(found)]
        end = 0
        for body, found in moving:
            part = slice(end, end + len(found))
            end += len(found)
            m, rows = body.motion, _as_slice(found)
            if len(moving) == 1 and isinstance(rows, slice):
                self._p, self._turned = m.p[rows].T, m.R[rows].transpose(1, 2, 0)
            else:
                self._poses += [
                    (m.p, rows, self._p[:, part].T),
                    (m.R, rows, self._turned[:, :, part].transpose(2, 0, 1)),
                ]
            self._poses += [
                (m.v, rows, self._now[0, :, part].T),
                (m.w, rows, self._now[1, :, part].T),
            ]
            self._changes += [
                (m.a, rows, self._rates[0, :, part].T),
                (m.alpha, rows, self._rates[1, :, part].T),
            ]

    def read(self) -> None:
        """Read where every link's group is and how it moves."""
        self._memory.read(self.state)
        self._is_fresh = False

    def read_groups(self, state: Array | None = None) -> Array:
        """Return the whole state of the groups of all bodies, shape (25, groups).

        Args:
            state: To be filled, from an earlier call.
        """
        if state is None:
            state = np.empty(self._groups.shape)
        self._groups.read(state)
        return state

    def write_groups(self, state: Array) -> None:
        """Put the groups back to the last bit: PyODE's setters would normalise quaternions."""
        for body in self._bodies:
            for group in body.groups:
                group.setPosition(_SOMEWHERE)  # so that ODE knows that the shapes have moved
        self._groups.write(state)

    def find_absurd(self) -> tuple[Assembly, int] | None:
        """Return the first body and group that are nowhere sensible, or None."""
        flat = self.state.ravel()
        # Cheaper than to look at each: a sum of squares that is small (and no NaN) has only
        # small terms, and what ODE has just normalised needs no further look.
        if flat.dot(flat) < FASTEST * FASTEST:
            return None
        state = np.abs(self.read_groups())
        norm = (state[3:7] ** 2).sum(axis=0)
        good = (
            (state[0:3] < FARTHEST).all(axis=0)
            & (state[19:22] < FASTEST).all(axis=0)
            & (state[22:25] < FASTEST_TURN).all(axis=0)
            & (np.abs(norm - 1.0) < 1e-3)
        )
        bad = int(np.argmin(good)) if not good.all() else -1
        for body in self._bodies if bad >= 0 else ():
            if bad < len(body.groups):
                return body, bad
            bad -= len(body.groups)
        return None

    def remember(self) -> None:
        """Remember the velocities, of the state as read, so that accelerations follow."""
        if not self._is_fresh:
            self._velocities()
        np.copyto(self._before, self._now)

    def write(self, step: float) -> None:
        """Write how the links move after a step of this length."""
        self._write_poses()
        np.subtract(self._now, self._before, out=self._rates)
        np.divide(self._rates, step, out=self._rates)
        for target, rows, source in self._changes:
            target[rows] = source

    def write_still(self, bodies: Sequence[Assembly]) -> None:
        """Write how bodies move where no step led: nothing accelerates, nothing pushes."""
        for body in bodies:
            m, links = body.motion, body.links
            for array in (m.a, m.alpha, m.force, m.torque, m.dq, m.effort):
                array[...] = 0.0
            static = np.flatnonzero(links.group == STATIC)
            m.R[static], m.p[static] = links.R[static], links.p[static]
            m.q[...] = body.articulation.q
            for i, joint in enumerate(body.driven):
                if joint.coordinate >= 0:
                    m.q[joint.coordinate], m.dq[joint.coordinate] = body.now[:, i]
        self._write_poses()

    def _velocities(self) -> None:
        """Work out the links' velocities, and how far their origins lie from the groups'."""
        self._is_fresh = True
        product, offset, now = self._products[0], self._offset, self._now
        np.multiply(self._R, self._local_p[:, None], out=product)
        np.add(product[0], product[1], out=offset)
        np.add(offset, product[2], out=offset)
        w = self._w
        np.multiply(w[1:4], offset[2:5], out=now[0])
        np.multiply(w[2:5], offset[1:4], out=now[1])
        np.subtract(now[0], now[1], out=now[0])
        np.add(now[0], self.v, out=now[0])
        now[1] = self.w

    def _write_poses(self) -> None:
        self._velocities()
        np.add(self.state[:3], self._offset[:3], out=self._p)
        product = self._products[1]
        np.multiply(self._R[:, :3, None], self._local_R[:, None], out=product)
        np.add(product[0], product[1], out=self._turned)
        np.add(self._turned, product[2], out=self._turned)
        for target, rows, source in self._poses:
            target[rows] = source


def _columns(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Return arrays of shape (n, *shape) as one of shape (*shape, all n)."""
    joined = np.concatenate([np.zeros((0, *shape)), *arrays])
    return np.ascontiguousarray(np.moveaxis(joined, 0, -1))


def _as_slice(rows: Indices) -> slice | Indices:
    """Return indices as a slice where they are one: numpy copies it faster."""
    if int(rows[-1]) - int(rows[0]) + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows
