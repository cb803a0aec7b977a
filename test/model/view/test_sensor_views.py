"""Points, arrows and pictures of sensors in the scene, from plain arrays."""

import numpy as np
import pytest
from each_case import all_cases

pytest.importorskip("viser")

from hrp_model.rigid import Pose, quaternion_matrix, rpy_matrix
from hrp_model.view.sensor_views import (
    _ARROW_TRIANGLES,
    MAX_POINTS,
    ArrowsView,
    Lens,
    PictureView,
    PointsView,
    arrow_vertices,
    depth_picture,
    distance_colors,
)
from hrp_model.view.viewer import Viewer


@pytest.fixture(scope="module")
def viewer():
    with Viewer(0) as made:
        yield made


def node(viewer, name):
    return viewer.server.scene.get_handle_by_name(name)


def test_finite_points_are_shown_where_they_are(viewer):
    view = PointsView(viewer, "/cloud", 0.01)
    points = np.array([[1.0, 2.0, 3.0], [np.nan, 0.0, 0.0], [4.0, 5.0, np.inf], [-1.0, 0.5, 0.25]])
    view.show(points, np.zeros(3))
    np.testing.assert_array_equal(node(viewer, "/cloud").points, points[[0, 3]])
    view.show(np.full((3, 3), np.nan), np.zeros(3))
    assert not node(viewer, "/cloud").visible
    view.show(2.0 * points[:1], np.zeros(3))
    assert node(viewer, "/cloud").visible
    np.testing.assert_array_equal(node(viewer, "/cloud").points, 2.0 * points[:1])
    view.remove()
    assert node(viewer, "/cloud") is None


def test_a_large_cloud_is_thinned(viewer):
    view = PointsView(viewer, "/large", 0.01)
    points = np.random.default_rng(0).normal(size=(3 * MAX_POINTS + 1, 3)).astype(np.float32)
    view.show(points.astype(np.float64), np.zeros(3))
    shown = node(viewer, "/large").points
    assert MAX_POINTS / 2 < len(shown) <= MAX_POINTS
    assert {tuple(p) for p in shown[:50].tolist()} <= {tuple(p) for p in points.tolist()}
    view.remove()


def test_distances_run_from_yellow_to_violet(viewer):
    colors = distance_colors(np.array([1.0, 3.0, np.nan, 0.0, 9.0]), 1.0, 3.0)
    yellow, violet = [253, 231, 37], [68, 1, 84]
    assert colors.tolist() == [yellow, violet, [0, 0, 0], yellow, violet]


def test_a_depth_picture_spans_the_finite_depths():
    depth = np.array([[0.5, 2.0], [np.inf, np.nan]], np.float32)
    (near, far), (beyond, missed) = depth_picture(depth).tolist()
    assert (near, far) == ([253, 231, 37], [68, 1, 84])
    assert beyond == missed == [0, 0, 0]
    assert not depth_picture(np.full((2, 3), -np.inf)).any()
    assert depth_picture(np.full((2, 3), 1.5)).tolist() == [[[253, 231, 37]] * 3] * 2


def test_arrows_go_from_their_starts_along_their_vectors(viewer):
    view = ArrowsView(viewer, "/arrows", (255, 0, 0), 0.01)
    starts = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [2.0, 0.0, 0.0]])
    vectors = np.array([[0.0, 0.0, 2.0], [0.0, 0.001, 0.0], [np.nan, 0.0, 0.0]])
    view.show(starts, vectors)
    vertices = np.array(node(viewer, "/arrows").vertices)
    np.testing.assert_allclose(vertices[-1], [0.0, 0.0, 3.0])
    assert vertices[:, 2].min() == 1.0
    assert np.hypot(vertices[:, 0], vertices[:, 1]).max() == pytest.approx(0.015)  # of the head
    view.show(starts[1:], vectors[1:])  # too short, and not finite
    assert not node(viewer, "/arrows").visible
    view.show(np.zeros((2, 3)), np.eye(3)[:2])  # more than before
    vertices = np.array(node(viewer, "/arrows").vertices)
    assert vertices.max(axis=0).tolist() == pytest.approx([1.0, 1.0, 0.015])
    triangles = node(viewer, "/arrows").faces
    assert triangles.max() == len(vertices) - 1
    view.show(np.zeros((1, 3)), np.eye(3)[2:])  # fewer: those left over have no size
    vertices = np.array(node(viewer, "/arrows").vertices)
    assert vertices.max(axis=0).tolist() == pytest.approx([0.015, 0.015, 1.0], abs=1e-3)
    view.remove()


@all_cases("seed", range(5))
def test_an_arrow_is_closed_but_for_its_start_and_has_the_volume_of_its_parts(seed):
    rng = np.random.default_rng(seed)
    start, vector, width = rng.normal(size=(1, 3)), rng.normal(size=(1, 3)), 0.05
    vertices = arrow_vertices(start, vector, width)[0]
    np.testing.assert_allclose(vertices[-1], (start + vector)[0])
    length, head = np.linalg.norm(vector), 3.0 * width
    # The base of the shaft lies in the plane of the start, so it adds nothing about it.
    corners = vertices[_ARROW_TRIANGLES] - start[0]
    volume = np.linalg.det(corners).sum() / 6.0
    circle = 6.0 * np.sin(2.0 * np.pi / 12.0)  # area of the polygon, of radius 1
    shaft = circle * (0.5 * width) ** 2 * (length - head)
    cone = circle * (1.5 * width) ** 2 * head / 3.0
    assert abs(volume) == pytest.approx(shaft + cone, rel=1e-9)


def test_the_frustum_of_a_camera_has_its_field_of_view_and_pose(viewer):
    lens = Lens(vertical_angle=np.pi / 2, aspect=1.5, size=0.4)
    view = PictureView(viewer, "/lens", "eye <b>", lens, 1.0)
    frustum = node(viewer, "/lens")
    assert not frustum.visible
    assert frustum.scale * frustum.compute_canonical_frustum_size()[2] == pytest.approx(0.4)
    assert (frustum.fov, frustum.aspect) == (pytest.approx(np.pi / 2), 1.5)
    picture = np.zeros((1000, 1500, 3), np.uint8)
    pose = Pose(rpy_matrix(0.1, 0.2, 0.3), np.array([1.0, 2.0, 3.0]))
    view.move(pose)
    view.show(picture)
    assert frustum.visible
    assert view._picture.image.shape == (250, 375, 3)  # not larger than the panel
    w, x, y, z = frustum.wxyz
    np.testing.assert_allclose(quaternion_matrix([x, y, z, w]), pose.R, atol=1e-12)
    np.testing.assert_allclose(frustum.position, pose.p)
    view.hide()
    assert not frustum.visible
    view.remove()
