"""One articulated body in PyODE: its rigid groups, joints, shapes and motion."""

from __future__ import annotations

from dataclasses import astuple, replace
from math import inf

import numpy as np
import ode
from numpy.typing import NDArray

from hrp_model.kinematics.arrays import cross
from hrp_model.rigid import Array, Pose

from ..articulation.articulation import STATIC, Articulation
from ..engine import PhysicsSettings
from ..ode import guard
from ..ode.saved_state import SavedBody
from ..state import MAX_DRIVE_VALUE, SimulatedBody
from .groups import FreeMotion, GroupStates
from .joints import JOINTS, DrivenJoint, make_loop
from .shapes import make_shapes


class StepFaultError(Exception):
    """A step failed because of one body.

    Attributes:
        kind: One of the ``FAULT_...`` of ``hrp_sim.engine.ode.guard``.
        body: Name of the body.
        index: Of a group, a link or a joint coordinate, depending on the kind.
    """

    def __init__(self, kind: int, body: str, index: int) -> None:
        super().__init__(kind, body, index)
        self.kind, self.body, self.index = kind, body, index


class ArticulatedBody:
    """A body made of PyODE bodies, joints and shapes.

    Attributes:
        name: Of the body.
        drive: Commands to its joints.
        contacts: A ``Contact`` for every pair of links, shape (links, links).
        driven: Joints that move.
        rows: Maximum number of its constraint rows.
        is_track: Which links are tracks, shape (links,).
    """

    def __init__(
        self,
        flat: Articulation,
        simulated: SimulatedBody,
        settings: PhysicsSettings,
        world: ode.World,
        space: ode.SimpleSpace,
    ) -> None:
        self.name, self.drive = simulated.name, simulated.drive
        self._motion, self._wrench = simulated.motion, simulated.wrench
        self._links, self._q0, self._step = flat.links, flat.q, settings.time_step
        self._lift, self._gravity = flat.groups.lift, np.array(settings.gravity)
        self.contacts = flat.contacts.copy()
        self.is_track: NDArray[np.bool_] = (flat.links.track_axis != 0.0).any(axis=1)
        self._moving = np.flatnonzero(flat.links.group != STATIC)
        self._carrier = flat.links.group[self._moving]
        self._groups = [_make_group(world, flat, g) for g in range(len(flat.groups.mass))]
        # ODE measures joint positions from the posture in which a joint was created.
        self._place(flat.groups.zero_p, flat.groups.zero_R)
        joints = flat.joints
        if not settings.joint_limits:
            free = np.full(len(joints.kind), inf)
            joints = replace(joints, lower=-free, upper=free)
        self._joints = [
            JOINTS[kind](world, joints, j, self._groups) for j, kind in enumerate(joints.kind)
        ]
        self.driven = [joint for joint in self._joints if isinstance(joint, DrivenJoint)]
        self._place(flat.groups.p, flat.groups.R)
        self._loops = [
            make_loop(world, flat.loops, i, self._groups) for i in range(len(flat.loops.kind))
        ]
        self._shapes = make_shapes(space, self.name, flat, self._groups)
        self._free = FreeMotion(flat.groups.inertia)
        self._state = self._middle = self._next = GroupStates.of(self._groups)
        self.rows = 12 * len(self._joints) + 6 * len(self._loops)
        self.start(flat)

    def remove(self) -> None:
        """Remove it from ODE: PyODE destroys unreferenced objects; joints must go before bodies."""
        for shape in self._shapes:
            shape.setBody(None)
        for owned in (self._shapes, self._loops, self.driven, self._joints, self._groups):
            owned.clear()

    def start(self, flat: Articulation) -> None:
        """Put it where an articulation starts; the static links of both must be the same."""
        self._place(flat.groups.p, flat.groups.R)
        for group, v, w in zip(self._groups, flat.groups.v, flat.groups.w, strict=True):
            group.setLinearVel(v.tolist())
            group.setAngularVel(w.tolist())
        for joint in self.driven:
            joint.q = float(flat.q[joint.coordinate])
        self._write_at_rest()

    def read_state(self, _number: int, saved: SavedBody, /) -> None:
        """Write the dynamic state into arrays."""
        for name in ("p", "quaternion", "R", "v", "w"):
            getattr(saved, name)[:] = getattr(self._state, name)
        for j, joint in enumerate(self._joints):
            if isinstance(joint, DrivenJoint):
                saved.q[j], saved.dq[j], saved.turns[j] = joint.q, joint.dq, joint.turns

    def write_state(self, _number: int, saved: SavedBody, /) -> None:
        """Set a saved state, up to rounding: PyODE normalises quaternions."""
        self._restore(GroupStates(saved.p, saved.quaternion, saved.R, saved.v, saved.w))
        values = zip(self._joints, saved.q.tolist(), saved.dq.tolist(), strict=True)
        driven = [(joint, q, dq) for joint, q, dq in values if isinstance(joint, DrivenJoint)]
        for joint, q, _ in driven:
            joint.q = q
        self._write_at_rest()
        for joint, _, dq in driven:  # differs from the rate of its groups, see move_to_middle
            joint.dq = self._motion.dq[joint.coordinate] = dq

    def check_inputs(self) -> None:
        """Check drives and wrenches.

        Raises:
            StepFaultError: A number is not finite or too large, or a gain is negative.
        """
        *joints, track_speed, surface = astuple(self.drive)
        drives = (np.abs(joints) < MAX_DRIVE_VALUE).all(axis=0)
        drives &= (self.drive.kp >= 0.0) & (self.drive.kd >= 0.0)
        pushes = np.abs(np.hstack([self._wrench.force, self._wrench.torque])) < MAX_DRIVE_VALUE
        for kind, good in (
            (guard.FAULT_DRIVE, drives),
            (guard.FAULT_TRACK, np.abs(track_speed) < MAX_DRIVE_VALUE),
            (guard.FAULT_SURFACE, (np.abs(surface) < MAX_DRIVE_VALUE).all(axis=1)),
            (guard.FAULT_WRENCH, pushes.all(axis=1)),
        ):
            if not good.all():
                raise StepFaultError(kind, self.name, int(np.argmin(good)))

    def prepare(self, bounded: set[DrivenJoint]) -> None:
        """Move freely by half a step, and apply wrenches and drives.

        Args:
            bounded: Joints whose efforts are kept within their ranges.
        """
        half = self._step / 2.0
        self._middle = self._free.after(half, self._state)
        self._restore(self._middle)
        for joint in self.driven:
            joint.move_to_middle(self._state, self._middle, half)
        torques = self._free.torque_of_ode(self._step, self._middle)
        for group, torque in zip(self._groups, torques, strict=True):
            group.addTorque((-torque).tolist())
        links, force, torque = self._links, self._wrench.force, self._wrench.torque
        pushed = (force.any(axis=1) | torque.any(axis=1)) & (links.group != STATIC)
        for link in np.flatnonzero(pushed).tolist():
            group = self._groups[links.group[link]]
            group.addForceAtRelPos(force[link].tolist(), links.p[link].tolist())
            group.addTorque(torque[link].tolist())
        for g in np.flatnonzero(self._lift[:, 0]).tolist():
            mass, moment = self._lift[g, 0], self._middle.R[g] @ self._lift[g, 1:]
            self._groups[g].addForce((-mass * self._gravity).tolist())
            self._groups[g].addTorque(cross(self._gravity, moment).tolist())
        for joint in self.driven:
            joint.drive(self.drive, self._step, is_bounded=joint in bounded)

    def measure(self) -> set[DrivenJoint]:
        """Move freely to the end of the step; return the joints that left their effort ranges.

        Raises:
            StepFaultError: The state is not finite or too large.
        """
        found = GroupStates.of(self._groups)
        valid = found.valid()
        if not valid.all():
            raise StepFaultError(guard.FAULT_STATE, self.name, int(np.argmin(valid)))
        after = replace(self._middle, v=found.v, w=found.w)
        self._next = self._free.after(self._step / 2.0, after)
        return {joint for joint in self.driven if joint.measure(after)}

    def undo(self) -> None:
        """Go back to the state before the last attempt."""
        self._restore(self._state)

    def finish(self) -> None:
        """Accept the last attempt as the step, and write the motion of the body."""
        before, self._state = self._state, self._next
        self._restore(self._state)
        for driven in self.driven:
            driven.finish(self._step / 2.0)
        self._write_motion()
        m, moving, links = self._motion, self._moving, self._links
        v, w = self._velocities(before)
        m.a[moving] = (m.v[moving] - v) / self._step
        m.alpha[moving] = (m.w[moving] - w) / self._step
        for joint in self._joints:
            link, group = joint.link, joint.child
            if links.watched[link]:
                wrench = joint.wrench(self._middle.R[group], links.p[link])
                m.force[link], m.torque[link] = wrench @ self._state.R[group].T
        for driven in self.driven:
            m.effort[driven.coordinate] = driven.effort
        m.track_position += self._step * self.drive.track_speed

    def track_axis(self, link: int) -> Array:
        """Return the axis of a track in W in the middle of the step, shape (3,)."""
        axis, group = self._links.track_axis[link], self._links.group[link]
        return axis if group == STATIC else np.asarray(self._middle.R[group] @ axis)

    def surface_velocity(self, link: int, point: Array) -> Array:
        """Return how fast the surface of a link moves at a point in W, relative to the link.

        Both in W in the middle of the step, in [m/s], shape (3,).
        """
        twist = self.drive.surface_velocity[link]
        if not twist.any():
            return np.zeros(3)
        R, p, group = self._links.R[link], self._links.p[link], self._links.group[link]
        if group != STATIC:
            R_WG, p_WG = self._middle.R[group], self._middle.p[group]
            R, p = R_WG @ R, p_WG + R_WG @ p
        return np.asarray(R @ twist[3:] + cross(R @ twist[:3], point - p))

    def group_of(self, link: int) -> int:
        """Return the index of a link's group, or STATIC."""
        return int(self._links.group[link])

    def end_of_joint(self, link: int, X_LJ: Pose) -> tuple[ode.Body, Pose]:
        """Return the group of a link, or None if it is static, and the pose of J in it, or in W."""
        group = self._links.group[link]
        X_GL = Pose(self._links.R[link], self._links.p[link])
        return None if group == STATIC else self._groups[group], X_GL @ X_LJ

    def _place(self, p: Array, R: Array) -> None:
        for group, p_WG, R_WG in zip(self._groups, p, R, strict=True):
            group.setPosition(p_WG.tolist())
            group.setRotation(R_WG.ravel().tolist())

    def _restore(self, state: GroupStates) -> None:
        for g, group in enumerate(self._groups):
            group.setPosition(state.p[g].tolist())
            group.setQuaternion(state.quaternion[g].tolist())
            group.setLinearVel(state.v[g].tolist())
            group.setAngularVel(state.w[g].tolist())
            group.setForce((0.0, 0.0, 0.0))
            group.setTorque((0.0, 0.0, 0.0))

    def _write_at_rest(self) -> None:
        """Read and write a state that no step led to: accelerations and forces are zero."""
        self._state = self._middle = GroupStates.of(self._groups)
        for joint in self.driven:
            joint.read(self._state)
        m = self._motion
        for array in (m.a, m.alpha, m.force, m.torque, m.dq, m.effort):
            array[:] = 0.0
        m.p[:], m.R[:], m.q[:] = self._links.p, self._links.R, self._q0
        self._write_motion()

    def _write_motion(self) -> None:
        """Write poses and velocities of links and joints."""
        m, state, moving, carrier = self._motion, self._state, self._moving, self._carrier
        m.p[moving] = state.p[carrier] + self._offsets(state)
        m.R[moving] = state.R[carrier] @ self._links.R[moving]
        m.v[moving], m.w[moving] = self._velocities(state)
        for joint in self.driven:
            m.q[joint.coordinate], m.dq[joint.coordinate] = joint.q, joint.dq

    def _offsets(self, state: GroupStates) -> Array:
        """Return the vectors from the mass centres of groups to their links, in W."""
        links = self._links.p[self._moving]
        return np.asarray((state.R[self._carrier] @ links[:, :, None])[:, :, 0])

    def _velocities(self, state: GroupStates) -> tuple[Array, Array]:
        """Return v and w of the links of groups, in W."""
        w = state.w[self._carrier]
        return state.v[self._carrier] + cross(w, self._offsets(state)), w


def _make_group(world: ode.World, flat: Articulation, g: int) -> ode.Body:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = flat.groups.inertia[g].tolist()
    mass = ode.Mass()
    mass.setParameters(float(flat.groups.mass[g]), 0.0, 0.0, 0.0, xx, yy, zz, xy, xz, yz)
    group = ode.Body(world)
    guard.guarded(group.setMass, mass)
    group.setFiniteRotationMode(True)
    return group
