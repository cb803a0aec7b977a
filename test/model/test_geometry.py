"""Shapes in their frames."""

import numpy as np
import pytest
from each_case import all_cases
from numpy.testing import assert_allclose

from hrp_model.geometry import Box, Material, Mesh, SceneNode, Shape, Sphere
from hrp_model.rigid import Pose, rpy_matrix

BALL = Sphere(0.1)


@pytest.fixture
def rng():
    return np.random.default_rng(13)


def random_pose(rng):
    return Pose(rpy_matrix(*rng.uniform(-3.0, 3.0, 3)), rng.uniform(-1.0, 1.0, 3))


def scaling(*factors):
    return np.diag([*factors, 1.0])


def test_moving_a_shape_keeps_all_but_its_place(rng):
    X, Y = random_pose(rng), random_pose(rng)
    shape = Shape(BALL, X.matrix(), Material(name="red"), "ball")
    moved = shape.moved(Y.matrix())
    assert_allclose(moved.T_FG, (Y @ X).matrix(), atol=1e-15)
    assert (moved.geometry, moved.material, moved.name) == (BALL, shape.material, "ball")


def test_a_place_splits_into_a_pose_and_a_scale(rng):
    for _ in range(20):
        X, scale = random_pose(rng), rng.uniform(0.01, 3.0, 3)
        parts = Shape(BALL, X.matrix() @ scaling(*scale)).rigid_parts()
        assert parts is not None
        assert_allclose(parts[0].matrix(), X.matrix(), atol=1e-14)
        assert_allclose(parts[1], scale, rtol=1e-14)


@all_cases(
    "T",
    [
        scaling(-1, 1, 1),
        scaling(-1, -1, -1),
        scaling(1, 0, 1),
        scaling(1, np.nan, 1),
        scaling(2, 1, 1) @ Pose(rpy_matrix(0, 0, 0.5)).matrix(),
    ],
)
def test_no_primitive_can_be_mirrored_sheared_or_flat(T):
    assert Shape(BALL, T).rigid_parts() is None


def test_a_half_turn_written_as_two_mirrorings_is_a_rotation():
    parts = Shape(BALL, scaling(-1, -2, 3)).rigid_parts()
    assert parts is not None
    assert_allclose(parts[0].R, np.diag([-1, -1, 1]))
    assert_allclose(parts[1], [1, 2, 3])


def test_a_slight_shear_passes_within_the_tolerance():
    T = np.eye(4)
    T[0, 1] = 1e-5
    assert Shape(BALL, T).rigid_parts() is None
    assert Shape(BALL, T).rigid_parts(tolerance=1e-4) is not None


def test_a_tree_flattens_to_all_its_shapes_parents_first(rng):
    X, Y, Z = (random_pose(rng) for _ in range(3))
    leaf = SceneNode("leaf", Z.matrix(), (Shape(BALL, name="deep"),))
    node = SceneNode("node", Y.matrix(), (Shape(BALL, X.matrix(), name="near"),), (leaf, leaf))
    flat = SceneNode(children=(node,)).flattened()
    assert [shape.name for shape in flat] == ["near", "deep", "deep"]
    assert_allclose(flat[0].T_FG, (Y @ X).matrix(), atol=1e-15)
    assert_allclose(flat[1].T_FG, (Y @ Z).matrix(), atol=1e-15)


def test_a_mesh_takes_flat_lists():
    mesh = Mesh([0, 0, 0, 1, 0, 0, 0, 1, 0], [0, 1, 2])
    assert mesh.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert (mesh.triangles.tolist(), mesh.triangles.dtype) == ([[0, 1, 2]], np.int32)


@pytest.mark.parametrize(
    "make", [lambda: Box([1, 2]), lambda: Shape(BALL, np.eye(3)), lambda: SceneNode("", np.eye(3))]
)
def test_wrong_shapes_of_arrays_are_refused(make):
    with pytest.raises(ValueError, match="must have shape"):
        make()


def test_what_is_placed_stays_where_it_is():
    T = np.eye(4)
    placed = (Shape(BALL, T).T_FG, SceneNode("", T).T_PN)
    T[0, 3] = 9.0
    for array in placed:
        assert array[0, 3] == 0.0
        assert not array.flags.writeable
