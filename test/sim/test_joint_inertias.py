"""Inertias of joints without the whole mass matrix."""

import numpy as np
from sim.physics.scenes import REVOLUTE, X, at, child, root

from hrp_model import BodyState
from hrp_model.body import Body


def test_they_are_the_diagonal_of_the_mass_matrix():
    rng = np.random.default_rng(1)
    links = [root("B0", free=True)]
    for k in range(1, 300):  # more than are computed at once
        parent = f"B{rng.integers(max(0, k - 5), k)}"
        place = at(*rng.normal(size=3))
        links.append(child(f"B{k}", parent, REVOLUTE, X, X_PL=place, rotor=0.1))
    state = BodyState(Body(name="tree", links=tuple(links)), fix_root=False)
    state.q[:] = rng.normal(size=299)
    state.calc_forward_kinematics()
    M = state.calc_mass_matrix()
    np.testing.assert_allclose(state.calc_joint_inertias(), np.diag(M)[6:], rtol=1e-12)
    np.testing.assert_allclose(state.calc_root_inertia(), M[:6, :6], rtol=1e-12)
