"""BodyState, against pinocchio on a model built without URDF."""

import numpy as np
import reference_data
from each_case import all_cases, check_each, some_or_all
from kinematics_samples import move_randomly, random_body
from paths import MODELS, needs_shared

from hrp_model import load_body
from hrp_model.body import JointType
from hrp_model.kinematics import BodyState

OWN = sorted([*MODELS.rglob("*.wrl"), *MODELS.rglob("*.body")])
REFERENCES = [row["file"] for row in reference_data.index() if row["loaded"]]


def check(found, expected, what):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    difference = np.abs(found - expected).max(initial=0.0) / scale
    assert difference <= 1e-12, f"{what} differs by {difference:g}"


def check_against_pinocchio(body, seed=0):
    """With a free root, whatever the model says: that is all there is to compare."""
    from pinocchio_model import Peer

    state = BodyState(body, fix_root=False)
    move_randomly(state, seed)
    peer = Peer(state)
    for name, expected in peer.links().items():
        check(getattr(state, name), expected, name)
    driven = [i for i, link in enumerate(body.moving_links) if link.parent is not None]
    rows = [*range(6), *(6 + i for i in driven)]
    columns = [*driven, *range(len(state.q), len(state.q) + 6)]
    back = [*range(6, 6 + len(state.q)), *range(6)]
    check(
        state.calc_mass_matrix()[np.ix_(rows, rows)],
        peer.mass_matrix()[np.ix_(rows, rows)],
        "mass matrix",
    )
    force, moment = state.calc_inverse_dynamics()
    moment = moment - np.cross(state.p[0], force)
    check(np.concatenate([force, moment, state.u])[rows], peer.efforts()[rows], "efforts")
    last = len(body.links) - 1
    path = state.joint_path(0, last)
    check(path.calc_jacobian(), peer.jacobian(last)[:, 6 + path.joints], "Jacobian")
    if body.total_mass <= 0.0:
        return
    center = state.calc_cm()
    check(center, peer.center(), "centre of mass")
    check(np.concatenate(state.calc_total_momentum(about=center)), peer.momentum(), "momentum")
    check(state.calc_cm_jacobian(), peer.center_jacobian()[:, back], "CM Jacobian")
    H = peer.momentum_jacobian()[3:, back]
    check(state.calc_angular_momentum_jacobian()[:, columns], H[:, columns], "H")


@all_cases("seed", range(10))
def test_a_random_tree(seed):
    root = (JointType.FREE, JointType.FIXED, JointType.REVOLUTE)[seed % 3]
    check_against_pinocchio(random_body(seed, links=5 + 4 * seed, root=root), seed)


@all_cases("path", OWN)
def test_a_model_of_this_package(path):
    check_against_pinocchio(load_body(path))


@needs_shared
@some_or_all("files", REFERENCES, 40)
def test_a_published_model(files):
    """With bodies made of the reference's own numbers, so that no reader is involved."""
    check_each(files, lambda file: check_against_pinocchio(reference_body(file)))


def reference_body(file):
    return reference_data.body_of(reference_data.load(file))
