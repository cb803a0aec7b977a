"""Read Choreonoid's body motions: sequences of values at a frame rate, as YAML.

A CompositeSeq has components, which take missing keys from it; a single MultiValueSeq is a
motion of joints, too.
"""

from __future__ import annotations

import numpy as np

from hrp_model.diagnostics import Span
from hrp_model.readers.yaml.nodes import Mapping, Node, Scalar, Sequence
from hrp_model.rigid import Array, matrix_quaternion, rpy_matrix

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
