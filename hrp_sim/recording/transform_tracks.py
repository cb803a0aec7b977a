"""Recorded TF transforms, and their values at any time."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from math import acos

import numpy as np
from numpy.typing import NDArray

from hrp_model.description.frame_tree import Transform
from hrp_model.frames import Frame
from hrp_model.rigid import Array, Pose, quaternion_matrix

Times = NDArray[np.int64]

# Samples of all transforms together; each takes 68 bytes.
MAX_SAMPLES = 4_000_000
_WIDTH = 7  # numbers of a sample: position and quaternion
# Between quaternions with a larger cosine, linear interpolation is as exact as slerp.
_NEARLY_EQUAL = 1.0 - 1e-12


class TransformTracks:
    """The transforms of a recording by frame.

    If there are more than ``MAX_SAMPLES``, every second sample of each frame is dropped, as often
    as necessary.

    Attributes:
        stride: One of so many samples is kept.
    """

    def __init__(self) -> None:
        self.stride = 1
        self._tracks: dict[str, _Track] = {}
        self._size = 0

    def add(self, time_ns: int, transform: Transform, *, is_static: bool) -> None:
        """Add a sample; those of a frame come in the order of time.

        Args:
            time_ns: Time from which it holds, in [ns].
            transform: The transform.
            is_static: Whether it holds until the next one; others are interpolated.
        """
        track = self._tracks.setdefault(transform.frame, _Track())
        self._size += track.add(time_ns, transform, self.stride, is_static=is_static)
        if self._size > MAX_SAMPLES:
            self.stride *= 2
            for each in self._tracks.values():
                each.drop_every_second()
            self._size = sum(len(each.times) for each in self._tracks.values())

    @property
    def frames(self) -> list[str]:
        """Names of all frames that have a parent."""
        return list(self._tracks)

    @property
    def moving(self) -> frozenset[str]:
        """Names of the frames that are not static."""
        return frozenset(name for name, track in self._tracks.items() if not track.is_static)

    def times(self) -> Times:
        """Return the times of all samples that are not static, in [ns], increasing."""
        times = [np.array(x.times, np.int64) for x in self._tracks.values() if not x.is_static]
        return np.unique(np.concatenate(times)) if times else np.empty(0, np.int64)

    def at(self, time_ns: int) -> list[Frame]:
        """Return all frames at a time in [ns].

        Between two samples with the same parent the position is interpolated linearly and the
        rotation by slerp; otherwise the earlier sample holds. Before its first sample a frame is
        where that puts it, after its last one it rests.
        """
        return [track.at(name, time_ns) for name, track in self._tracks.items()]


class _Track:
    """The samples of one frame."""

    def __init__(self) -> None:
        self.times = array("q")
        self.is_static = False
        self._values = array("d")
        self._parents: dict[str, int] = {}
        self._parent_of = array("i")
        self._count = 0

    def add(self, time_ns: int, transform: Transform, stride: int, *, is_static: bool) -> int:
        """Add a sample, unless it is dropped; return the number of added samples."""
        self.is_static = is_static
        self._count += 1
        if not is_static and (self._count - 1) % stride:
            return 0
        self.times.append(time_ns)
        self._values.extend(transform.values)
        self._parent_of.append(self._parents.setdefault(transform.parent, len(self._parents)))
        return 1

    def drop_every_second(self) -> None:
        """Keep every second sample, beginning with the first."""
        values = np.array(self._values).reshape(-1, _WIDTH)[::2]
        self.times, self._parent_of = self.times[::2], self._parent_of[::2]
        self._values = array("d", values.tobytes())

    def at(self, name: str, time_ns: int) -> Frame:
        """Return the frame at a time in [ns]."""
        after = bisect_right(self.times, time_ns)
        i = max(after - 1, 0)
        parent = list(self._parents)[self._parent_of[i]]
        values = self._sample(i)
        if 0 < after < len(self.times) and not self.is_static:
            passed = (time_ns - self.times[i]) / (self.times[after] - self.times[i])
            if passed and self._parent_of[after] == self._parent_of[i]:
                values = _between(values, self._sample(after), passed)
        return Frame(name, parent, Pose(quaternion_matrix(values[3:]), values[:3]))

    def _sample(self, i: int) -> Array:
        return np.array(self._values[_WIDTH * i : _WIDTH * (i + 1)])


def _between(a: Array, b: Array, passed: float) -> Array:
    """Return the sample after a part of the way from one to another."""
    return np.concatenate([a[:3] + passed * (b[:3] - a[:3]), slerp(a[3:], b[3:], passed)])


def slerp(a: Array, b: Array, passed: float) -> Array:
    """Interpolate between two quaternions, along the shorter arc.

    Args:
        a: Quaternion of any length but zero, shape (4,).
        b: Likewise.
        passed: 0 gives the rotation of ``a``, 1 that of ``b``.
    """
    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if 0.0 in lengths:
        return a
    a, b = a / lengths[0], b / lengths[1]
    cosine = float(a @ b)
    if cosine < 0.0:
        b, cosine = -b, -cosine
    if cosine > _NEARLY_EQUAL:
        return a + passed * (b - a)
    angle = acos(cosine)
    between: Array = np.sin((1.0 - passed) * angle) * a + np.sin(passed * angle) * b
    return between / float(np.sin(angle))
