"""Sensor messages of ROS as arrays; without ROS, from its stand-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..rigid import Array

if TYPE_CHECKING:
    from hrp_msgs.messages import Image, LaserScan, PointCloud2, Vector3

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
