"""A URDF as read by pinocchio."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio

from ..inertia import MassProperties
from ..kinematics.state import STANDARD_GRAVITY
from ..rigid import Array
from .library import (
    Accelerations,
    DynamicRobot,
    Dynamics,
    LibraryError,
    LibraryJoint,
    LibraryMimic,
    LibraryMotion,
    LibraryShape,
    Quantity,
    Shapes,
)

_JOINT, _FIXED = pinocchio.FrameType.JOINT, pinocchio.FrameType.FIXED_JOINT
_BODY = pinocchio.FrameType.BODY
_SHAPES_AT_ONCE = 100  # of one link and kind
# Prefixes of joint names that change their order.
_EARLY, _LATE = "early/", "late/"
# Prefixes of the short names of its joints, longest first.
_TYPES = {
    "JointModelFreeFlyer": "floating",
    "JointModelRUB": "continuous",
    "JointModelRevoluteUnbounded": "continuous",
    "JointModelR": "revolute",
    "JointModelP": "prismatic",
}


class PinocchioRobot(DynamicRobot):
    """See ``library.DynamicRobot``.

    Args:
        urdf: The file.
        free_root: Whether its root may move.
        packages: Folders with the packages of ``package://`` URIs.
        srdf: A file whose ``rotor_params`` give the inertias of rotors; None without.

    Raises:
        LibraryError: pinocchio refuses the file.
    """

    library = "pinocchio"

    def __init__(
        self,
        urdf: Path,
        *,
        free_root: bool,
        packages: Sequence[Path] = (),
        srdf: Path | None = None,
    ) -> None:
        super().__init__()
        self._urdf = str(urdf)
        self._packages = [str(folder) for folder in packages]
        self._free_root = free_root
        try:
            self._model = self._load(mimic=False)
            self._with_rotors = self._load(mimic=False)
            if srdf is not None:
                pinocchio.loadRotorParameters(self._with_rotors, str(srdf), False)
        except (ValueError, RuntimeError) as error:
            raise LibraryError(str(error)) from None
        self.has_rotors = srdf is not None
        self._with_mimics = self._load_with_mimics()
        for model in (self._model, self._with_rotors):
            model.gravity.linear = np.array([0.0, 0.0, -STANDARD_GRAVITY])
        # Once only: for hundreds of joints it takes as long as hundreds of computations.
        self._data, self._rotor_data = self._model.createData(), self._with_rotors.createData()
        self.parts = {name: [name] for name in self._fixed_links()} | self._lumps()

    def joints(self) -> Sequence[LibraryJoint]:
        """Return all joints."""
        frames = self._model.frames
        bodies = [frame for frame in frames if frame.type == _BODY]
        joints = []
        for body in bodies:
            joint = frames[body.parentFrame]
            parent = frames[joint.parentFrame]
            if parent.type == _BODY:
                joints.append(self._joint(joint, parent.name, body.name))
        return joints

    def mimics(self) -> Mapping[str, LibraryMimic]:
        """Return the mimic joints by name."""
        model = self._with_mimics
        mimics = {}
        for leader, follower in zip(model.mimicked_joints, model.mimicking_joints, strict=True):
            joint = model.joints[follower].extract()
            name = model.names[follower].removeprefix(_EARLY).removeprefix(_LATE)
            leader_name = model.names[leader].removeprefix(_EARLY)
            mimics[name] = LibraryMimic(leader_name, joint.scaling, joint.offset)
        return mimics

    def poses(self, q: Mapping[str, float], X_WU: Array) -> Mapping[str, Array]:
        """Return the poses of all links in the world."""
        pinocchio.framesForwardKinematics(self._model, self._data, self._vector(q, X_WU))
        poses = zip(self._model.frames, self._data.oMf, strict=True)
        return {frame.name: X.homogeneous for frame, X in poses if frame.type == _BODY}

    def inertials(self) -> Mapping[str, MassProperties]:
        """Return the mass properties of fixed links, and of the links lumped on each joint."""
        model = self._model
        inertials = {name: _properties(Y) for name, Y in self._fixed_links().items()}
        for top in self._lumps():
            frame = model.frames[model.getFrameId(top, _BODY)]
            inertials[top] = _properties(model.inertias[frame.parentJoint])
        return inertials

    def center_of_mass(self, q: Mapping[str, float], X_WU: Array) -> tuple[float, Array]:
        """Return the total mass and its centre in the world."""
        model, data = self._model, self._data
        # pinocchio leaves out links that are fixed to the world.
        fixed = model.inertias[0]
        moment = fixed.mass * fixed.lever
        mass = fixed.mass
        if moving := pinocchio.computeTotalMass(model):  # else its centre is 0 / 0
            center = pinocchio.centerOfMass(model, data, self._vector(q, X_WU))
            moment = moment + moving * center
            mass += moving
        return mass, moment / mass if mass else np.full(3, np.nan)

    def dynamics(self, q: Mapping[str, float], X_WU: Array) -> Dynamics:
        """Return the dynamics in a posture."""
        return self._dynamics(self._model, self._data, q, X_WU)

    def dynamics_with_rotors(self, q: Mapping[str, float], X_WU: Array) -> Dynamics:
        """Return the dynamics with the SRDF's inertias of rotors."""
        return self._dynamics(self._with_rotors, self._rotor_data, q, X_WU)

    def accelerations(self, motion: LibraryMotion) -> Accelerations:
        """Return the accelerations, with the SRDF's inertias of rotors if there is one."""
        model = self._with_rotors
        q, v = self._vector(motion.q, motion.X_WU), self._rates(motion)
        efforts = self._by_joint(motion.effort)
        efforts -= model.damping * v + model.friction * np.sign(v)
        if self._free_root:
            efforts[:6] = 0.0
        a = pinocchio.aba(model, self._rotor_data, q, v, efforts)
        root = np.zeros(6)
        if self._free_root:
            # Spatial, in the root's axes; that of the origin has the change of direction of v too.
            R = motion.X_WU[:3, :3]
            root[:3] = R @ a[:3] + np.cross(motion.w, motion.v)
            root[3:] = R @ a[3:6]
        return Accelerations(root, {name: float(a[i]) for name, i in self._columns(motion.q)})

    def momentum(self, motion: LibraryMotion) -> Array:
        """Return linear and angular momentum about the world's origin."""
        model, data = self._model, self._data
        if not pinocchio.computeTotalMass(model):  # else its centre is 0 / 0
            return np.zeros(6)
        q, v = self._vector(motion.q, motion.X_WU), self._rates(motion)
        h = pinocchio.computeCentroidalMomentum(model, data, q, v)
        moment = h.angular + np.cross(data.com[0], h.linear)
        return np.concatenate([h.linear, moment])

    def _rates(self, motion: LibraryMotion) -> Array:
        """Return the velocities of root and joints; those of the root are in its own axes."""
        rates = self._by_joint(motion.dq)
        if self._free_root:
            rates[:3], rates[3:6] = motion.v @ motion.X_WU[:3, :3], motion.w @ motion.X_WU[:3, :3]
        return rates

    def _by_joint(self, values: Mapping[str, float]) -> Array:
        vector = np.zeros(self._model.nv)
        for name, i in self._columns(values):
            vector[i] = values[name]
        return vector

    def _columns(self, names: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Yield the joints that it has, and their columns."""
        model = self._model
        for name in names:
            if model.existJointName(name):  # else reported as a missing joint
                yield name, model.joints[model.getJointId(name)].idx_v

    def _dynamics(self, model: Any, data: Any, q: Mapping[str, float], X_WU: Array) -> Dynamics:
        vector = self._vector(q, X_WU)
        M = np.array(pinocchio.crba(model, data, vector))
        M = np.triu(M) + np.triu(M, 1).T
        torques = pinocchio.computeGeneralizedGravity(self._model, self._data, vector)
        first = 6 if self._free_root else 0
        if first:
            # pinocchio expresses the root's velocity in the root's own axes.
            rotation = np.eye(len(M))
            rotation[:3, :3] = rotation[3:6, 3:6] = X_WU[:3, :3]
            M = rotation @ M @ rotation.T
        names = [name for name in model.names[1:] if _num_velocities(model, name) == 1]
        dofs = [model.joints[model.getJointId(name)].idx_v for name in names]
        rows = [*range(first), *dofs]
        return Dynamics(M[np.ix_(rows, rows)], torques[dofs], tuple(names))

    def shapes(self) -> Shapes:
        """Return the shapes of all links.

        Raises:
            LibraryError: A mesh cannot be read.
        """
        kinds = pinocchio.GeometryType.VISUAL, pinocchio.GeometryType.COLLISION
        try:
            visual, collision = (self._geometry(kind) for kind in kinds)
        except (ValueError, RuntimeError) as error:
            raise LibraryError(str(error)) from None
        return Shapes(visual, collision)

    def _load(self, *, mimic: bool) -> Any:
        if self._free_root:
            root = pinocchio.JointModelFreeFlyer()
            return pinocchio.buildModelFromUrdf(self._urdf, root, mimic)
        return pinocchio.buildModelFromUrdf(self._urdf, mimic)

    def _load_with_mimics(self) -> Any:
        """Return the model with mimic joints; None if pinocchio cannot read them.

        pinocchio builds a tree in alphabetical order and requires leaders before followers.
        """
        try:
            return self._load(mimic=True)
        except (ValueError, RuntimeError) as error:
            reason = str(error)
        try:
            model = pinocchio.buildModelFromXML(_leaders_first(self._urdf), True)
        except (ValueError, RuntimeError):
            self.unknown[Quantity.MIMIC] = reason
            return None
        self.notes[Quantity.MIMIC] = (
            f"read with joints renamed, as it refuses their order: {reason}"
        )
        return model

    def _fixed_links(self) -> dict[str, Any]:
        """Return the inertias of links below a fixed joint."""
        frames = self._model.frames
        bodies = [frame for frame in frames if frame.type == _BODY]
        joints = [(body.name, frames[body.parentFrame]) for body in bodies]
        return {
            name: joint.inertia
            for name, joint in joints
            if joint.type == _FIXED and joint.name != "universe"
        }

    def _lumps(self) -> dict[str, list[str]]:
        """Return the links that are rigidly connected, by the topmost of them."""
        lumps: dict[int, list[str]] = {}
        for frame in self._model.frames:
            if frame.type == _BODY:
                lumps.setdefault(frame.parentJoint, []).append(frame.name)
        return {names[0]: names for names in lumps.values()}

    def _joint(self, frame: Any, parent: str, child: str) -> LibraryJoint:
        if frame.type != _JOINT:
            return LibraryJoint(frame.name, frozenset({"fixed"}), parent, child)
        model = self._model
        joint = model.joints[frame.parentJoint]
        kind = _joint_type(joint.shortname())
        v, q = joint.idx_v, joint.idx_q
        bounded = kind in ("revolute", "prismatic")
        return LibraryJoint(
            frame.name,
            frozenset({kind}),
            parent,
            child,
            lower=model.lowerPositionLimit[q] if bounded else None,
            upper=model.upperPositionLimit[q] if bounded else None,
            velocity=model.velocityLimit[v],
            effort=model.effortLimit[v],
            damping=model.damping[v],
            friction=model.friction[v],
        )

    def _vector(self, q: Mapping[str, float], X_WU: Array) -> Array:
        model = self._model
        vector: Array = pinocchio.neutral(model)
        if self._free_root:
            vector[:7] = pinocchio.SE3ToXYZQUAT(pinocchio.SE3(X_WU))
        for name, value in q.items():
            if not model.existJointName(name):
                continue  # reported as a missing joint
            joint = model.joints[model.getJointId(name)]
            if joint.nq == 2:  # without limits: a point on the unit circle
                vector[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
            elif joint.nq == 1:
                vector[joint.idx_q] = value
        return vector

    def _geometry(self, kind: Any) -> dict[str, list[LibraryShape]]:
        shapes: dict[str, list[LibraryShape]] = {}
        for text in _parts(self._urdf):
            arguments = self._model, text, kind, None, self._packages
            for item in pinocchio.buildGeomFromUrdfString(*arguments).geometryObjects:
                frame = self._model.frames[item.parentFrame]
                X_LS = (frame.placement.inverse() * item.placement).homogeneous
                # Without a colour in the URDF, meshColor is pinocchio's default.
                color = tuple(map(float, item.meshColor)) if item.overrideMaterial else None
                shapes.setdefault(frame.name, []).append(_shape(item.geometry, X_LS, color))
        return shapes


def _parts(urdf: str) -> Iterator[str]:
    """Yield the text of a URDF, split into texts with some shapes each if links have many.

    For each shape pinocchio copies all shapes of its link, which takes minutes for thousands.
    """
    root = ElementTree.parse(urdf).getroot()
    links = root.findall("link")
    parts = [list(_in_parts(link)) for link in links]
    count = max(map(len, parts), default=0)
    if count <= 1:
        yield Path(urdf).read_text(encoding="utf-8")
        return
    for i in range(count):
        for link, own in zip(links, parts, strict=True):
            link[:] = own[i] if i < len(own) else []
        yield ElementTree.tostring(root, encoding="unicode")


def _in_parts(link: ElementTree.Element) -> Iterator[list[ElementTree.Element]]:
    """Yield some visuals and collisions of a link at a time, in their order."""
    shapes = link.findall("visual"), link.findall("collision")
    for start in range(0, max(map(len, shapes)), _SHAPES_AT_ONCE):
        yield [shape for kind in shapes for shape in kind[start : start + _SHAPES_AT_ONCE]]


def _leaders_first(urdf: str) -> str:
    """Return a URDF with joints renamed so that leaders and their ancestors sort first."""
    root = ElementTree.parse(urdf).getroot()
    joints = root.findall("joint")
    by_child = {_link(joint, "child"): joint for joint in joints}
    leaders = {mimic.get("joint") for mimic in root.findall("joint/mimic")}
    early: set[str | None] = set()
    for joint in joints:
        ancestor = joint if joint.get("name") in leaders else None
        while ancestor is not None and ancestor.get("name") not in early:
            early.add(ancestor.get("name"))
            ancestor = by_child.get(_link(ancestor, "parent"))
    for joint in joints:
        name = joint.get("name")
        joint.set("name", f"{_EARLY if name in early else _LATE}{name}")
        for mimic in joint.iter("mimic"):
            mimic.set("joint", f"{_EARLY}{mimic.get('joint')}")
    return ElementTree.tostring(root, encoding="unicode")


def _link(joint: ElementTree.Element, end: str) -> str:
    found = joint.find(end)
    return "" if found is None else found.get("link", "")


def _joint_type(shortname: str) -> str:
    return next((kind for prefix, kind in _TYPES.items() if shortname.startswith(prefix)), "")


def _num_velocities(model: Any, name: str) -> int:
    count: int = model.joints[model.getJointId(name)].nv
    return count


def _properties(inertia: Any) -> MassProperties:
    return MassProperties(inertia.mass, np.array(inertia.lever), np.array(inertia.inertia))


def _shape(geometry: Any, X_LS: Array, color: tuple[float, ...] | None) -> LibraryShape:
    """Return a shape of its collision library coal."""
    name = type(geometry).__name__
    if name == "Box":
        return LibraryShape("box", X_LS, tuple(2.0 * geometry.halfSide), color=color)
    if name == "Sphere":
        return LibraryShape("sphere", X_LS, (geometry.radius,), color=color)
    if name == "Cylinder":
        size = geometry.radius, 2.0 * geometry.halfLength
        return LibraryShape("cylinder", X_LS, size, color=color)
    triangles = [_corners(geometry.tri_indices(i)) for i in range(geometry.num_tris)]
    return LibraryShape(
        "mesh",
        X_LS,
        vertices=np.array(geometry.vertices(), dtype=np.float64),
        triangles=np.array(triangles, dtype=np.int32),
        color=color,
    )


def _corners(triangle: Any) -> tuple[int, int, int]:
    return triangle[0], triangle[1], triangle[2]
