"""Load a motion file of any supported format: plain text, and sequences of values or poses."""

from __future__ import annotations

import os
import re
from math import floor, pi
from pathlib import Path

import numpy as np

from hrp_model import Diagnostics, ModelError
from hrp_model.diagnostics import Source, Span
from hrp_model.files.resources import ResourceError, path_from_uri
from hrp_model.late_dataclass import dataclass
from hrp_model.read_context import read_source
from hrp_model.readers.yaml.nodes import Mapping, Node, Scalar, Sequence
from hrp_model.readers.yaml.tree import parse
from hrp_model.rigid import Array, is_rotation, matrix_quaternion, matrix_rpy, rpy_matrix

from .motion import Motion, continuous_quaternions

# Contents in the format versions 1, 2 and 4, and 3.
_JOINTS = ("JointPosition", "JointDisplacement", "MultiJointDisplacementSeq")
_LINKS = ("LinkPosition", "MultiLinkPositionSeq")
_POSE_TYPES = ("MultiSE3Seq", "MultiSe3Seq", "MultiAffine3Seq")
_ZMP = ("ZMP", "ZMPSeq", "RelativeZMP", "RelativeZmp")  # planned with, not needed to move
_COMPOSITE_TYPES = ("CompositeSeq", "BodyMotion")
# Columns of a pose's quaternion in the order (x, y, z, w), after the three of its position.
_QUATERNIONS = {"XYZQWQXQYQZ": (4, 5, 6, 3), "XYZQXQYQZQW": (3, 4, 5, 6)}
_RPY = "XYZRPY"


def read_value_sequences(root: Mapping) -> Motion | None:
    """Read a body motion; return None after reporting an error."""
    kind = root.text("type", default="")
    if kind == "MultiValueSeq":
        joints = _joint_values(root)
        return None if joints is None else Motion(*joints)
    if kind not in _COMPOSITE_TYPES:
        message = (
            f"'{kind}' is no motion of a body; expected 'CompositeSeq', 'MultiValueSeq' or "
            "'PoseSeq'"
        )
        root.diagnostics.error("not-a-motion", message, root.at("type"))
        return None
    listed = root.sequence("components")
    joints = poses = None
    skipped: list[str] = []
    for item in listed.items if listed else ():
        if not isinstance(item, Mapping):
            root.diagnostics.error("wrong-type", "a component must be a mapping", item.span)
            continue
        content = item.text("content", "purpose", default="")
        kind = item.text("type", default="")
        component = item.with_defaults(root)
        if kind == "MultiValueSeq" and content in _JOINTS:
            joints = _joint_values(component)
        elif kind in _POSE_TYPES and content in _LINKS:
            poses = _root_poses(component)
        elif content not in _ZMP:
            skipped.append(content or kind)
    if skipped:
        message = f"parts of the motion that are not used: {', '.join(skipped)}"
        root.diagnostics.note("unused-key", message, root.at("components"))
    if joints is None and poses is None and not root.diagnostics.has_errors:
        message = f"the motion has no component with the content '{_JOINTS[1]}'"
        root.diagnostics.error("bad-motion", message, root.at("components"))
    return _motion(joints, poses)


def _motion(joints: tuple[Array, Array] | None, poses: tuple[Array, Array] | None) -> Motion | None:
    """Return the motion of joints and root; its times are those of the joints, if there are any."""
    if joints is None:
        if poses is None:
            return None
        joints = poses[0], np.empty((len(poses[0]), 0))
    if poses is None:
        return Motion(*joints)
    times = joints[0]
    # The root's posture at the last of its times not after each time.
    rows = np.clip(np.searchsorted(poses[0], times + 1e-9, side="right") - 1, 0, None)
    quaternions = continuous_quaternions(poses[1][rows, 3:])
    return Motion(times, joints[1], poses[1][rows, :3], quaternions)


def _joint_values(node: Mapping) -> tuple[Array, Array] | None:
    """Return times, shape (n,), and joint positions, shape (n, parts), of a MultiValueSeq."""
    frames = _frames(node)
    parts = node.integer("num_parts", "numParts", default=None)
    has_time = node.boolean("has_frame_time", "hasFrameTime", default=False)
    width = None if parts is None else parts + has_time
    rows: list[Array] = []
    for frame in frames:
        row = frame.numbers() if isinstance(frame, Sequence) else None
        if row is None:
            _report(node, "a frame must be a list of numbers", frame.span)
            return None
        width = len(row) if width is None else width
        if len(row) != width or width <= has_time:
            _report(node, f"a frame needs {width} numbers here, not {len(row)}", frame.span)
            return None
        rows.append(row)
    if not rows:  # which was reported
        return None
    table = np.array(rows)
    times = _times(node, len(table), table[:, 0].copy() if has_time else None)
    return None if times is None else (times, table[:, int(has_time) :].copy())


def _root_poses(node: Mapping) -> tuple[Array, Array] | None:
    """Return times, shape (n,), and the root's position and quaternion (x, y, z, w), (n, 7)."""
    frames = _frames(node)
    form = node.text("SE3Format", "format", default="")
    if form not in (*_QUATERNIONS, _RPY):
        message = f"a pose is written as {', '.join((*_QUATERNIONS, _RPY))}, not as '{form}'"
        _report(node, message, node.at("SE3Format", "format"))
        return None
    has_time = node.boolean("has_frame_time", "hasFrameTime", default=False)
    times: list[float] = []
    rows: list[Array] = []
    for frame in frames:
        parts = frame.items[: 1 + has_time] if isinstance(frame, Sequence) else []
        time = parts[0] if has_time and parts else None
        root = parts[-1] if len(parts) == 1 + has_time else None
        row = root.numbers() if isinstance(root, Sequence) else None
        pose = None if row is None else _pose(row, form)
        if pose is None or (has_time and not isinstance(time, Scalar)):
            _report(node, f"a frame needs the poses of links, written as {form}", frame.span)
            return None
        times.append((time.number() if isinstance(time, Scalar) else None) or 0.0)
        rows.append(pose)
    if not rows:
        return None
    found = _times(node, len(rows), np.array(times) if has_time else None)
    return None if found is None else (found, np.array(rows))


def _pose(row: Array, form: str) -> Array | None:
    """Return position and quaternion (x, y, z, w), or None if the numbers are no pose."""
    if form == _RPY:
        if len(row) != 6:
            return None
        return np.concatenate([row[:3], matrix_quaternion(rpy_matrix(*row[3:].tolist()))])
    if len(row) != 7 or not np.any(row[3:]):
        return None
    pose: Array = row[[0, 1, 2, *_QUATERNIONS[form]]]
    return pose


def _frames(node: Mapping) -> list[Node]:
    """Return the frames; an empty list after reporting that there are none."""
    listed = node.sequence("frames")
    if listed is None or not listed.count:
        _report(node, "a sequence needs 'frames', a list of lists of numbers", node.at("frames"))
        return []
    return listed.items


def _times(node: Mapping, count: int, written: Array | None) -> Array | None:
    """Return the time of each frame, in [s], or None after reporting an error."""
    if written is not None:
        if np.all(np.diff(written) > 0.0):
            return written
        _report(node, "the times of the frames must increase", node.at("frames"))
        return None
    rate = node.number("frame_rate", "frameRate", default=None)
    if rate is not None and rate > 0.0:
        return np.arange(count) / rate
    at = node.at("frame_rate", "frameRate")
    _report(node, "a sequence needs 'frame_rate', a positive number [Hz]", at)
    return None


def _report(node: Mapping, message: str, at: Span) -> None:
    node.diagnostics.error("bad-motion", message, at)


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


_MAX_NUMBER = 1e12  # as of commands to joints
# The first line of plain text is numbers only.
_PLAIN = re.compile(r"[\s,]*[-+.\d][-+.\deE\s,]*(?:\n|$)")


def load_motion(
    path: str | os.PathLike[str],
    diagnostics: Diagnostics | None = None,
    *,
    rate: float = DEFAULT_RATE,
) -> Motion:
    """Load a motion, of the format that its text has, whatever its suffix.

    Formats are body motions of Choreonoid (``.yaml``, ``.seq``: CompositeSeq or a single
    MultiValueSeq), its key poses (``.pseq``: PoseSeq), and plain text with a time and the joint
    positions in each line (``.seq``, ``.pos`` of OpenHRP and hrpsys).

    Args:
        path: Path of the file, or its ``file://`` or ``package://`` URI.
        diagnostics: Receives notes and warnings; by default they are logged.
        rate: Number of postures per second computed from key poses, in [Hz].

    Raises:
        ModelError: The file cannot be used; lists every problem with its location.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    source = _source(path, diagnostics)
    motion = None
    if source is not None:
        with np.errstate(all="ignore"):  # such numbers are refused
            motion = _read(source, diagnostics, rate)
        if motion is not None and not _is_usable(motion):
            message = (
                f"the numbers of a motion must be below {_MAX_NUMBER:g}, and its poses regular"
            )
            diagnostics.error("bad-motion", message, Span(source, 0, 0))
    diagnostics.raise_errors()
    if motion is None:  # which was reported
        raise ModelError(diagnostics.found)
    return motion


def _source(path: str | os.PathLike[str], diagnostics: Diagnostics) -> Source | None:
    try:
        return read_source(Path(os.path.realpath(path_from_uri(path))), os.fspath(path))
    except ResourceError as error:
        diagnostics.error("missing-resource", str(error))
    except OSError as error:
        message = f"cannot read the motion '{os.fspath(path)}': {error.strerror or error}"
        diagnostics.error("unreadable-file", message)
    return None


def _read(source: Source, diagnostics: Diagnostics, rate: float) -> Motion | None:
    if _PLAIN.match(source.text):
        return _read_table(source, diagnostics)
    root = parse(source, diagnostics)
    if diagnostics.has_errors:
        return None
    if isinstance(root, Mapping) and "type" in root:
        if root.text("type", default="") == "PoseSeq":
            return read_pose_sequence(root, rate)
        return read_value_sequences(root)
    message = (
        "this is no motion: expected 'type: CompositeSeq' or 'type: PoseSeq' of Choreonoid, or "
        "lines with a time and joint positions"
    )
    diagnostics.error("not-a-motion", message, Span(source, 0, 0) if root is None else root.span)
    return None


def _is_usable(motion: Motion) -> bool:
    """Return whether all numbers are finite and not too large, except those of unmoved joints."""
    numbers = [motion.times, motion.q[:, ~np.isnan(motion.q[0])]]
    if motion.root_positions is not None and motion.root_quaternions is not None:
        # The norm is 0 or NaN after an overflow.
        norms = np.linalg.norm(motion.root_quaternions, axis=1)
        numbers += [motion.root_positions, np.where(norms > 0.5, norms, np.nan)]
    return all(bool(np.all(np.abs(x) < _MAX_NUMBER)) for x in numbers)


def _read_table(source: Source, diagnostics: Diagnostics) -> Motion | None:
    """Read the table; return None after reporting an error.

    Lines are the time [s] and the joint positions [rad, m] by joint id, separated by blanks,
    tabs or commas. Empty lines are skipped.
    """
    rows: list[list[float]] = []
    offset = 0
    for line in source.text.splitlines(keepends=True):
        span = Span(source, offset, offset + len(line.rstrip()))
        offset += len(line)
        words = line.replace(",", " ").split()
        if not words:
            continue
        problem, row = _row(words, rows)
        if problem:
            diagnostics.error("bad-motion", problem, span)
            return None
        rows.append(row)
    if not rows:
        diagnostics.error("bad-motion", "the motion has no lines", Span(source, 0, 0))
        return None
    table = np.array(rows)
    return Motion(table[:, 0].copy(), table[:, 1:].copy())


def _row(words: list[str], rows: list[list[float]]) -> tuple[str, list[float]]:
    """Return an error message or "", and the numbers of a line."""
    try:
        row = [float(word) for word in words]
    except ValueError:
        return "expected numbers only: a time [s] and the positions of the joints", []
    if not np.isfinite(row).all():
        return "all numbers of a motion must be finite", []
    if len(row) < 2:
        return "expected a time [s] and the positions of the joints, not a single number", []
    if rows and len(row) != len(rows[0]):
        return f"expected {len(rows[0])} numbers, as in the first line, not {len(row)}", []
    if rows and row[0] <= rows[-1][0]:
        return f"times must increase, but {row[0]:g} s follows {rows[-1][0]:g} s", []
    return "", row
