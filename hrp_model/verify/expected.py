"""Expected values of a URDF from its Body, under the URDF's names.

Only the names are shared with the exporter (``BodyFrames``); all numbers are those of the Body,
or computed by ``BodyState``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import inf, pi

import numpy as np

from ..body import Body, Joint, JointType
from ..devices import Camera, RangeSensor
from ..frames import BodyFrames
from ..inertia import MassProperties, merge
from ..kinematics import BodyState
from ..kinematics.loops import Mimic
from ..kinematics.state import STANDARD_GRAVITY
from ..late_dataclass import dataclass
from ..rigid import Array, Pose, axis_angle_matrix, rpy_matrix, skew
from .library import Dynamics

# REP 103: images with z forward and x right, scans with x forward and z up, of devices that
# look along -Z of their own frame with +Y up.
_OPTICAL = rpy_matrix(pi, 0.0, 0.0)
_SCAN = rpy_matrix(-pi / 2.0, pi / 2.0, 0.0)
_DEFAULT_RANGE = {JointType.REVOLUTE: pi, JointType.PRISMATIC: 1.0}
# From the position nearest to zero; farther away, more digits are lost to rounding.
_FARTHEST = {JointType.REVOLUTE: 1e3, JointType.PRISMATIC: 10.0}


@dataclass(frozen=True, eq=False)
class Posture:
    """A posture to compare in.

    Attributes:
        name: Its name in messages.
        q: Positions by the URDF's joint names, in [rad] or [m].
        X_WU: Pose of the URDF's root link in the world, shape (4, 4).
    """

    name: str
    q: Mapping[str, float]
    X_WU: Array


class Expected:
    """A Body under the names of its URDF.

    Args:
        body: The model, with the collision shapes that the URDF was written with.
        frames: Names of links, joints and devices in the URDF.
        mimics: Mimic joints, by the name of the link that each of them moves.
    """

    def __init__(self, body: Body, frames: BodyFrames, mimics: Mapping[str, Mimic]) -> None:
        self.body = body
        self.frames = frames
        self.mimics = mimics
        self._state = BodyState(body)
        self._joints = [link.name for link in body.moving_links]
        # A URDF has no joint above the root, whose pose is given.
        self.moving = [link for link in body.moving_links if link.parent is not None]
        self.has_free_root = not body.is_root_fixed

    @cached_property
    def parents(self) -> dict[str, str]:
        """The parent of every frame but the root's, by the frame's name."""
        links = self.frames.links
        fixed = {frame.name: frame.parent for frame in (*self.frames.base, *self.frames.fixed)}
        return fixed | {links[x.name]: links[x.parent] for x in self.body.links if x.parent}

    @property
    def names(self) -> set[str]:
        """The names of all frames."""
        return {self.frames.root, *self.parents}

    @cached_property
    def _at_zero(self) -> dict[str, Pose]:
        """The poses of all frames at zero posture."""
        zero = Posture("", {}, np.eye(4))
        poses = self.link_poses(zero) | self.device_poses(zero) | self.base_poses(zero)
        return {name: Pose(X[:3, :3], X[:3, 3]) for name, X in poses.items()}

    @cached_property
    def size(self) -> float:
        """The distance in [m] to the farthest frame at zero posture, at least 1."""
        return max([1.0, *(float(np.linalg.norm(X.p)) for X in self._at_zero.values())])

    def postures(self, count: int, seed: int) -> Iterator[Posture]:
        """Yield zero, the model's initial posture and some random ones within the limits."""
        yield Posture("zero", self._positions({}), np.eye(4))
        initial = {link.name: link.joint.initial for link in self.moving}
        yield Posture("initial", self._positions(initial), self.root_pose(self.body.root.X_PL))
        rng = np.random.default_rng(seed)
        for i in range(count):
            q = {link.name: float(rng.uniform(*sample_range(link.joint))) for link in self.moving}
            axis = rng.normal(size=3)
            R = axis_angle_matrix(axis / np.linalg.norm(axis), rng.uniform(-pi, pi))
            X_WR = Pose(R, rng.uniform(-1.0, 1.0, 3))
            yield Posture(f"random {i + 1}", self._positions(q), self.root_pose(X_WR))

    @property
    def fixed_root(self) -> Pose:
        """The pose of the model's root in a URDF whose root is fixed to the world's origin."""
        return self._model_root(np.eye(4))

    def link_poses(self, posture: Posture) -> dict[str, Array]:
        """Return the poses of the model's links in the world, (4, 4), by frame."""
        state = self._state_at(posture)
        poses = {}
        for i, link in enumerate(self.body.links):
            poses[self.frames.links[link.name]] = Pose(state.R[i], state.p[i]).matrix()
        return poses

    def device_poses(self, posture: Posture) -> dict[str, Array]:
        """Return the poses of the devices' frames and of their data's frames, likewise."""
        links = self.link_poses(posture)
        poses = {}
        for i, device in enumerate(self.body.devices):
            X_WS = links[self.frames.links[device.link]] @ device.X_LS.matrix()
            poses[self.frames.devices[i]] = X_WS
            rotation = np.eye(4)
            if isinstance(device, Camera):
                rotation[:3, :3] = _OPTICAL
            elif isinstance(device, RangeSensor):
                rotation[:3, :3] = _SCAN
            poses[self.frames.data[i]] = X_WS @ rotation
        return poses

    def base_poses(self, posture: Posture) -> dict[str, Array]:
        """Return the poses of the links above the model's root, likewise."""
        poses = {}
        X = posture.X_WU
        for frame in self.frames.base:
            poses[frame.parent] = X
            X = X @ frame.pose.matrix()
        return poses

    def inertial(self, links: list[str]) -> MassProperties:
        """Return the mass properties of links lumped together, in the frame of the first.

        The inertia of a link without mass is added as well, as in the mass matrix.

        Args:
            links: Frames that no joint moves relative to each other.
        """
        by_frame = {self.frames.links[link.name]: link for link in self.body.links}
        X_0W = self._at_zero[links[0]].inverse()
        parts = []
        for name in links:
            link = by_frame.get(name)
            if link is not None and (link.mass > 0.0 or link.inertia.any()):
                part = MassProperties(link.mass, link.center_of_mass, link.inertia)
                is_first = name == links[0]
                parts.append(part if is_first else part.expressed_in(X_0W @ self._at_zero[name]))
        return parts[0] if len(parts) == 1 else merge(parts)

    def center_of_mass(self, posture: Posture) -> Array:
        """Return the centre of mass in the world in [m], shape (3,)."""
        return self._state_at(posture).calc_cm()

    def dynamics(self, posture: Posture, *, rotors: bool = False) -> Dynamics:
        """Return mass matrix and gravity torques, in the order of ``moving``."""
        state = self._state_at(posture)
        state.dv[0, 2] = STANDARD_GRAVITY
        state.calc_inverse_dynamics()
        M = state.calc_mass_matrix()
        first = len(M) - len(self._joints)
        if not rotors:
            for i, link in enumerate(self.body.moving_links):
                M[first + i, first + i] -= link.joint.equivalent_rotor_inertia
        joints = [self._joints.index(link.name) for link in self.moving]
        rows = [*range(first), *(first + i for i in joints)]
        names = tuple(self.frames.joints[link.name] for link in self.moving)
        M = M[np.ix_(rows, rows)]
        if first:
            M = _shift_root(M, posture.X_WU[:3, 3] - state.p[0])
        return Dynamics(M, state.u[joints], names)

    def _positions(self, q: Mapping[str, float]) -> dict[str, float]:
        """Return positions by joint name, mimic joints included, from some by link name."""
        free = {link.name: q.get(link.name, 0.0) for link in self.moving}
        for name, mimic in self.mimics.items():
            free[name] = mimic.multiplier * free[mimic.link] + mimic.offset
        return {self.frames.joints[name]: value for name, value in free.items()}

    def root_pose(self, X_WR: Pose) -> Array:
        """Return X_WU for a pose of the model's root; a fixed root keeps its own. Shape (4, 4)."""
        if not self.has_free_root:
            return np.eye(4)
        for frame in reversed(self.frames.base):
            X_WR = X_WR @ frame.pose.inverse()
        return X_WR.matrix()

    def _model_root(self, X_WU: Array) -> Pose:
        """Return the pose of the model's root for one of the URDF's."""
        X_WR = Pose(X_WU[:3, :3], X_WU[:3, 3])
        for frame in self.frames.base:
            X_WR = X_WR @ frame.pose
        return X_WR

    def _state_at(self, posture: Posture) -> BodyState:
        state = self._state
        X_WR = self._model_root(posture.X_WU)
        state.p[0], state.R[0] = X_WR.p, X_WR.R
        names = self.frames.joints
        state.q[:] = [posture.q.get(names.get(name, ""), 0.0) for name in self._joints]
        for rate in (state.dq, state.ddq, state.v, state.w, state.dv, state.dw):
            rate[:] = 0.0
        state.calc_forward_kinematics()
        return state


def joint_type(joint: Joint) -> str:
    """Return the type of a joint in URDF."""
    if joint.type is JointType.FREE:
        return "floating"
    if joint.type is JointType.PRISMATIC:
        return "prismatic"
    if joint.type is JointType.REVOLUTE:
        return "continuous" if joint.is_continuous else "revolute"
    return "fixed"


def sample_range(joint: Joint) -> tuple[float, float]:
    """Return a finite range within the limits to draw positions from."""
    half = _DEFAULT_RANGE[joint.type]
    lower, upper = joint.position_limits
    if lower == -inf and upper == inf:
        return -half, half
    lower = upper - half if lower == -inf else lower
    upper = lower + half if upper == inf else upper
    nearest = min(max(0.0, lower), upper)
    return max(lower, nearest - _FARTHEST[joint.type]), min(upper, nearest + _FARTHEST[joint.type])


def _shift_root(M: Array, r: Array) -> Array:
    """Return a mass matrix for the motion of a point of the root at ``r`` from its origin.

    The velocity of the origin is v - w x r, with v and w of the point. So v and w of the origin
    are S times those of the point, and the matrix becomes S^T M S.
    """
    S = np.eye(len(M))
    S[:3, 3:6] = skew(r)
    out: Array = S.T @ M @ S
    return out
