"""The extension checks its arguments."""

import numpy as np
import pytest
from kinematics_samples import random_body

from hrp_model.kinematics import BodyState
from hrp_model.kinematics import _dynamics as fast
from hrp_model.kinematics.tree import Tree


def test_a_body_without_joints():
    body = random_body(0, links=1)
    state = BodyState(body, batch=3)
    assert state.calc_mass_matrix().shape == (3, 6, 6)
    assert state.gravity_torque().shape == (3, 0)
    assert BodyState(body, fix_root=True).calc_mass_matrix().shape == (0, 0)


@pytest.fixture
def arguments():
    """Those of ``weights``, by name."""
    body = random_body(3)
    tree, k, n = Tree.of(body), len(body.links), len(body.moving_links)
    places, constants = tree.packed
    return {
        "places": places,
        "constants": constants,
        "p": np.zeros((5, k, 3)),
        "R": np.tile(np.eye(3), (5, k, 1, 1)),
        "u": np.zeros((5, n)),
        "gravity": 9.8,
    }


def test_arrays_of_any_strides_will_do(arguments):
    fast.weights(*arguments.values())
    strided = np.full((arguments["u"].shape[1], 10), np.nan).T[::2]
    turned = np.asfortranarray(arguments["R"])
    fast.weights(*(arguments | {"R": turned, "u": strided}).values())
    np.testing.assert_array_equal(strided, arguments["u"])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("p", lambda p: p[:4], "R has a wrong shape"),
        ("p", lambda p: p[:, :-1], "p has a wrong shape"),
        ("p", lambda p: p[0, 0], "p has a wrong shape"),
        ("R", lambda R: R[..., :2], "R has a wrong shape"),
        ("R", lambda R: R.astype(np.float32), "R must be an array of float64"),
        ("u", lambda u: u.astype(int), "u must be an array of float64"),
        ("u", lambda u: u[:, :1], "must be those of a tree"),
        ("places", lambda x: x.astype(float), "places must be an array of int64"),
        ("places", lambda x: x[:-1], "must be those of a tree"),
        ("places", lambda x: x[:0], "must be those of a tree"),
        ("places", lambda x: x + np.array([1, 0]), "must be those of a tree"),
        ("places", lambda x: x + np.array([0, 99]), "must be those of a tree"),
        ("constants", lambda x: x[:, :-1].copy(), "must be those of a tree"),
    ],
)
def test_wrong_arrays_are_refused(arguments, name, change, message):
    with pytest.raises(ValueError, match=message):
        fast.weights(*(arguments | {name: change(arguments[name])}).values())


def test_results_need_memory_that_can_be_written(arguments):
    arguments["u"].flags.writeable = False
    with pytest.raises(ValueError, match=r"read-only|not writable"):
        fast.weights(*arguments.values())


def test_a_matrix_and_a_path_of_the_wrong_size_are_refused(arguments):
    places, constants, p, R, u, _ = arguments.values()
    n = u.shape[1]
    for columns, joints, first in ((5, n, 0), (6 + n, n, 1), (6 + n, n + 1, 0), (6, -1, 0)):
        with pytest.raises(ValueError, match=r"columns|shape|out of range|tree"):
            fast.inertias(places, constants, p, R, np.zeros((5, 6 + n, columns)), joints, first)
    matrix, point, ones = np.zeros((5, 2, 3, 1)), np.zeros((5, 3)), np.ones(1)
    for links, signs in (([len(places)], ones), ([-1], ones), ([1], np.ones(2))):
        with pytest.raises(ValueError, match="joints of a path"):
            fast.columns(places, constants, p, R, np.array(links), signs, point, matrix)
