"""The extension computes what numpy does, and checks its arguments."""

import numpy as np
import numpy_dynamics
import pytest
from kinematics_samples import random_body

from hrp_model.kinematics import BodyState, dynamics
from hrp_model.kinematics import _dynamics as fast
from hrp_model.kinematics.tree import Tree

FUNCTIONS = {
    "poses": lambda s: (s.p, s.R),
    "motions": lambda s: (s.v, s.w, s.dv, s.dw),
    "mass matrix": lambda s: (s.calc_mass_matrix(),),
    "root inertia": lambda s: (s.calc_root_inertia(),),
    "joint inertias": lambda s: (s.calc_joint_inertias(),),
    "inverse dynamics": lambda s: (*s.calc_inverse_dynamics(), s.u),
    "wrench on a branch": lambda s: s.calc_inverse_dynamics(4),
    "gravity": lambda s: (s.gravity_torque(),),
    "momentum": lambda s: s.calc_total_momentum(about=[1.0, 2.0, 3.0]),
    "CM Jacobian": lambda s: (s.calc_cm_jacobian(), s.calc_cm_jacobian("L4")),
    "H": lambda s: (s.calc_angular_momentum_jacobian(), s.calc_angular_momentum_jacobian(3)),
    "Jacobian": lambda s: (s.joint_path(3, 8).calc_jacobian([0.1, 0.2, 0.3]),),
}


def computed(function, body, fix_root, batch):
    """The function's results in random motions; one posture if ``batch`` is None."""
    state = BodyState(body, fix_root=fix_root, batch=batch)
    rng = np.random.default_rng(7)
    for array in (state.q, state.dq, state.ddq):
        array[...] = rng.normal(size=array.shape)
    for array in (state.p, state.v, state.w, state.dv, state.dw):
        array[..., 0, :] = rng.normal(size=array[..., 0, :].shape)
    state.calc_forward_kinematics(velocity=True, acceleration=True)
    return function(state)


@pytest.mark.parametrize("batch", [None, 1, 2, 7])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_computes_the_same(name, batch, monkeypatch):
    for seed in range(4):
        body, fix_root = random_body(seed, links=9 + 10 * seed), seed == 1
        found = computed(FUNCTIONS[name], body, fix_root, batch)
        with monkeypatch.context() as patch:
            patch.setattr(dynamics, "_dynamics", numpy_dynamics)
            expected = computed(FUNCTIONS[name], body, fix_root, batch)
        for a, b in zip(found, expected, strict=True):
            scale = max(1.0, np.abs(b).max(initial=0.0))
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * scale)


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
