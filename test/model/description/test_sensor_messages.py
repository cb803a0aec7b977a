"""Sensor messages as arrays."""

from array import array
from math import inf, nan, pi

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrp_model.description.published import (
    UnreadableMessageError,
    cloud_points,
    depths,
    picture,
    scan_points,
)
from hrp_msgs.messages import Image, LaserScan, PointCloud2, PointField

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


def image(pixels, encoding, *, padding=0, **fields):
    rows = pixels.reshape(pixels.shape[0], -1).view(np.uint8)
    rows = np.pad(rows, ((0, 0), (0, padding)))
    height, width = pixels.shape[:2]
    made = Image(height=height, width=width, encoding=encoding, step=rows.shape[1], **fields)
    made.data = array("B", rows.tobytes())
    return made


def cloud(points, **fields):
    values = np.zeros(len(points), dtype=[("i", "u4"), ("x", "f4"), ("y", "f4"), ("z", "f4")])
    for name, column in zip("xyz", np.asarray(points).T, strict=True):
        values[name] = column
    made = PointCloud2(height=1, width=len(points), point_step=16, row_step=16 * len(points))
    made.fields = [PointField(name=x, offset=4 + 4 * i, datatype=7) for i, x in enumerate("xyz")]
    made.data = array("B", values.tobytes())
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_the_points_of_a_scan_are_its_hits():
    scan = LaserScan(angle_min=-pi / 2, angle_increment=pi / 4, range_min=0.5, range_max=10.0)
    scan.ranges = array("f", [1.0, inf, 2.0, nan, 0.1])
    assert_allclose(scan_points(scan), [[0.0, -1.0, 0.0], [2.0, 0.0, 0.0]], atol=1e-6)


def test_points_are_read_by_the_fields_of_the_cloud():
    points = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    assert_array_equal(cloud_points(cloud(points)), points.astype(np.float64))


@pytest.mark.parametrize(
    "fields",
    [
        {"width": 8},
        {"row_step": 1},
        {"point_step": 0},
        {"point_step": 8},
        {"height": 0},
        {"height": 2**31},
        {"width": 2**31},
        {"fields": []},
        {"fields": [PointField(name=x, offset=2**31, datatype=7) for x in "xyz"]},
        {"fields": [PointField(name=x, datatype=2) for x in "xyz"]},
    ],
)
def test_an_inconsistent_cloud_is_an_error(fields):
    with pytest.raises(UnreadableMessageError):
        cloud_points(cloud(np.ones((7, 3)), **fields))


@pytest.mark.parametrize(
    ("encoding", "pixels", "expected"),
    [
        ("rgb8", PIXELS, PIXELS),
        ("bgr8", PIXELS[:, :, ::-1].copy(), PIXELS),
        ("rgba8", np.dstack([PIXELS, PIXELS[:, :, 0]]), PIXELS),
        ("mono8", PIXELS[:, :, 0].copy(), PIXELS[:, :, [0, 0, 0]]),
    ],
)
@pytest.mark.parametrize("padding", [0, 5])
def test_colour_images_become_rgb(encoding, pixels, expected, padding):
    assert_array_equal(picture(image(pixels, encoding, padding=padding)), expected)


@pytest.mark.parametrize(
    ("encoding", "dtype", "is_bigendian", "unit"),
    [("32FC1", "<f4", 0, 1.0), ("32FC1", ">f4", 1, 1.0), ("16UC1", "<u2", 0, 1e-3)],
)
def test_depth_images_are_in_metres(encoding, dtype, is_bigendian, unit):
    values = np.array([[1, 2], [3, 0]]).astype(dtype)
    message = image(values, encoding, is_bigendian=is_bigendian)
    assert picture(message) is None
    assert_allclose(depths(message), np.array([[1.0, 2.0], [3.0, nan]]) * unit)


@pytest.mark.parametrize(
    "change",
    [{"height": 3}, {"width": 5}, {"step": 2}, {"height": 0}, {"width": 2**31}, {"step": 2**31}],
)
def test_an_inconsistent_image_is_an_error(change):
    message = image(PIXELS, "rgb8")
    for name, value in change.items():
        setattr(message, name, value)
    with pytest.raises(UnreadableMessageError):
        picture(message)


def test_an_unknown_encoding_is_named():
    with pytest.raises(UnreadableMessageError, match="bayer_rggb8"):
        picture(image(PIXELS, "bayer_rggb8"))
