"""Robots, their files and their sensors, as others publish them."""

import os
from array import array
from dataclasses import replace
from math import inf, nan, pi
from pathlib import Path

import numpy as np
import pytest
from each_case import all_cases
from numpy.testing import assert_allclose, assert_array_equal

from hrp_model import ModelError, load_body_text
from hrp_model.description import published
from hrp_model.description.published import (
    UnreadableMessageError,
    body_names,
    cloud_points,
    copy_files,
    depths,
    frame_prefixes,
    has_frame_of,
    link_poses,
    namespace,
    picture,
    read_with_files,
    scan_points,
)
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_msgs.messages import Image, LaserScan, PointCloud2, PointField

ARM = """<robot name="arm">
<link name="base_link"/><link name="arm"/><link name="tool"/>
<joint name="j" type="continuous"><parent link="base_link"/><child link="arm"/>
 <origin xyz="0 0 1"/><axis xyz="0 0 1"/></joint>
<joint name="t" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="1 0 0"/></joint>
</robot>"""
LINKS = ("base_link", "arm", "tool")
TRIANGLE = (
    b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
    b"endloop\nendfacet\nendsolid x\n"
)
URDF = """<robot name="r"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>"""
PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


@pytest.fixture
def arm(diagnostics):
    body = load_body_text(ARM, diagnostics, kind="urdf")
    diagnostics.found.clear()  # it has no masses
    return body


@all_cases(
    ("topic", "expected"),
    [
        ("/robot_description", ""),
        ("robot_description", ""),
        ("/left/robot_description", "left"),
        ("/a/b/robot_description", "a/b"),
        ("/robot_description_semantic", None),
        ("/robot_description/x", None),
    ],
)
def test_the_namespace_is_that_of_the_topic(topic, expected):
    assert namespace(topic) == expected


def test_robots_are_named_after_their_namespace_or_their_model(arm):
    assert body_names({"": arm, "left": arm}) == {"": "arm", "left": "left"}
    assert body_names({"": arm, "arm": arm}) == {"": "arm_2", "arm": "arm"}
    assert body_names({"": replace(arm, name="")}) == {"": "robot"}


def test_the_frames_that_exist_determine_the_prefix(arm):
    assert frame_prefixes({"": arm}, LINKS) == {"": ""}
    assert frame_prefixes({"": arm}, [f"sim/{x}" for x in LINKS]) == {"": "sim/"}
    assert frame_prefixes({"": arm}, [f"left_{x}" for x in LINKS]) == {"": "left_"}
    assert frame_prefixes({"": arm}, ["world", "camera"]) == {}


def test_equal_robots_have_the_frames_like_their_namespaces(arm):
    frames = [f"{side}/{x}" for side in ("left", "right") for x in LINKS]
    expected = {"right": "right/", "left": "left/"}
    assert frame_prefixes({"right": arm, "left": arm}, frames) == expected


def test_a_robot_without_frames_does_not_take_those_of_another(arm):
    other = replace(arm, links=(replace(arm.root, name="base_link"),))
    assert frame_prefixes({"": arm, "chair": other}, LINKS) == {"": ""}


def test_links_have_the_poses_of_their_frames(arm):
    poses = {f"x/{name}": Pose(p=np.array([i, 0.0, 0.0])) for i, name in enumerate(LINKS)}
    p, R = link_poses(arm, poses, "x/")
    assert_allclose(p[:, 0], [0.0, 1.0, 2.0])
    assert_allclose(R, np.broadcast_to(np.eye(3), (3, 3, 3)))


def test_a_link_without_a_frame_has_its_initial_pose_relative_to_its_parent(arm):
    turned = Pose(axis_angle_matrix([0.0, 0.0, 1.0], pi / 2), np.array([0.0, 0.0, 5.0]))
    p, R = link_poses(arm, {"base_link": Pose(), "arm": turned}, "")
    assert_allclose(p[2], [0.0, 1.0, 5.0], atol=1e-15)
    assert_allclose(R[2], turned.R)


def test_a_robot_without_frames_stands_where_the_model_says(arm):
    p, _ = link_poses(arm, {"base_link": turned_away()}, None)
    assert_allclose(p, [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])


def turned_away():
    return Pose(p=np.array([9.0, 9.0, 9.0]))


def test_a_robot_moves_if_a_frame_of_it_does(arm):
    assert has_frame_of(arm, "a/", {"a/tool"})
    assert not has_frame_of(arm, "a/", {"b/tool", "tool"})
    assert not has_frame_of(arm, None, {"tool"})


def test_a_fixed_root_makes_a_robot_without_joints_static(arm):
    assert not arm.is_root_fixed
    assert arm.with_fixed_root().is_root_fixed


def files_in(folder):
    return {str(Path(at, x).relative_to(folder)) for at, _, names in os.walk(folder) for x in names}


@pytest.mark.parametrize(
    ("uri", "written"),
    [
        ("file:///gone/a.stl", "file:///gone/a.stl"),
        ("file:///gone/a%20b.stl", "file:///gone/a%20b.stl"),
        ("file:///gone/a&b'.stl", "file:///gone/a&amp;b'.stl"),
        ("package://their_robot/meshes/a.stl", "package://their_robot/meshes/a.stl"),
    ],
)
def test_a_mesh_is_read_from_its_copy(tmp_path, diagnostics, uri, written):
    files = copy_files({uri: TRIANGLE}, tmp_path)
    body = read_with_files(URDF.format(written), "robot_description", files, diagnostics)
    (shape,) = body.root.visual
    assert len(shape.geometry.triangles) == 1


def test_a_mesh_without_a_copy_is_read_from_where_the_urdf_says(tmp_path, diagnostics):
    (tmp_path / "a.stl").write_bytes(TRIANGLE)
    uri = (tmp_path / "a.stl").as_uri()
    body = read_with_files(URDF.format(uri), "robot_description", {}, diagnostics)
    assert len(body.root.visual) == 1


def test_a_missing_mesh_is_a_warning(diagnostics):
    read_with_files(URDF.format("file:///gone/a.stl"), "robot_description", {}, diagnostics)
    assert "/gone/a.stl" in diagnostics.found.pop().message


def test_references_between_copies_still_work(tmp_path, diagnostics):
    obj = b"mtllib ../looks/a.mtl\nusemtl red\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    mtl = b"newmtl red\nKd 1 0 0\n"
    contents = {"file:///gone/meshes/a.obj": obj, "file:///gone/looks/a.mtl": mtl}
    files = copy_files(contents, tmp_path)
    urdf = URDF.format("file:///gone/meshes/a.obj")
    body = read_with_files(urdf, "robot_description", files, diagnostics)
    assert body.root.visual[0].material.diffuse == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "uri",
    [
        "file:///../../outside",
        "file://../../outside",
        "file:///a/%2e%2e/%2e%2e/%2e%2e/outside",
        "../outside",
        "/outside",
        "x/../..://outside",
        "file://",
        "file:///a\0b",
        "file:///" + "a" * 5000,
    ],
)
def test_no_name_leads_out_of_the_folder(tmp_path, uri):
    folder = tmp_path / "inside"
    folder.mkdir()
    copy_files({uri: b"x"}, folder)
    assert all(x.startswith("inside") for x in files_in(tmp_path))


def test_a_file_where_a_folder_is_needed_is_left_out(tmp_path):
    copies = copy_files({"file:///a": b"x", "file:///a/b": b"y"}, tmp_path)
    assert list(copies) == ["file:///a"]


def test_the_size_of_all_copies_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(published, "MAX_SIZE", 5)
    copies = copy_files({"file:///a": b"123", "file:///b": b"456", "file:///c": b"7"}, tmp_path)
    assert list(copies) == ["file:///a"]


def test_an_invalid_urdf_is_located(diagnostics):
    with pytest.raises(ModelError, match="left/robot_description:1:1: error"):
        read_with_files("<robt/>", "left/robot_description", {}, diagnostics)
    diagnostics.found.clear()


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


@all_cases(
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


@all_cases(
    ("encoding", "pixels", "expected"),
    [
        ("rgb8", PIXELS, PIXELS),
        ("bgr8", PIXELS[:, :, ::-1].copy(), PIXELS),
        ("rgba8", np.dstack([PIXELS, PIXELS[:, :, 0]]), PIXELS),
        ("mono8", PIXELS[:, :, 0].copy(), PIXELS[:, :, [0, 0, 0]]),
    ],
)
@all_cases("padding", [0, 5])
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


@all_cases(
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
