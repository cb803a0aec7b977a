"""Compare a body with a model of pinocchio."""

import numpy as np
import pinocchio as pin

from hrp_model import BodyState

EXACT = {"rtol": 0.0, "atol": 1e-9}


def check_as_in_pinocchio(body, model):
    """Compare poses of all links and mass matrices in random states.

    Links and joints have the same names in both; a free root is the first joint of the model.
    """
    is_free = not body.is_root_fixed
    data, state, rng = model.createData(), BodyState(body), np.random.default_rng(0)
    moving = body.moving_links
    assert {link.joint.name for link in moving} == set(list(model.names)[1 + is_free :])
    columns = [model.joints[model.getJointId(link.joint.name)] for link in moving]
    for _ in range(5):
        q = pin.neutral(model)
        if is_free:
            state.p[0] = rng.normal(size=3)
            rotation = pin.Quaternion(rng.normal(size=4)).normalized()
            state.R[0] = rotation.matrix()
            q[:7] = [*state.p[0], *rotation.coeffs()]
        else:
            state.p[0], state.R[0] = body.root.X_PL.p, body.root.X_PL.R
        state.q[:] = rng.uniform(-2.0, 2.0, len(moving))
        for value, joint in zip(state.q, columns, strict=True):
            numbers = [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
            q[joint.idx_q : joint.idx_q + joint.nq] = numbers
        state.calc_forward_kinematics()
        pin.framesForwardKinematics(model, data, q)
        for i, link in enumerate(body.links):
            pose = data.oMf[model.getFrameId(link.name, pin.FrameType.BODY)]
            np.testing.assert_allclose(state.p[i], pose.translation, **EXACT)
            np.testing.assert_allclose(state.R[i], pose.rotation, **EXACT)
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        theirs = [joint.idx_v for joint in columns]
        ours = state.calc_mass_matrix()[-len(moving) :, -len(moving) :]
        np.testing.assert_allclose(ours, M[np.ix_(theirs, theirs)], **EXACT)
    total = sum(inertia.mass for inertia in model.inertias)
    np.testing.assert_allclose(body.total_mass, total, rtol=1e-12)
