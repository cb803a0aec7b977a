"""What physics tells the rest of the program, and what it is told: plain arrays.

Indices follow the Body: ``body.links`` for links, ``body.moving_links`` for joints.
All quantities are in the world frame W and SI units unless said otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from hrp_model import Body
from hrp_model.rigid import Array


@dataclass(slots=True)
class BodyMotion:
    """Motion of one body, written by the engine at the end of every step.

    Attributes:
        p: Positions p_WL of the link origins, in [m], shape (links, 3).
        R: Rotations R_WL, shape (links, 3, 3).
        v: Velocities of the link origins, in [m/s], shape (links, 3).
        w: Angular velocities w_WL, in [rad/s], shape (links, 3).
        a: Accelerations of the link origins over the last step, in [m/s^2], shape (links, 3).
        alpha: Angular accelerations over the last step, in [rad/s^2], shape (links, 3).
        force: Force that the parent applied to the link through its joint over the last
            step, in the posture that the step found, turned with the link since; in [N],
            shape (links, 3); zero for links that no force sensor watches.
        torque: Torque of the same, about the link origin, in [N m], shape (links, 3).
        q: Joint positions, in [rad] or [m], shape (joints,).
        dq: Joint velocities, shape (joints,).
        effort: Joint torques or forces that the drives applied over the last step, in
            [N m] or [N], shape (joints,); without what rotors, friction and stops add.
        track_position: How far the surfaces of tracks have run, in [m], shape (links,), zero
            elsewhere.
    """

    p: Array
    R: Array
    v: Array
    w: Array
    a: Array
    alpha: Array
    force: Array
    torque: Array
    q: Array
    dq: Array
    effort: Array
    track_position: Array

    @classmethod
    def zeros(cls, body: Body) -> BodyMotion:
        """Return arrays of the right shapes, at zero."""
        m, n = len(body.links), len(body.moving_links)
        vectors = {name: np.zeros((m, 3)) for name in ("p", "v", "w", "a", "alpha")}
        wrench = {name: np.zeros((m, 3)) for name in ("force", "torque")}
        joints = {name: np.zeros(n) for name in ("q", "dq", "effort")}
        R, run = np.tile(np.eye(3), (m, 1, 1)), np.zeros(m)
        return cls(R=R, track_position=run, **vectors, **wrench, **joints)

    def copy(self) -> BodyMotion:
        """Return a snapshot that later steps do not change."""
        return BodyMotion(**{f.name: getattr(self, f.name).copy() for f in fields(self)})


# No drive means more than this, in SI units: engines refuse it.
MAX_DRIVE_VALUE = 1e12


@dataclass(slots=True)
class JointDrive:
    """What the joints of one body are asked to do; the engine reads it at every step.

    The effort on joint i is, evaluated at the end of the step (implicitly, so that no
    gain makes it unstable) and clipped to the joint's effort range::

        effort + kp * (q - q_now) + kd * (dq - dq_now)

    All of shape (joints,). Zero gains and zero effort leave a joint limp. On a track
    (``body.links`` of type TRACK) ``track_speed`` is the speed of its surface.

    Attributes:
        q: Position aimed at, in [rad] or [m].
        dq: Velocity aimed at.
        kp: Stiffness, in [N m/rad] or [N/m].
        kd: Damping, in [N m s/rad] or [N s/m].
        effort: Torque or force added, in [N m] or [N].
        track_speed: Surface speed of the tracks, in [m/s], shape (links,), zero elsewhere.
    """

    q: Array
    dq: Array
    kp: Array
    kd: Array
    effort: Array
    track_speed: Array

    @classmethod
    def zeros(cls, body: Body) -> JointDrive:
        """Return a drive that leaves every joint limp."""
        n = len(body.moving_links)
        names = ("q", "dq", "kp", "kd", "effort")
        return cls(**{name: np.zeros(n) for name in names}, track_speed=np.zeros(len(body.links)))


@dataclass(slots=True)
class ExternalWrench:
    """What pushes the links of one body from outside; the engine reads it at every step.

    It acts until it is overwritten; a reset sets it to zero. Links that cannot move ignore it.
    Both are held constant in W over a step, and of shape (links, 3).

    Attributes:
        force: On each link's origin, in W, in [N].
        torque: About each link's origin, in W, in [N m].
    """

    force: Array
    torque: Array

    @classmethod
    def zeros(cls, body: Body) -> ExternalWrench:
        """Return a wrench that pushes nothing."""
        return cls(np.zeros((len(body.links), 3)), np.zeros((len(body.links), 3)))


@dataclass(frozen=True, slots=True)
class SimulatedBody:
    """A body in the world: the model, how it moves, how it is driven, and what pushes it.

    Attributes:
        name: Unique in the world.
        body: The model.
        motion: Live arrays of the engine; ``copy`` them to keep them past the next step.
        drive: Arrays that the engine reads; write into them, do not replace them.
        wrench: Likewise.
    """

    name: str
    body: Body
    motion: BodyMotion
    drive: JointDrive
    wrench: ExternalWrench

    @classmethod
    def at_rest(cls, name: str, body: Body) -> SimulatedBody:
        """Return a body with arrays of its own: motion at zero, limp joints, nothing pushes."""
        return cls(
            name, body, BodyMotion.zeros(body), JointDrive.zeros(body), ExternalWrench.zeros(body)
        )


@dataclass(frozen=True, slots=True)
class WorldState:
    """The world after a step. The arrays are the engine's own: valid until the next step.

    Attributes:
        time_ns: Simulation time, in [ns].
        bodies: By name; never changed, but replaced, so that any thread may walk through it.
    """

    time_ns: int
    bodies: Mapping[str, SimulatedBody]

    def digest(self) -> str:
        """Return the SHA-256 of time and every body's motion: equal for equal runs."""
        sha = hashlib.sha256(str(self.time_ns).encode())
        for name, simulated in sorted(self.bodies.items()):
            sha.update(name.encode(errors="surrogatepass"))  # it may be from a path
            motion = simulated.motion
            for array in (motion.p, motion.R, motion.v, motion.w, motion.q, motion.dq):
                sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()
