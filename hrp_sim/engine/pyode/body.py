"""One articulated body in PyODE: its rigid groups, joints and motion."""

from __future__ import annotations

from dataclasses import astuple, replace
from math import inf

import numpy as np
import ode
from numpy.typing import NDArray

from hrp_model.kinematics.arrays import cross
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ..articulation.articulation import STATIC, Articulation
from ..engine import PhysicsSettings
from ..ode import faults
from ..state import MAX_DRIVE_VALUE, SimulatedBody
from .joints import JOINTS, DrivenJoint, make_loop

# A step that leads beyond these has failed, in [m], [m/s] and [rad/s].
_MAX_POSITION, _MAX_SPEED, _MAX_TURN_RATE = 1e6, 1e5, 1e5
# Slower surfaces are at rest, in [m/s].
_MIN_SURFACE_SPEED = 1e-9


class StepFaultError(Exception):
    """A step failed because of one body.

    Attributes:
        kind: One of the ``FAULT_...`` of ``hrp_sim.engine.ode.faults``.
        body: Name of the body.
        index: Of a group, a link or a joint coordinate, depending on the kind.
    """

    def __init__(self, kind: int, body: str, index: int) -> None:
        super().__init__(kind, body, index)
        self.kind, self.body, self.index = kind, body, index


@dataclass(frozen=True, eq=False, slots=True)
class GroupStates:
    """Poses and velocities of g rigid groups in W.

    Attributes:
        p: Mass centres, in [m], shape (g, 3).
        R: Rotations, shape (g, 3, 3).
        v: Velocities of the mass centres, in [m/s], shape (g, 3).
        w: Angular velocities, in [rad/s], shape (g, 3).
    """

    p: Array
    R: Array
    v: Array
    w: Array

    @classmethod
    def of(cls, groups: list[ode.Body]) -> GroupStates:
        """Read the states from ODE."""
        return cls(
            p=np.array([g.getPosition() for g in groups]).reshape(-1, 3),
            R=np.array([g.getRotation() for g in groups]).reshape(-1, 3, 3),
            v=np.array([g.getLinearVel() for g in groups]).reshape(-1, 3),
            w=np.array([g.getAngularVel() for g in groups]).reshape(-1, 3),
        )

    def write(self, groups: list[ode.Body]) -> None:
        """Put groups into these states; no force acts on them."""
        for g, group in enumerate(groups):
            group.setPosition(self.p[g].tolist())
            group.setRotation(self.R[g].ravel().tolist())
            group.setLinearVel(self.v[g].tolist())
            group.setAngularVel(self.w[g].tolist())
            group.setForce((0.0, 0.0, 0.0))
            group.setTorque((0.0, 0.0, 0.0))

    def valid(self) -> NDArray[np.bool_]:
        """Return which groups have states within bounds, shape (g,)."""
        bounded = self.p / _MAX_POSITION, self.v / _MAX_SPEED, self.w / _MAX_TURN_RATE
        parts = np.hstack([*bounded, self.R.reshape(-1, 9) / 2.0])
        return np.asarray((np.abs(parts) < 1.0).all(axis=1))


class ArticulatedBody:
    """A body made of PyODE bodies and joints.

    Attributes:
        name: Of the body.
        groups: Its rigid groups.
        contacts: A ``Contact`` for every pair of links, shape (links, links).
        rows: Maximum number of its constraint rows.
    """

    def __init__(
        self,
        flat: Articulation,
        simulated: SimulatedBody,
        settings: PhysicsSettings,
        world: ode.World,
    ) -> None:
        self.name, self._drive = simulated.name, simulated.drive
        self._motion, self._wrench = simulated.motion, simulated.wrench
        self._links, self._q0, self._step = flat.links, flat.q, settings.time_step
        self._lift, self._gravity = flat.groups.lift, np.array(settings.gravity)
        self.contacts = flat.contacts.copy()
        self._moving = np.flatnonzero(flat.links.group != STATIC)
        self._carrier = flat.links.group[self._moving]
        self.groups = [_make_group(world, flat, g) for g in range(len(flat.groups.mass))]
        # ODE measures joint positions from the posture in which a joint was created.
        still = np.zeros((len(self.groups), 3))
        GroupStates(flat.groups.zero_p, flat.groups.zero_R, still, still).write(self.groups)
        joints = flat.joints
        if not settings.joint_limits:
            free = np.full(len(joints.kind), inf)
            joints = replace(joints, lower=-free, upper=free)
        self._joints = [
            JOINTS[kind](world, joints, j, self.groups) for j, kind in enumerate(joints.kind)
        ]
        self._driven = [joint for joint in self._joints if isinstance(joint, DrivenJoint)]
        start = GroupStates(flat.groups.p, flat.groups.R, flat.groups.v, flat.groups.w)
        start.write(self.groups)
        self._loops = [
            make_loop(world, flat.loops, i, self.groups) for i in range(len(flat.loops.kind))
        ]
        self.rows = 9 * len(self._joints) + 6 * len(self._loops)
        self.start(flat)

    def remove(self) -> None:
        """Remove it from ODE: PyODE destroys unreferenced objects; joints must go before bodies."""
        for owned in (self._loops, self._driven, self._joints, self.groups):
            owned.clear()

    def start(self, flat: Articulation) -> None:
        """Put it where an articulation starts; the static links of both must be the same.

        No step led there: accelerations and forces are zero.
        """
        self._state = GroupStates(flat.groups.p, flat.groups.R, flat.groups.v, flat.groups.w)
        self._state.write(self.groups)
        for joint in self._driven:
            joint.place(float(flat.q[joint.coordinate]))
        m = self._motion
        for array in (m.a, m.alpha, m.force, m.torque, m.dq, m.effort):
            array[:] = 0.0
        m.p[:], m.R[:], m.q[:] = self._links.p, self._links.R, self._q0
        self._write_motion()

    def check_inputs(self) -> None:
        """Check drives and wrenches.

        Raises:
            StepFaultError: A number is not finite or too large, or a gain is negative.
        """
        *joints, track_speed, surface = astuple(self._drive)
        drives = (np.abs(joints) < MAX_DRIVE_VALUE).all(axis=0)
        drives &= (self._drive.kp >= 0.0) & (self._drive.kd >= 0.0)
        pushes = np.abs(np.hstack([self._wrench.force, self._wrench.torque])) < MAX_DRIVE_VALUE
        for kind, good in (
            (faults.FAULT_DRIVE, drives),
            (faults.FAULT_WRENCH, pushes.all(axis=1)),
            (faults.FAULT_TRACK, np.abs(track_speed) < MAX_DRIVE_VALUE),
            (faults.FAULT_SURFACE, (np.abs(surface) < MAX_DRIVE_VALUE).all(axis=1)),
        ):
            if not good.all():
                raise StepFaultError(kind, self.name, int(np.argmin(good)))

    def prepare(self) -> None:
        """Apply wrenches and drives for the next step."""
        links, force, torque = self._links, self._wrench.force, self._wrench.torque
        pushed = (force.any(axis=1) | torque.any(axis=1)) & (links.group != STATIC)
        for link in np.flatnonzero(pushed).tolist():
            group = self.groups[links.group[link]]
            group.addForceAtRelPos(force[link].tolist(), links.p[link].tolist())
            group.addTorque(torque[link].tolist())
        for g in np.flatnonzero(self._lift[:, 0]).tolist():
            mass, moment = self._lift[g, 0], self._state.R[g] @ self._lift[g, 1:]
            self.groups[g].addForce((-mass * self._gravity).tolist())
            self.groups[g].addTorque(cross(self._gravity, moment).tolist())
        for joint in self._driven:
            joint.prepare(self._drive, self._step)

    def undo(self) -> None:
        """Go back to the state before the step."""
        self._state.write(self.groups)

    def check_state(self) -> None:
        """Check the states to which a step has led.

        Raises:
            StepFaultError: One is not finite or too large.
        """
        valid = GroupStates.of(self.groups).valid()
        if not valid.all():
            raise StepFaultError(faults.FAULT_STATE, self.name, int(np.argmin(valid)))

    def finish(self) -> None:
        """Write the motion of the body after a step."""
        before, self._state = self._state, GroupStates.of(self.groups)
        for driven in self._driven:
            driven.finish(self._step)
            self._motion.effort[driven.coordinate] = driven.effort
        self._write_motion()
        m, moving, links = self._motion, self._moving, self._links
        v, w = self._velocities(before)
        m.a[moving] = (m.v[moving] - v) / self._step
        m.alpha[moving] = (m.w[moving] - w) / self._step
        for joint in self._joints:
            link, group = joint.link, joint.child
            if links.watched[link]:  # the wrench turns with the link
                force, torque = joint.wrench() @ before.R[group]
                torque = torque - cross(links.p[link], force)
                m.force[link], m.torque[link] = (force, torque) @ self._state.R[group].T
        m.track_position += self._step * self._drive.track_speed

    def surface_motion(self, link: int, point: Array, normal: Array) -> tuple[Array, float, bool]:
        """Return how the surface of a link moves at a point, if it is a track or a conveyor.

        Args:
            link: Index of the link.
            point: In W, in [m].
            normal: Of the surface at the point, into the link, in W.

        Returns:
            A direction in W, zero where the surface rests, shape (3,); the speed along it
            relative to the link, in [m/s]; and whether the link is a track.
        """
        axis, twist = self._links.track_axis[link], self._drive.surface_velocity[link]
        is_track = bool(axis.any())
        if not (is_track or twist.any()):
            return np.zeros(3), 0.0, False
        R, p, group = self._links.R[link], self._links.p[link], self._links.group[link]
        if group != STATIC:
            R_WG, p_WG = self._state.R[group], self._state.p[group]
            R, p, axis = R_WG @ R, p_WG + R_WG @ p, R_WG @ axis
        # A positive speed drives a track along axis x normal.
        along = cross(axis, normal) if is_track else R @ twist[3:] + cross(R @ twist[:3], point - p)
        along = along - (along @ normal) * normal
        size = float(np.linalg.norm(along))
        if size < _MIN_SURFACE_SPEED:
            return np.zeros(3), 0.0, False
        return along / size, -float(self._drive.track_speed[link]) if is_track else size, is_track

    def _write_motion(self) -> None:
        """Write poses and velocities of links and joints."""
        m, state, moving, carrier = self._motion, self._state, self._moving, self._carrier
        m.p[moving] = state.p[carrier] + self._offsets(state)
        m.R[moving] = state.R[carrier] @ self._links.R[moving]
        m.v[moving], m.w[moving] = self._velocities(state)
        for joint in self._driven:
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
    faults.guarded(group.setMass, mass)
    group.setFiniteRotationMode(True)
    return group
