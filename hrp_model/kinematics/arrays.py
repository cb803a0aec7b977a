"""Arrays of a Body's position and motion, checked on assignment; one posture or a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import numpy as np
from numpy.typing import ArrayLike

from ..body import Body
from ..late_dataclass import dataclass
from ..rigid import Array
from .tree import aligned

_TOLERANCE = 1e-6


def cross(a: Array, b: Array) -> Array:
    """Return a x b for vectors along the last axis; several times faster than numpy's."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = y * w - z * v
    out[..., 1] = z * u - x * w
    out[..., 2] = x * v - y * u
    return out


def numbers(name: str, value: ArrayLike) -> Array:
    """Return a value as a float array of any shape; raises ValueError if it is not numeric."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r}") from None


def finite(name: str, value: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """Return a value as a finite float array of one of the given shapes.

    Args:
        name: Name of the value in messages.
        value: The numbers.
        shapes: Allowed shapes.

    Raises:
        ValueError: The shape is not allowed, or a number is not finite.
    """
    values = numbers(name, value)
    if values.shape not in shapes:
        allowed = " or ".join(str(shape) for shape in dict.fromkeys(shapes) if shape)
        expected = f"have shape {allowed}" if allowed else "be one number"
        raise ValueError(f"{name} must {expected}, got shape {values.shape}")
    if not np.isfinite(values).all():
        index = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        shown = str(list(index)) if index else ""
        raise ValueError(f"{name}{shown} is {values[index]}, which is not finite")
    return values


def rotations(name: str, value: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """Return rotation matrices: as ``finite``, and right-handed and orthonormal to 1e-6."""
    R = finite(name, value, *shapes)
    errors = np.abs(R.swapaxes(-1, -2) @ R - np.eye(3)).max(axis=(-1, -2))
    wrong = ~(errors <= _TOLERANCE) | (np.linalg.det(R) < 0.0)
    if wrong.any():
        posture = f" in posture {np.flatnonzero(wrong)[0]}" if wrong.ndim else ""
        raise ValueError(
            f"{name}{posture} must be a rotation, right-handed and orthonormal to "
            f"{_TOLERANCE:g}, got {R[wrong][0].tolist()}"
        )
    return R


@dataclass(frozen=True, eq=False)
class Arrays:
    """Joint vectors (..., n) and link arrays (..., k, 3), see BodyState; R is (..., k, 3, 3)."""

    q: Array
    dq: Array
    ddq: Array
    u: Array
    p: Array
    R: Array
    v: Array
    w: Array
    dv: Array
    dw: Array

    @staticmethod
    def zeros(joints: int, links: int, batch: int | None) -> Arrays:
        """Return arrays of zeros.

        In a batch, postures are the innermost axis in the memory of link arrays, along which
        computations are vectorised.
        """
        lead = () if batch is None else (batch,)
        q, dq, ddq, u = (np.zeros((*lead, joints)) for _ in range(4))
        if batch is None:
            p, v, w, dv, dw = np.zeros((5, links, 3))
            R = np.zeros((links, 3, 3))
        else:
            vectors = (aligned((links, 3, batch), np.zeros) for _ in range(5))
            p, v, w, dv, dw = (array.transpose(2, 0, 1) for array in vectors)
            R = aligned((links, 3, 3, batch), np.zeros).transpose(3, 0, 2, 1)
        return Arrays(q, dq, ddq, u, p, R, v, w, dv, dw)

    def part(self, postures: slice) -> Arrays:
        """Return views of some postures of a batch."""
        return Arrays(*(array[postures] for array in self))

    def first(self) -> Arrays:
        """Return views of the first posture of a batch."""
        return Arrays(*(array[0] for array in self))

    def assign(self, other: Arrays) -> None:
        """Copy all values; one posture is broadcast over a batch."""
        for mine, theirs in zip(self, other, strict=True):
            mine[...] = theirs

    def __iter__(self) -> Iterator[Array]:
        return (getattr(self, field.name) for field in fields(self))


class StateArrays:
    """Joint vectors and link arrays of a Body; BodyState describes them.

    Args:
        body: The model.
        batch: Number of postures; None for one, without a leading axis.
    """

    __slots__ = ("__weakref__", "_arrays", "body")

    def __init__(self, body: Body, batch: int | None) -> None:
        self.body = body
        self._arrays = self._allocate(batch)
        self._arrays.q[...] = [link.joint.initial for link in body.moving_links]
        self._arrays.p[..., 0, :] = body.root.X_PL.p
        self._arrays.R[..., 0, :, :] = body.root.X_PL.R

    @property
    def batch(self) -> int | None:
        """Number of postures; None for one, without a leading axis."""
        return len(self._arrays.q) if self._arrays.q.ndim == 2 else None

    @property
    def q(self) -> Array:
        """Joint positions in [rad] or [m], shape (n,) or (m, n).

        Assignment writes in place as long as the number of postures stays the same.

        Raises:
            ValueError: The assigned value has another shape, or an element is not finite.
        """
        return self._arrays.q

    @q.setter
    def q(self, value: ArrayLike) -> None:
        values, joints = numbers("q", value), len(self.body.moving_links)
        if values.ndim > 2 or (values.ndim and values.shape[-1] != joints):
            shapes = f"({joints},) or (postures, {joints})"
            raise ValueError(f"q must have shape {shapes}, got {values.shape}")
        self._finite("q", values)
        batch = len(values) if values.ndim == 2 else None
        if values.ndim and batch != self.batch:
            old = self._arrays if self.batch is None else self._arrays.part(slice(1))
            self._arrays = self._allocate(batch)
            self._arrays.assign(old if batch is not None else old.first())
        self._arrays.q[...] = values

    @property
    def dq(self) -> Array:
        """Joint velocities in [rad/s] or [m/s], shape and errors as of ``q``."""
        return self._arrays.dq

    @dq.setter
    def dq(self, value: ArrayLike) -> None:
        self._arrays.dq[...] = self._fitting("dq", value)

    @property
    def ddq(self) -> Array:
        """Joint accelerations in [rad/s^2] or [m/s^2], shape and errors as of ``q``."""
        return self._arrays.ddq

    @ddq.setter
    def ddq(self, value: ArrayLike) -> None:
        self._arrays.ddq[...] = self._fitting("ddq", value)

    @property
    def u(self) -> Array:
        """Joint torques in [N m] or forces in [N], shape and errors as of ``q``."""
        return self._arrays.u

    @u.setter
    def u(self, value: ArrayLike) -> None:
        self._arrays.u[...] = self._fitting("u", value)

    @property
    def p(self) -> Array:
        """Positions of the links' origins in [m], shape (k, 3) or (m, k, 3)."""
        return self._arrays.p

    @property
    def R(self) -> Array:  # noqa: N802
        """Rotations of the links, shape (k, 3, 3) or (m, k, 3, 3)."""
        return self._arrays.R

    @property
    def v(self) -> Array:
        """Velocities of the links' origins in [m/s], shape as of ``p``."""
        return self._arrays.v

    @property
    def w(self) -> Array:
        """Angular velocities of the links in [rad/s], shape as of ``p``."""
        return self._arrays.w

    @property
    def dv(self) -> Array:
        """Accelerations of the links' origins in [m/s^2], shape as of ``p``."""
        return self._arrays.dv

    @property
    def dw(self) -> Array:
        """Angular accelerations of the links in [rad/s^2], shape as of ``p``."""
        return self._arrays.dw

    @property
    def vo(self) -> Array:
        """Velocity of each link's point at the world's origin, v - w x p, in [m/s]; a copy."""
        return self.v - cross(self.w, self.p)

    @property
    def dvo(self) -> Array:
        """Time derivative of ``vo``, dv - dw x p - w x v, in [m/s^2]; a copy."""
        return self.dv - cross(self.dw, self.p) - cross(self.w, self.v)

    def _allocate(self, batch: int | None) -> Arrays:
        if batch is not None and batch < 1:
            raise ValueError(f"a batch must have at least one posture, got {batch}")
        return Arrays.zeros(len(self.body.moving_links), len(self.body.links), batch)

    def _fitting(self, name: str, value: ArrayLike) -> Array:
        """Return finite values of one of the shapes (), (n,) or (m, n); raises ValueError."""
        values, shape = numbers(name, value), self._arrays.q.shape
        if values.shape not in ((), shape[-1:], shape):
            raise ValueError(f"{name} must have shape {shape}, got {values.shape}")
        return self._finite(name, values)

    def _finite(self, name: str, values: Array) -> Array:
        if np.isfinite(values).all():
            return values
        index = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        link = f" of '{self.body.moving_links[index[-1]].name}'" if index else ""
        posture = f" in posture {index[0]}" if len(index) == 2 else ""
        raise ValueError(f"{name}{link}{posture} is {values[index]}, which is not finite")
