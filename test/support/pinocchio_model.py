"""A Body in pinocchio, built link by link through its API, and postures for both."""

import numpy as np
import pytest

from hrp_model.body import JointType

pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")


class Peer:
    """The same body in pinocchio, on a free root, in the state of a BodyState."""

    def __init__(self, state):
        self.state = state
        self.model, self.frames, columns = _build(state.body)
        self.data = self.model.createData()
        n = len(state.body.moving_links)
        # Ours: the root's velocity and angular velocity in world axes, then the joints.
        self.to_peer = np.zeros((self.model.nv, 6 + n))
        R = state.R[0].T
        self.to_peer[:3, :3] = self.to_peer[3:6, 3:6] = R
        for i, column in columns.items():
            self.to_peer[column, 6 + i] = 1.0
        self.q = np.zeros(self.model.nq)
        self.q[:3] = state.p[0]
        self.q[3:7] = pin.Quaternion(state.R[0]).normalized().coeffs()
        for i, column in columns.items():
            self.q[column + 1] = state.q[i]  # the root has one number more than rates
        self.v = self.to_peer @ np.concatenate([state.v[0], state.w[0], state.dq])
        # Pinocchio's is the spatial acceleration, seen from the root.
        rate = state.dv[0] - np.cross(state.w[0], state.v[0])
        self.a = self.to_peer @ np.concatenate([rate, state.dw[0], state.ddq])
        pin.forwardKinematics(self.model, self.data, self.q, self.v, self.a)
        pin.updateFramePlacements(self.model, self.data)

    def links(self):
        """Positions, rotations, velocities and accelerations of all links, in world axes."""
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        found = {name: [] for name in ("p", "R", "v", "w", "dv", "dw")}
        for frame in self.frames:
            pose = self.data.oMf[frame]
            velocity = pin.getFrameVelocity(self.model, self.data, frame, world)
            rate = pin.getFrameClassicalAcceleration(self.model, self.data, frame, world)
            values = (pose.translation, pose.rotation, *_parts(velocity), *_parts(rate))
            for name, value in zip(found, values, strict=True):
                found[name].append(np.array(value))
        return {name: np.array(values) for name, values in found.items()}

    def mass_matrix(self):
        M = np.triu(pin.crba(self.model, self.data, self.q))
        M = M + np.triu(M, 1).T
        return self.to_peer.T @ M @ self.to_peer

    def efforts(self):
        """The root's force and its moment about the root's origin, then those of the joints."""
        return self.to_peer.T @ pin.rnea(self.model, self.data, self.q, self.v, self.a)

    def momentum(self):
        """Linear momentum, and angular momentum about the centre of mass."""
        return np.concatenate(
            _parts(pin.computeCentroidalMomentum(self.model, self.data, self.q, self.v))
        )

    def center(self):
        return np.array(pin.centerOfMass(self.model, self.data, self.q))

    def center_jacobian(self):
        return pin.jacobianCenterOfMass(self.model, self.data, self.q) @ self.to_peer

    def momentum_jacobian(self):
        return pin.computeCentroidalMap(self.model, self.data, self.q) @ self.to_peer

    def jacobian(self, link):
        """Of a link's origin, in world axes."""
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        pin.computeJointJacobians(self.model, self.data, self.q)
        J = pin.getFrameJacobian(self.model, self.data, self.frames[link], world)
        return J @ self.to_peer


def _parts(motion):
    return np.array(motion.linear), np.array(motion.angular)


def _build(body):
    model = pin.Model()
    model.gravity.setZero()
    joints, places, frames, columns = {}, {}, {}, {}
    for index in _depth_first(body.parent_indices):
        link, parent = body.links[index], body.parent_indices[index]
        if parent < 0:
            joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
            place = pin.SE3.Identity()
        else:
            above = body.links[parent].name
            joint = joints[above]
            place = places[above] * pin.SE3(np.array(link.X_PL.R), np.array(link.X_PL.p))
            if link.joint.moves:
                kind = {
                    JointType.REVOLUTE: pin.JointModelRevoluteUnaligned,
                    JointType.PRISMATIC: pin.JointModelPrismaticUnaligned,
                }[link.joint.type]
                joint = model.addJoint(joint, kind(np.array(link.joint.axis)), place, link.name)
                place = pin.SE3.Identity()
                columns[link.name] = model.idx_vs[joint]
        joints[link.name], places[link.name] = joint, place
        inertia = pin.Inertia(
            link.mass, np.array(link.center_of_mass), (link.inertia + link.inertia.T) / 2.0
        )
        model.appendBodyToJoint(joint, inertia, place)
        frame = pin.Frame(f"{link.name} link", joint, 0, place, pin.FrameType.BODY)
        frames[index] = model.addFrame(frame, False)
    armature = np.zeros(model.nv)
    by_place = {}
    for i, link in enumerate(body.moving_links):
        if link.name in columns:  # not the root's own joint, which has no effect
            by_place[i] = columns[link.name]
            armature[columns[link.name]] = link.joint.equivalent_rotor_inertia
    model.armature = armature
    return model, [frames[i] for i in range(len(frames))], by_place


def _depth_first(parents, top=0):
    """Pinocchio takes the joints of a branch to be numbered without a gap."""
    yield top
    for link, parent in enumerate(parents):
        if parent == top:
            yield from _depth_first(parents, link)
