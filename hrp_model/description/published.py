"""Robots and sensors as others publish them, without ROS.

A robot is its URDF, its files and the TF frames of its links; messages of sensors become arrays.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from hrp_msgs.names import ROBOT_DESCRIPTION

from ..body import Body
from ..diagnostics import Diagnostics
from ..frames import joint_pose, unique_name
from ..load import load_body_text
from ..rigid import Array, Pose

if TYPE_CHECKING:
    from hrp_msgs.messages import Image, LaserScan, PointCloud2, Vector3

# Size of all copies together, in [B].
MAX_SIZE = 1 << 29
Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]
# Channels of the 8-bit encodings of sensor_msgs/Image as columns of RGB.
_COLORS = {
    "rgb8": (3, (0, 1, 2)),
    "rgba8": (4, (0, 1, 2)),
    "bgr8": (3, (2, 1, 0)),
    "bgra8": (4, (2, 1, 0)),
    "8UC3": (3, (2, 1, 0)),
    "mono8": (1, (0, 0, 0)),
    "8UC1": (1, (0, 0, 0)),
}
# Encodings of depth: type of a pixel, and its unit in [m].
_DEPTHS = {"32FC1": ("f4", 1.0), "16UC1": ("u2", 1e-3), "mono16": ("u2", 1e-3)}
_FIELD_TYPES = {7: "f4", 8: "f8"}  # sensor_msgs/PointField


def read_with_files(
    urdf: str, name: str, files: Mapping[str, Path], diagnostics: Diagnostics
) -> Body:
    """Read a robot; files without a copy are read from where the URDF says.

    Args:
        urdf: Text of the URDF.
        name: Name of the text in messages.
        files: Copies of files, by the URI with which the URDF refers to them.
        diagnostics: Receives notes and warnings.

    Raises:
        ModelError: The URDF cannot be used; lists every problem with its place.
    """
    for uri, path in files.items():
        for quote in "\"'":
            written = f"{quote}{escape(uri, {quote: '&quot;'})}{quote}"
            urdf = urdf.replace(written, f'"{escape(path.as_uri())}"')
    return load_body_text(urdf, diagnostics, kind="urdf", name=name)


def copy_files(contents: Mapping[str, bytes], folder: Path) -> dict[str, Path]:
    """Write files into a folder, so that references between them still work.

    The path of a URI is repeated inside the folder, never left by "..". Files that cannot be
    written are left out, and so are all from the first one beyond ``MAX_SIZE``.

    Args:
        contents: Contents by URI; other names are left out.
        folder: An empty folder.

    Returns:
        The copies by URI.
    """
    copies: dict[str, Path] = {}
    size = 0
    for uri in contents:
        scheme, separator, rest = uri.partition("://")
        if not separator or not scheme.isalnum():
            continue
        data = contents[uri]
        size += len(data)
        if size > MAX_SIZE:
            break
        inside = posixpath.normpath(f"/{unquote(rest)}").lstrip("/")
        path = folder / scheme / inside
        with suppress(OSError, ValueError):  # a name that is too long, is a folder, or has a NUL
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            copies[uri] = path
    return copies


def namespace(topic: str) -> str | None:
    """Return the namespace of a topic with a robot's URDF; None for other topics."""
    above, _, name = topic.rpartition("/")
    return above.strip("/") if name == ROBOT_DESCRIPTION else None


def body_names(robots: Mapping[str, Body]) -> dict[str, str]:
    """Return a unique name of each robot by namespace: its namespace, or the model's name.

    Args:
        robots: Bodies by namespace.
    """
    return {
        space: space or unique_name(body.name or "robot", robots) for space, body in robots.items()
    }


def frame_prefixes(robots: Mapping[str, Body], frames: Iterable[str]) -> dict[str, str]:
    """Return the prefix of the TF frames of each robot, by namespace.

    A prefix is found by the frames that exist: it is the one with which most links of the robot
    have a frame, preferably one like the namespace. No two robots have the same one. Robots
    without any frame are left out.

    Args:
        robots: Bodies by namespace.
        frames: Names of all frames.
    """
    found: Counter[tuple[str, str]] = Counter()
    spaces: dict[str, list[str]] = {}
    for space, body in robots.items():
        for link in body.links:
            spaces.setdefault(link.name, []).append(space)
    for frame in frames:
        for i in range(len(frame)):
            for space in spaces.get(frame[i:], ()):
                found[space, frame[:i]] += 1

    def rank(pair: tuple[str, str]) -> tuple[bool, float, int, str]:
        space, prefix = pair
        share = found[pair] / len(robots[space].links)
        return not _is_alike(space, prefix), -share, len(prefix), prefix

    prefixes: dict[str, str] = {}
    taken: set[str] = set()
    for space, prefix in sorted(found, key=rank):
        if space not in prefixes and prefix not in taken:
            prefixes[space] = prefix
            taken.add(prefix)
    return prefixes


def has_frame_of(body: Body, prefix: str | None, frames: Container[str]) -> bool:
    """Return whether any link of a robot has one of these frames; prefix as in ``link_poses``."""
    return prefix is not None and any(prefix + link.name in frames for link in body.links)


def _is_alike(space: str, prefix: str) -> bool:
    return space.rpartition("/")[2] == prefix.strip("/").rpartition("/")[2]


def link_poses(body: Body, poses: Mapping[str, Pose], prefix: str | None) -> tuple[Array, Array]:
    """Return the poses of all links in the world.

    A link without a frame has its initial pose relative to its parent; such a root that of the
    model.

    Args:
        body: The robot.
        poses: Poses of TF frames in the world, by name.
        prefix: Prefix of its frames; None if it has no frames.

    Returns:
        p_WL of shape (links, 3) and R_WL of shape (links, 3, 3).
    """
    p, R = np.empty((len(body.links), 3)), np.empty((len(body.links), 3, 3))
    for i, (link, parent) in enumerate(zip(body.links, body.parent_indices, strict=True)):
        pose = None if prefix is None else poses.get(prefix + link.name)
        if pose is not None:
            p[i], R[i] = pose.p, pose.R
        elif parent < 0:
            p[i], R[i] = link.X_PL.p, link.X_PL.R
        else:
            X_PL = joint_pose(link, link.joint.initial)
            p[i], R[i] = p[parent] + R[parent] @ X_PL.p, R[parent] @ X_PL.R
    return p, R


class UnreadableMessageError(ValueError):
    """The data of a message contradicts its fields, or has a form that is not supported."""


def vector(v: Vector3) -> Array:
    """Return a vector as an array, shape (3,)."""
    return np.array([v.x, v.y, v.z], dtype=np.float64)


def scan_points(scan: LaserScan) -> Array:
    """Return the points of a scan in its frame, in [m], shape (n, 3), without misses."""
    ranges = np.asarray(scan.ranges, dtype=np.float64)
    angles = scan.angle_min + scan.angle_increment * np.arange(len(ranges))
    with np.errstate(invalid="ignore"):
        hits = (ranges >= scan.range_min) & (ranges <= scan.range_max)
    r, a = ranges[hits], angles[hits]
    return np.stack([r * np.cos(a), r * np.sin(a), np.zeros_like(r)], axis=1)


def cloud_points(cloud: PointCloud2) -> Array:
    """Return the points of a cloud in its frame, in [m], shape (n, 3).

    Raises:
        UnreadableMessageError: The cloud has no coordinates x, y, z, or is inconsistent.
    """
    order = ">" if cloud.is_bigendian else "<"
    fields = {x.name: x for x in cloud.fields}
    if not all(name in fields and fields[name].datatype in _FIELD_TYPES for name in "xyz"):
        raise UnreadableMessageError("a point cloud needs the fields x, y, z of type float")
    try:
        dtype = np.dtype(
            {
                "names": list("xyz"),
                "formats": [order + _FIELD_TYPES[fields[name].datatype] for name in "xyz"],
                "offsets": [fields[name].offset for name in "xyz"],
                "itemsize": cloud.point_step,
            }
        )
        rows = _rows(cloud.data, cloud.height, cloud.row_step, cloud.width * cloud.point_step)
        points = np.ascontiguousarray(rows).view(dtype)
    except ValueError as error:
        raise UnreadableMessageError(f"an inconsistent point cloud: {error}") from None
    return np.stack([points[name].ravel().astype(np.float64) for name in "xyz"], axis=1)


def picture(image: Image) -> NDArray[np.uint8] | None:
    """Return an image as RGB, shape (height, width, 3); None for a depth image.

    Raises:
        UnreadableMessageError: The image is inconsistent, or its encoding is not supported.
    """
    if image.encoding in _DEPTHS:
        return None
    if image.encoding not in _COLORS:
        raise UnreadableMessageError(f"images with encoding '{image.encoding}' are not shown")
    channels, columns = _COLORS[image.encoding]
    rows = _rows(image.data, image.height, image.step, image.width * channels)
    return rows.reshape(image.height, image.width, channels)[:, :, list(columns)]


def depths(image: Image) -> Array:
    """Return a depth image in [m], shape (height, width); NaN where there is no depth.

    Raises:
        UnreadableMessageError: The image is inconsistent.
    """
    kind, unit = _DEPTHS[image.encoding]
    dtype = np.dtype((">" if image.is_bigendian else "<") + kind)
    rows = _rows(image.data, image.height, image.step, image.width * dtype.itemsize)
    values = np.ascontiguousarray(rows).view(dtype).astype(np.float64)
    return np.where(values > 0.0, values * unit, np.nan)


def _rows(data: Bytes, height: int, step: int, used: int) -> NDArray[np.uint8]:
    """Return the used part of each row, shape (height, used).

    Raises:
        UnreadableMessageError: There are fewer bytes than the rows need.
    """
    values = np.frombuffer(data, dtype=np.uint8)
    if height < 1 or used < 1 or step < used or (height - 1) * step + used > values.size:
        raise UnreadableMessageError(
            f"{values.size} bytes of data are not {height} rows of {used} bytes, one every {step}"
        )
    return np.lib.stride_tricks.as_strided(values, (height, used), (step, 1), writeable=False)
