"""Compare results of BodyState with those of an independent system."""

import numpy as np

from hrp_model.kinematics import BodyState

TOLERANCE = 1e-8


def check_dynamics(body, reference):
    """Assert that a body agrees with the reference in all its postures.

    Returns:
        Largest difference per quantity, relative where the quantity exceeds one.
    """
    worst = {}
    for pose in reference["poses"]:
        state = _state_in(body, reference, pose)
        found = _statics(state, reference, pose)
        if "moving" in pose:
            found |= _motion(state, reference, pose["moving"])
        for what, difference in found.items():
            assert difference <= TOLERANCE, f"{what} in posture '{pose['name']}': {difference:g}"
            worst[what] = max(difference, worst.get(what, 0.0))
    return worst


def _statics(state, reference, pose):
    order = _link_order(state.body, reference)
    found = {
        "p": _difference(state.p[order], [link["p"] for link in pose["links"]]),
        "R": _difference(state.R[order], [link["R"] for link in pose["links"]]),
    }
    if state.body.total_mass > 0.0:
        torques = _by_joint(state.body, reference, pose["gravity_torque_by_link_index"])
        found["center_of_mass"] = _difference(state.calc_cm(), pose["center_of_mass"])
        found["gravity_torque"] = _difference(state.gravity_torque(reference["gravity"]), torques)
        found["gravity_wrench"] = _gravity_wrench(state, reference, pose)
    else:
        assert np.isnan(pose["center_of_mass"]).all()
    if "mass_matrix" in pose:
        found["mass_matrix"] = _mass_matrix(state, reference, pose["mass_matrix"])
    return found


def _gravity_wrench(state, reference, pose):
    """At rest, on a root that rises with the acceleration of gravity."""
    state.dv[0] = [0.0, 0.0, reference["gravity"]]
    wrench = np.concatenate(state.calc_inverse_dynamics())
    state.dv[0] = 0.0
    return _difference(wrench, pose["gravity_root_wrench_world_origin"])


def _mass_matrix(state, reference, theirs):
    """The reference has rows only for joints with an id, some of which do not move."""
    numbered = [joint["link"] for joint in reference["joints"]]
    names = [link.name for link in state.body.moving_links]
    shared = [name for name in names if name in numbered]
    root = 0 if state.body.is_root_fixed else 6
    M = state.calc_mass_matrix()
    assert M.shape == (root + len(names),) * 2
    rows = [*range(root), *(root + names.index(name) for name in shared)]
    columns = [*range(root), *(root + numbered.index(name) for name in shared)]
    if not rows:
        return 0.0
    return _difference(M[np.ix_(rows, rows)], np.array(theirs)[np.ix_(columns, columns)])


def _motion(state, reference, moving):
    body = state.body
    state.dq[:] = _by_joint(body, reference, moving["dq_by_link_index"])
    state.ddq[:] = _by_joint(body, reference, moving["ddq_by_link_index"])
    state.v[0], state.w[0] = moving["root_v"], moving["root_w"]
    state.dv[0], state.dw[0] = moving["root_dv_including_gravity"], moving["root_dw"]
    force, moment = state.calc_inverse_dynamics()
    order = _link_order(body, reference)
    efforts = _by_joint(body, reference, moving["inverse_dynamics_u_by_link_index"])
    P, L = state.calc_total_momentum()
    return {
        "v": _difference(state.v[order], [link["v"] for link in moving["links"]]),
        "w": _difference(state.w[order], [link["w"] for link in moving["links"]]),
        "root_wrench": _difference([*force, *moment], moving["root_wrench_world_origin"]),
        "u": _difference(state.u, efforts),
        "P": _difference(P, moving["total_momentum_P"]),
        "L": _difference(L, moving["total_momentum_L_about_origin"]),
    }


def _state_in(body, reference, pose):
    state = BodyState(body)
    state.p[0], state.R[0] = pose["root_p"], pose["root_R"]
    state.q[:] = _by_joint(body, reference, pose["q_by_link_index"])
    state.calc_forward_kinematics()
    return state


def _link_order(body, reference):
    return [body.link_index(link["name"]) for link in reference["links"]]


def _by_joint(body, reference, by_link):
    values = {link["name"]: v for link, v in zip(reference["links"], by_link, strict=True)}
    return np.array([values[link.name] for link in body.moving_links])


def _difference(ours, theirs):
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    return np.abs(ours - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0))
