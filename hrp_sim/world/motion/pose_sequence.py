"""Read Choreonoid's key poses (PoseSeq) and compute the motion through them.

Joint positions are interpolated as Choreonoid's PoseSeqInterpolator does: between two key poses
of a joint by a cubic, whose slope at a key pose is the mean of those before and after it, and 0 at
stationary and turning points. Links that are led in space (``ikLinks``) are not: their joints move
through the same key poses, but not along a straight line of the link between them. The pose of the
root is interpolated in the same way, in roll, pitch and yaw.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, pi

import numpy as np

from hrp_model.readers.yaml.nodes import Mapping, Scalar
from hrp_model.rigid import Array, is_rotation, matrix_quaternion, matrix_rpy, rpy_matrix

from .motion import Motion, continuous_quaternions

DEFAULT_RATE = 500.0  # postures per second, in [Hz]
_MAX_JOINT_ID = 1000
_MAX_VALUES = 20_000_000  # of all postures
_EPSILON = 1e-6  # [s]; key poses less apart have one time
_FLAT = 1e-3  # [rad, m]; a smaller difference of key poses has no slope


@dataclass
class _Key:
    """The values that one key pose gives, such as the position of a joint.

    Attributes:
        time: In [s].
        values: Shape (dimensions,).
        stops: Whether the motion stops there.
    """

    time: float
    values: Array
    stops: bool


class _Track:
    """The key values of a joint or a link over time."""

    def __init__(self, turning_stops: bool) -> None:
        self.keys: list[_Key] = []
        self._turning_stops = turning_stops
        self._last = 0.0
        self._direction = 0.0

    def add(self, key: _Key, transition: float) -> None:
        """Add the next key; with a ``transition`` time in [s], the values are held before it."""
        if self._turning_stops:
            direction = float(key.values[0]) - self._last
            if self.keys and self._direction * direction <= 0.0:
                self.keys[-1].stops = True
            self._direction, self._last = direction, float(key.values[0])
        if self.keys and 0.0 < transition < key.time - self.keys[-1].time:
            last = self.keys[-1]
            last.stops = True
            self.keys.append(_Key(key.time - transition, last.values, True))
        self.keys.append(key)

    def at(self, times: Array) -> Array:
        """Return the values at times, shape (n, dimensions); held before and after the keys."""
        keys = [key for i, key in enumerate(self.keys) if self._is_last_at_its_time(i)]
        x = np.array([key.time for key in keys])
        y = np.array([key.values for key in keys])
        if len(keys) == 1:
            return np.repeat(y, len(times), axis=0)
        slopes = self._slopes(x, y, [key.stops for key in keys])
        i = np.clip(np.searchsorted(x, times, side="right") - 1, 0, len(x) - 2)
        h = (x[i + 1] - x[i])[:, None]
        s = np.clip((times - x[i])[:, None] / h, 0.0, 1.0)
        # Cubic Hermite polynomials.
        values: Array = (
            (1.0 + 2.0 * s) * (1.0 - s) ** 2 * y[i]
            + s * (1.0 - s) ** 2 * h * slopes[i]
            + s**2 * (3.0 - 2.0 * s) * y[i + 1]
            + s**2 * (s - 1.0) * h * slopes[i + 1]
        )
        return values

    def _is_last_at_its_time(self, i: int) -> bool:
        return i + 1 == len(self.keys) or self.keys[i + 1].time - self.keys[i].time >= _EPSILON

    @staticmethod
    def _slopes(x: Array, y: Array, stops: list[bool]) -> Array:
        slopes = np.zeros_like(y)
        d = np.diff(y, axis=0)
        h = np.diff(x)[:, None]
        mean = (d[:-1] / h[:-1] + d[1:] / h[1:]) / 2.0
        moves = (np.abs(d[:-1]) >= _FLAT) & (np.abs(d[1:]) >= _FLAT) & (d[:-1] * d[1:] > 0.0)
        slopes[1:-1] = np.where(moves & ~np.array(stops[1:-1], dtype=bool)[:, None], mean, 0.0)
        return slopes


def read_pose_sequence(root: Mapping, rate: float = DEFAULT_RATE) -> Motion | None:
    """Read key poses, and return the motion through them; None after reporting an error.

    Args:
        root: The document.
        rate: Number of postures per second of the motion, in [Hz].
    """
    listed = root.sequence("refs")
    references = [item for item in (listed.items if listed else ()) if isinstance(item, Mapping)]
    timed = sorted(
        ((item.number("time", default=0.0), item) for item in references), key=lambda x: x[0]
    )
    joints: dict[int, _Track] = {}
    base = _Track(turning_stops=False)
    for time, item in timed:
        pose = item.mapping("refer")
        if pose is None or pose.text("type", default="") != "Pose":
            continue
        transition = item.number("maxTransitionTime", default=0.0)
        if not _add_joints(joints, pose, time, transition):
            return None
        _add_base(base, pose, time, transition)
    if not joints:
        if not root.diagnostics.has_errors:
            message = "the sequence has no key pose with joint positions ('joints' and 'q')"
            root.diagnostics.error("bad-motion", message, root.at("refs"))
        return None
    return _sampled(root, joints, base, timed[-1][0], rate)


def _add_joints(joints: dict[int, _Track], pose: Mapping, time: float, transition: float) -> bool:
    """Add the joint positions of a key pose; return False after reporting an error."""
    if pose.lacks("joints", "q"):
        return True
    ids = pose.numbers("joints", count=None, default=None)
    q = pose.numbers("q", count=None if ids is None else len(ids), default=None)
    if ids is None or q is None:
        if not pose.diagnostics.has_errors:
            message = "a key pose needs 'joints', a list of ids, and as many positions 'q'"
            pose.diagnostics.error("bad-motion", message, pose.at("q", "joints"))
        return False
    stationary = pose.numbers("spJoints", count=None, default=np.empty(0))
    for number, position in zip(ids.tolist(), q.tolist(), strict=True):
        if not 0 <= number < _MAX_JOINT_ID or number != int(number):
            message = f"a joint id must be a whole number from 0 to {_MAX_JOINT_ID - 1}"
            pose.diagnostics.error("bad-motion", message, pose.at("joints"))
            return False
        track = joints.setdefault(int(number), _Track(turning_stops=True))
        track.add(_Key(time, np.array([position]), number in stationary), transition)
    return True


def _add_base(base: _Track, pose: Mapping, time: float, transition: float) -> None:
    """Add the pose of the root, if the key pose has it as its base link."""
    listed = pose.sequence("ikLinks")
    for link in listed.items if listed else ():
        if not isinstance(link, Mapping) or not link.boolean("isBaseLink", default=False):
            continue
        p = link.numbers("translation", count=3, default=None)
        R = link.numbers("rotation", count=9, default=None)
        number = link.get("index")
        is_root = isinstance(number, Scalar) and number.text == "0"
        if p is None or R is None or not is_root or not is_rotation(R.reshape(3, 3), 1e-3):
            continue
        rpy = np.array(matrix_rpy(R.reshape(3, 3)))
        if base.keys:  # turns take the short way
            rpy += 2.0 * pi * np.round((base.keys[-1].values[3:] - rpy) / (2.0 * pi))
        stops = link.boolean("isStationaryPoint", default=False)
        stops = stops or link.boolean("isTouching", default=False)
        base.add(_Key(time, np.concatenate([p, rpy]), stops), transition)


def _sampled(
    root: Mapping, joints: dict[int, _Track], base: _Track, end: float, rate: float
) -> Motion | None:
    count = floor(float(np.clip(end * rate, -1.0, _MAX_VALUES)) + 1e-9) + 1  # it may be infinite
    width = 1 + max(joints)
    if count < 1 or count * width > _MAX_VALUES:
        message = f"a motion cannot end at {end:g} s, with {rate:g} postures per second"
        root.diagnostics.error("bad-motion", message, root.at("refs"))
        return None
    times = np.arange(count) / rate
    q = np.full((count, width), np.nan)
    for number, track in joints.items():
        q[:, number] = track.at(times)[:, 0]
    if not base.keys:
        return Motion(times, q)
    poses = base.at(times)
    quaternions = [matrix_quaternion(rpy_matrix(*rpy)) for rpy in poses[:, 3:].tolist()]
    return Motion(times, q, poses[:, :3].copy(), continuous_quaternions(np.array(quaternions)))
