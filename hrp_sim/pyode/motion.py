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

from ..articulation.articulation import STATIC
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
    *((3, i) for i in range(3)),
    *((4, i) for i in _CYCLE),
    *((2, 4 * i + k) for k in range(3) for i in _CYCLE),
)
_PLACE, _V, _W, _R = slice(0, 7), slice(7, 10), slice(10, 15), slice(15, 30)
# What is written: the offset of the origin from its group's, R by columns, p, v, w, a, alpha.
_OUT_ROWS, _TURNED, _RESULTS = 35, slice(0, 20), slice(5, 35)
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
        out = [np.zeros((30, 0), np.int64)]
        out += [_places(b, found) for b, found in zip(bodies, links, strict=True)]
        self._out = Memory(np.concatenate(out, axis=1))
        self._make_room(n)

    def _make_room(self, n: int) -> None:
        """Make the arrays of results, and name their parts."""
        R, w = self.state[_R].reshape(3, 1, 5, n), self.state[_W]
        self._factors = (
            R,
            np.concatenate([self._local_p[:, None], self._local_R], axis=1)[:, :, None],
        )
        self._products, self._crossed = np.zeros((3, 4, 5, n)), np.zeros((2, 3, n))
        out = np.zeros((_OUT_ROWS, n))
        self._turned, self._results = out[_TURNED].reshape(4, 5, n), out[_RESULTS]
        self._p, self._now, self._rates = out[20:23], out[23:29], out[29:35]
        self._now_v, self._now_w = self._now[:3], self._now[3:]
        self._before = np.zeros((6, n))
        # w x offset = (y, z, x) (z, x, y) - (z, x, y) (y, z, x), both products at once
        after, twice_after = _windows(w)[1:3], _windows(out[:5])[2:0:-1]
        self._cross_factors = after, twice_after
        self._v, self._w, self._origins = self.state[_V], w[:3], self.state[:3]
        self._from_origins = out[:3]
        self._flat, self._flat_place = self.state[: _W.stop].ravel(), self.state[_PLACE].ravel()
        self._anchor, self._way = np.zeros((2, 7 * n))
        self._way_parts = self._way[: 3 * n], self._way[3 * n :]

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

    def anchor(self) -> None:
        """Remember where the groups are, for ``strayed``."""
        np.copyto(self._anchor, self._flat_place)

    def strayed(self, reach: float) -> float:
        """Return a bound of how far points have gone since ``anchor``, in [m].

        Args:
            reach: How far they lie from the origins of their groups, in [m].
        """
        np.subtract(self._flat_place, self._anchor, out=self._way)
        way, turn = self._way_parts
        # A turn moves a point by 2 |q - q0| times its distance at most; sums of squares are
        # quickly had, and exceed the largest square.
        return sqrt(way.dot(way)) + 2.0 * reach * sqrt(turn.dot(turn))

    def remember(self) -> None:
        """Remember the velocities, of the state as read, so that accelerations follow."""
        if not self._is_fresh:
            self._work_out()
        np.copyto(self._before, self._now)

    def write(self, step: float) -> None:
        """Write how the links move after a step of this length."""
        self._work_out()
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
        self._work_out()
        self._rates[...] = 0.0
        self._out.write(self._results)

    def _work_out(self) -> None:
        """Work out the links' poses and velocities."""
        self._is_fresh = True
        products, turned, crossed = self._products, self._turned, self._crossed
        np.multiply(*self._factors, out=products)
        np.add(products[0], products[1], out=turned)
        np.add(turned, products[2], out=turned)
        np.multiply(*self._cross_factors, out=crossed)
        v = self._now_v
        np.subtract(crossed[0], crossed[1], out=v)
        np.add(v, self._v, out=v)
        np.copyto(self._now_w, self._w)
        np.add(self._origins, self._from_origins, out=self._p)


def _places(body: Assembly, links: Indices) -> Indices:
    """Return where R (by columns, rows in a cycle), p, v, w, a and alpha lie, shape (30, links)."""
    m = body.motion
    turned = addresses_of(m.R)[links][:, _CYCLE].transpose(2, 1, 0).reshape(15, -1)
    return np.concatenate(
        [turned, *(addresses_of(a)[links].T for a in (m.p, m.v, m.w, m.a, m.alpha))]
    )


def _windows(rows: Array) -> Array:
    """Return views of all three successive rows of an array, shape (rows - 2, 3, columns)."""
    first, second = rows.strides
    shape = len(rows) - 2, 3, rows.shape[1]
    return np.lib.stride_tricks.as_strided(rows, shape, (first, first, second), writeable=False)


def _columns(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Return arrays of shape (n, *shape) as one of shape (*shape, all n)."""
    joined = np.concatenate([np.zeros((0, *shape)), *arrays])
    return np.ascontiguousarray(np.moveaxis(joined, 0, -1))
