"""How the links move: read from ODE in one go, and written as ``ode/_core_state.c`` does.

Arrays here have one column for each link that can move, of all bodies. numpy multiplies
and adds element by element in the order in which C does, so that results agree to the last
bit; products of whole matrices would not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from hrp_model.rigid import Array

from ..articulation import STATIC
from .assembly import Assembly
from .binding import Indices, Memory, addresses_of

# Beyond these nothing is physics any more.
FARTHEST, FASTEST, FASTEST_TURN = 1e6, 1e5, 1e5  # [m], [m/s], [rad/s]

# What is read of each link's group: which state (p, quaternion, R, v, w) and which number of
# it; R by columns. x, y, z, x, y instead of x, y, z turns a cross product into products of
# slices.
_CYCLE = (0, 1, 2, 0, 1)
_LINK_ROWS = (
    *((0, i) for i in range(3)),
    *((1, i) for i in range(4)),
    *((2, 4 * i + k) for k in range(3) for i in _CYCLE),
    *((3, i) for i in range(3)),
    *((4, i) for i in _CYCLE),
)
_R, _V, _W = slice(7, 22), slice(22, 25), slice(25, 30)
_V_AND_W = slice(22, 28)
# The whole state of a group: p 0-2, quaternion 3-6, R 7-18, v 19-21, w 22-24.
GROUP_ROWS = tuple((state, i) for state, size in enumerate((3, 4, 12, 3, 3)) for i in range(size))
_SOMEWHERE = _NOTHING = (0.0, 0.0, 0.0)


def _addresses(places: Indices, rows: Sequence[tuple[int, int]]) -> Indices:
    """Return where numbers of states lie: rows by columns of ``places``, shape (n, 5)."""
    states = [state for state, _ in rows]
    offsets = np.array([8 * i for _, i in rows], dtype=np.int64)
    return np.ascontiguousarray(places[:, states].T + offsets[:, None])


def rotations(state: Array) -> Array:
    """Return the columns of R of a state as ``Motion`` has it, shape (3, 3, links)."""
    return state[_R].reshape(3, 5, -1)[:, :3]


class Motion:
    """The links of all bodies.

    Attributes:
        columns: Where the links of each body are, -1 for those that cannot move.
        state: What ``read`` found last, shape (30, links).
        saved: What it was when ``save`` was called.
    """

    def __init__(self, bodies: Sequence[Assembly]) -> None:
        self._bodies = bodies
        links = [np.flatnonzero(b.links.group != STATIC) for b in bodies]
        places = [b.addresses[b.links.group[i]] for b, i in zip(bodies, links, strict=True)]
        none = np.zeros((0, 5), dtype=np.int64)
        self._memory = Memory(_addresses(np.concatenate([none, *places]), _LINK_ROWS))
        groups = np.concatenate([none, *(b.addresses for b in bodies)])
        self._groups = Memory(_addresses(groups, GROUP_ROWS))
        n = sum(map(len, links))
        self.columns = [np.full(len(b.links.group), -1) for b in bodies]
        first = 0
        for column, found in zip(self.columns, links, strict=True):
            column[found] = np.arange(first, first + len(found))
            first += len(found)
        self.state, self.saved = np.zeros((2, len(_LINK_ROWS), n))
        self._is_fresh = False
        local = [(b.links, i) for b, i in zip(bodies, links, strict=True)]
        self._local_p = _columns([x.p[i] for x, i in local], (3,))
        self._local_R = _columns([x.R[i] for x, i in local], (3, 3))
        out = [np.zeros((24, 0), np.int64)]
        out += [_places(b, found) for b, found in zip(bodies, links, strict=True)]
        self._out = Memory(np.concatenate(out, axis=1))
        self._make_room(n)

    def _make_room(self, n: int) -> None:
        """Make the arrays of results, and name their parts."""
        self._products = np.zeros((3, 5, n)), np.zeros((3, 3, 3, n))
        self._offset, self._before = np.zeros((5, n)), np.zeros((6, n))
        self._results = np.zeros((24, n))
        self._p, self._turned = self._results[:3], self._results[3:12].reshape(3, 3, n)
        self._now, self._rates = self._results[12:18], self._results[18:24]
        R, w, o = self.state[_R].reshape(3, 5, n), self.state[_W], self._offset
        self._pose_factors = R[:, :3, None], self._local_R[:, None]
        self._point_factors = R, self._local_p[:, None]
        self._cross_factors = (w[1:4], o[2:5]), (w[2:5], o[1:4])
        self._v, self._w = self.state[_V], w[:3]
        self._origins, self._from_origins = self.state[:3], o[:3]
        self._now_v, self._now_w = self._now[:3], self._now[3:]
        self._flat, self._speeds = self.state.ravel(), self.state[_V_AND_W].reshape(2, 3, n)

    def read(self) -> None:
        """Read where every link's group is and how it moves."""
        self._memory.read(self.state)
        self._is_fresh = False

    def save(self) -> None:
        """Keep the state as it was read, before a step that may fail."""
        np.copyto(self.saved, self.state)

    def restore(self) -> None:
        """Put the groups back to what was saved, to the last bit."""
        self._unsettle()
        self._memory.write(self.saved)
        np.copyto(self.state, self.saved)
        self._is_fresh = False

    def read_groups(self) -> Array:
        """Return the whole state of the groups of all bodies, shape (25, groups)."""
        state = np.empty(self._groups.shape)
        self._groups.read(state)
        return state

    def write_groups(self, state: Array) -> None:
        """Put the groups to a state, to the last bit: PyODE's setters normalise quaternions."""
        self._unsettle()
        self._groups.write(state)

    def _unsettle(self) -> None:
        """Let ODE know that the shapes move, and forget what a step that failed pushed with."""
        for body in self._bodies:
            for group in body.groups:
                group.setPosition(_SOMEWHERE)
                group.setForce(_NOTHING)
                group.setTorque(_NOTHING)

    def find_absurd(self) -> tuple[Assembly, int] | None:
        """Return the first body and group that are nowhere sensible, or None."""
        # Cheaper than to look at each: a sum of squares that is small (and no NaN) has only
        # small terms, and what ODE has just normalised needs no further look.
        if self._flat.dot(self._flat) < FASTEST * FASTEST:
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

    def fastest(self, reach: float) -> float:
        """Return a bound of how fast points move that far from the origins of groups, in [m/s].

        Args:
            reach: In [m].
        """
        if not self._flat.size:
            return 0.0
        squares = np.add.reduce(self._speeds * self._speeds, axis=1)
        v, w = np.maximum.reduce(squares, axis=1).tolist()
        return sqrt(v) + reach * sqrt(w)

    def remember(self) -> None:
        """Remember the velocities, of the state as read, so that accelerations follow."""
        if not self._is_fresh:
            self._velocities()
        np.copyto(self._before, self._now)

    def write(self, step: float) -> None:
        """Write how the links move after a step of this length."""
        self._poses()
        np.subtract(self._now, self._before, out=self._rates)
        np.divide(self._rates, step, out=self._rates)
        self._out.write(self._results)

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
        self._poses()
        self._rates[...] = 0.0
        self._out.write(self._results)

    def _velocities(self) -> None:
        """Work out the links' velocities, and how far their origins lie from the groups'."""
        self._is_fresh = True
        product, offset, v, w = self._products[0], self._offset, self._now_v, self._now_w
        np.multiply(*self._point_factors, out=product)
        np.add(product[0], product[1], out=offset)
        np.add(offset, product[2], out=offset)
        np.multiply(*self._cross_factors[0], out=v)
        np.multiply(*self._cross_factors[1], out=w)
        np.subtract(v, w, out=v)
        np.add(v, self._v, out=v)
        np.copyto(w, self._w)

    def _poses(self) -> None:
        self._velocities()
        np.add(self._origins, self._from_origins, out=self._p)
        product = self._products[1]
        np.multiply(*self._pose_factors, out=product)
        np.add(product[0], product[1], out=self._turned)
        np.add(self._turned, product[2], out=self._turned)


def _places(body: Assembly, links: Indices) -> Indices:
    """Return where p, R, v, w, a and alpha of links lie, shape (24, links)."""
    m = body.motion
    arrays = (m.p, m.R, m.v, m.w, m.a, m.alpha)
    parts = [addresses_of(a).reshape(len(a), -1)[links].T for a in arrays]
    return np.concatenate(parts)


def _columns(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Return arrays of shape (n, *shape) as one of shape (*shape, all n)."""
    joined = np.concatenate([np.zeros((0, *shape)), *arrays])
    return np.ascontiguousarray(np.moveaxis(joined, 0, -1))
