"""A URDF as read by MuJoCo, with the changes that MuJoCo requires.

MuJoCo is stricter than URDF: it refuses inertias that no rigid body has, moving links
without mass, shapes without volume, and links that float below other links. A URDF has these if
the model does; they are changed here, reported, and left out of the comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from math import frexp, ldexp
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from ..inertia import MassProperties
from ..kinematics.state import STANDARD_GRAVITY
from ..late_dataclass import dataclass
from ..readers.mjcf.compiler import quiet_libraries
from ..rigid import Array, Pose, matrix_quaternion
from .library import (
    DYNAMICS,
    Accelerations,
    DynamicRobot,
    Dynamics,
    LibraryError,
    LibraryJoint,
    LibraryMotion,
    LibraryShape,
    Quantity,
    Shapes,
)

# MuJoCo's messages about flat meshes and primitives without a size.
_INVALID_SHAPE = re.compile(
    r"coplanar vertices|qhull error|at least 4 vertices|mesh volume is too small"
    r"|size \d+ must be positive|faces have inconsistent orientation"
    r"|number of faces must be between"
)
_NO_FILE = re.compile(r"Error opening file '(file|package):")
_MASSLESS = re.compile(r"mass and inertia of moving bodies")
_ELEMENT_NAME = re.compile(r"Element name '([^']*)'")
_MIN_MASS = 1e-6
# Relative to the largest principal moment. Whether MuJoCo refuses a flat body, with a + b = c,
# or a thin one, with a = 0, depends on rounding errors, which are smaller than this.
_INERTIA_MARGIN = 1e-9
# In [kg m^2]: MuJoCo treats moments below 1e-14 as negative.
_MIN_MOMENT = 1e-12
_MESHES_PASSED = (
    "its meshes were passed in memory, as MuJoCo does not resolve file:// or package://; "
    "a <mujoco> block (option --mujoco) sets the mesh folder"
)
# Minimum mass of a moving body that MuJoCo accepts, in [kg].
MIN_MASS = float(mujoco.mjMINVAL)
_NO_VELOCITY = "MuJoCo has no limits of velocity"
_NO_MIMIC = "MuJoCo reads no mimic joints"
_NO_VISUALS = "MuJoCo discards visuals of a URDF"


@dataclass(eq=False)
class Adapted:
    """A MuJoCo model, and the changes that were necessary.

    Attributes:
        model: The MjModel; every link is a body of its own.
        refusal: MuJoCo's error for the file as it is; empty without one.
        hint: How MuJoCo would find the meshes, if they were passed in memory.
        unknown: Quantities that cannot be compared, and why.
        left_out: Removed collision shapes, by link and index, and why.
        changed_inertias: Changes of inertias, by link.
        welded: Links that float in the URDF.
    """

    model: Any = None
    refusal: str = ""
    hint: str = ""
    unknown: dict[Quantity, str] = field(default_factory=dict)
    left_out: dict[tuple[str, int], str] = field(default_factory=dict)
    changed_inertias: dict[str, InertiaChange] = field(default_factory=dict)
    welded: set[str] = field(default_factory=set)


class InertiaChange(NamedTuple):
    """Change of the principal moments of a link: each becomes ``scale * moment + shift``.

    The principal axes do not change, so only the moments must be restored.

    Attributes:
        scale: A power of two, so that scaling is exact.
        shift: In [kg m^2].
    """

    scale: float
    shift: float


def adapted_spec(
    urdf: Path, *, free_root: bool, files: Mapping[str, Path], massless: bool
) -> Adapted:
    """Return the MuJoCo model of a URDF.

    Args:
        urdf: The file.
        free_root: Whether to give the root a free joint.
        files: Mesh files by URI.
        massless: Whether links of the model move without mass or inertia.

    Raises:
        LibraryError: MuJoCo refuses the file for a reason that is not in the model.
    """
    assets = {path.name: path.read_bytes() for path in files.values() if path.suffix == ".stl"}
    adapted = Adapted(refusal=_refusal(urdf))
    if _NO_FILE.search(adapted.refusal) and assets:
        adapted.refusal, adapted.hint = _refusal(urdf, assets), _MESHES_PASSED
    bound_mass = False
    for _ in range(2 + len(assets) + urdf.read_text(encoding="utf-8").count("<collision")):
        spec = _spec(urdf, assets)
        shapes = _name_shapes(spec)
        _drop_shapes(spec, shapes, adapted)
        _weld_floating_links(spec, adapted)
        _change_inertias(spec, adapted)
        if free_root and len(spec.bodies) > 1:
            spec.bodies[1].add_freejoint()
        if bound_mass:
            spec.compiler.boundmass = spec.compiler.boundinertia = _MIN_MASS
        try:
            with quiet_libraries():
                adapted.model = spec.compile()
        except ValueError as error:
            if _MASSLESS.search(str(error)) and massless:
                bound_mass = True
                _add_missing_mass(str(error), adapted)
            else:
                _add_invalid_shapes(str(error), spec, shapes, adapted)
            continue
        return adapted
    raise LibraryError(adapted.refusal or "MuJoCo refuses the file after every change")


def _refusal(urdf: Path, assets: Mapping[str, bytes] | None = None) -> str:
    try:
        with quiet_libraries():
            mujoco.MjModel.from_xml_path(str(urdf), **({"assets": dict(assets)} if assets else {}))
    except ValueError as error:
        return _sentence(error)
    return ""


def _spec(urdf: Path, assets: Mapping[str, bytes]) -> Any:
    try:
        spec = mujoco.MjSpec.from_file(str(urdf), assets=dict(assets))
    except ValueError as error:
        raise LibraryError(_sentence(error)) from None
    spec.compiler.fusestatic = False  # keep every link
    # The default derives the mass of a link without <inertial> from its collision shapes.
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    return spec


def _name_shapes(spec: Any) -> dict[str, tuple[str, int]]:
    """Give each shape a name, and return link and index by name."""
    shapes: dict[str, tuple[str, int]] = {}
    for body in spec.bodies:
        for number, geom in enumerate(body.geoms):
            geom.name = f"{body.name} #{number}"
            shapes[geom.name] = body.name, number
    return shapes


def _drop_shapes(spec: Any, shapes: Mapping[str, tuple[str, int]], adapted: Adapted) -> None:
    for geom in list(spec.geoms):
        if shapes[geom.name] in adapted.left_out:
            spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in used:
            spec.delete(mesh)


def _weld_floating_links(spec: Any, adapted: Adapted) -> None:
    """Weld links that float below others: MuJoCo allows free joints at the top level only."""
    for joint in list(spec.joints):
        if joint.type == mujoco.mjtJoint.mjJNT_FREE and joint.parent.parent.name != "world":
            adapted.welded.add(joint.parent.name)
            spec.delete(joint)


def _change_inertias(spec: Any, adapted: Adapted) -> None:
    """Change inertias that MuJoCo would refuse."""
    for body in spec.bodies:
        full = np.array(body.fullinertia)
        if np.isnan(full).any() or not full.any():
            continue
        xx, yy, zz, xy, xz, yz = full
        moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        largest = float(abs(moments).max())
        a, b, c = moments.tolist()
        if min(a, a + b - c) > _INERTIA_MARGIN * largest and a > _MIN_MOMENT:
            continue
        scale = ldexp(1.0, -frexp(largest)[1])
        shift = max(c - a - b, -a, 0.0) * scale * 1.01 + 1e-6
        adapted.changed_inertias[body.name] = InertiaChange(scale, shift)
        body.fullinertia = full * scale + shift * np.array([1, 1, 1, 0, 0, 0])


def _add_missing_mass(message: str, adapted: Adapted) -> None:
    reason = f"MuJoCo refuses link '{_name_in(message)}': it moves without mass or inertia"
    for quantity in (Quantity.INERTIALS, Quantity.TOTAL_MASS, Quantity.CENTER_OF_MASS):
        adapted.unknown[quantity] = reason
    adapted.unknown |= dict.fromkeys(DYNAMICS, reason)


def _add_invalid_shapes(
    message: str, spec: Any, shapes: Mapping[str, tuple[str, int]], adapted: Adapted
) -> None:
    """Add the shapes that MuJoCo refuses to those to be left out.

    Raises:
        LibraryError: The message is not about a shape.
    """
    name = _name_in(message)
    geoms = [geom for geom in spec.geoms if name and name in (geom.name, geom.meshname)]
    if not _INVALID_SHAPE.search(message) or not geoms:
        raise LibraryError(_sentence(message))
    adapted.left_out |= dict.fromkeys((shapes[geom.name] for geom in geoms), _sentence(message))


def _name_in(message: str) -> str:
    match = _ELEMENT_NAME.search(message)
    return match.group(1) if match else ""


def _sentence(message: object) -> str:
    lines = str(message).removeprefix("Error: ").splitlines()
    return "; ".join(line.strip() for line in lines if line.strip())


class MujocoRobot(DynamicRobot):
    """See ``library.DynamicRobot``.

    Args:
        urdf: The file.
        root: Name of its root link.
        free_root: Whether the root may move; MuJoCo itself welds it to the world.
        files: Mesh files by URI, for URIs that MuJoCo cannot resolve.
        massless: Whether links of the model move without mass or inertia.

    Raises:
        LibraryError: MuJoCo refuses the file for a reason that is not in the model.
    """

    library = "MuJoCo"

    def __init__(
        self,
        urdf: Path,
        *,
        root: str,
        free_root: bool,
        files: Mapping[str, Path],
        massless: bool,
    ) -> None:
        if root == "world" and free_root:
            raise LibraryError("MuJoCo takes a link called 'world' for the world, which is fixed")
        super().__init__()
        adapted: Adapted = adapted_spec(urdf, free_root=free_root, files=files, massless=massless)
        self._adapted = adapted
        self.refusal, self.hint = adapted.refusal, adapted.hint
        self._model = adapted.model
        self._model.opt.gravity[:] = 0.0, 0.0, -STANDARD_GRAVITY
        for link, change in adapted.changed_inertias.items():
            moments = self._model.body(link).inertia
            moments[:] = (moments - change.shift) / change.scale
        self._data = mujoco.MjData(self._model)
        self._free_root = free_root
        if self._model.nbody == 1 and root != "world":
            raise LibraryError("MuJoCo finds no link in it")
        # A root of this name is body 0, else body 1 is the root.
        self._root = 0 if root == "world" else 1
        self.unknown = {
            Quantity.VELOCITY_LIMITS: _NO_VELOCITY,
            Quantity.MIMIC: _NO_MIMIC,
            Quantity.VISUAL_PRIMITIVES: _NO_VISUALS,
            Quantity.VISUAL_MESHES: _NO_VISUALS,
            Quantity.COLORS: _NO_VISUALS,
            **adapted.unknown,
        }
        bodies = map(self._model.body, range(self._root, self._model.nbody))
        self.parts = {body.name: [body.name] for body in bodies}

    def joints(self) -> Sequence[LibraryJoint]:
        """Return all joints."""
        joints = []
        for i in range(self._root + 1, self._model.nbody):
            body = self._model.body(i)
            parent = self._model.body(int(body.parentid[0])).name
            if body.jntnum[0]:
                joint = self._model.joint(int(body.jntadr[0]))
                joints.append(self._joint(joint, parent, body.name))
            else:
                kind = "floating" if body.name in self._adapted.welded else "fixed"
                joints.append(LibraryJoint(None, frozenset({kind}), parent, body.name))
        return joints

    def poses(self, q: Mapping[str, float], X_WU: Array) -> Mapping[str, Array]:
        """Return the poses of all links in the world."""
        self._move(q, X_WU)
        bodies = ((name, self._data.body(name)) for name in self.parts)
        return {name: Pose(b.xmat.reshape(3, 3), b.xpos).matrix() for name, b in bodies}

    def inertials(self) -> Mapping[str, MassProperties]:
        """Return the mass properties of links that have any."""
        inertials = {}
        for name in self.parts:
            body = self._model.body(name)
            R = _rotation(body.iquat)
            inertia = R @ np.diag(body.inertia) @ R.T
            inertials[name] = MassProperties(float(body.mass[0]), body.ipos.copy(), inertia)
        return inertials

    def center_of_mass(self, q: Mapping[str, float], X_WU: Array) -> tuple[float, Array]:
        """Return the total mass and its centre in the world."""
        self._move(q, X_WU)
        return float(self._model.body_mass.sum()), self._data.subtree_com[0].copy()

    def dynamics(self, q: Mapping[str, float], X_WU: Array) -> Dynamics:
        """Return the dynamics in a posture."""
        self._move(q, X_WU)
        model, data = self._model, self._data
        M = self._mass_matrix()
        first = 6 if self._free_root else 0
        if first:
            # MuJoCo expresses the root's angular velocity in the root's own axes.
            rotation = np.eye(len(M))
            rotation[3:6, 3:6] = X_WU[:3, :3]
            M = rotation @ M @ rotation.T
        joints = [model.joint(i) for i in range(model.njnt)]
        joints = [joint for joint in joints if joint.type[0] != mujoco.mjtJoint.mjJNT_FREE]
        dofs = [int(joint.dofadr[0]) for joint in joints]
        rows = [*range(first), *dofs]
        names = tuple(joint.name for joint in joints)
        return Dynamics(M[np.ix_(rows, rows)], data.qfrc_bias[dofs], names)

    def accelerations(self, motion: LibraryMotion) -> Accelerations:
        """Return the accelerations."""
        self._move_on(motion)
        model, data = self._model, self._data
        mujoco.mj_rne(model, data, 0, data.qfrc_bias)
        # A row for each degree of freedom; newer versions have columns for nonlinear damping.
        damping = np.reshape(model.dof_damping, (model.nv, -1))[:, 0]
        efforts = -data.qfrc_bias - damping * data.qvel
        efforts -= model.dof_frictionloss * np.sign(data.qvel)
        if self._free_root:
            efforts[:6] = -data.qfrc_bias[:6]
        for name, dof in self._dofs(motion.effort):
            efforts[dof] += motion.effort[name]
        try:
            a = np.linalg.solve(self._mass_matrix(), efforts)
        except np.linalg.LinAlgError:
            a = np.full(model.nv, np.nan)
        root = np.zeros(6)
        if self._free_root:
            root[:3], root[3:] = a[:3], motion.X_WU[:3, :3] @ a[3:6]
        return Accelerations(root, {name: float(a[dof]) for name, dof in self._dofs(motion.q)})

    def momentum(self, motion: LibraryMotion) -> Array:
        """Return linear and angular momentum about the world's origin."""
        self._move_on(motion)
        model, data = self._model, self._data
        P, L, velocity = np.zeros(3), np.zeros(3), np.zeros(6)
        # Not mj_subtreeVel: its angular momentum is wrong if the world itself has mass.
        for i in range(1, model.nbody):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, i, velocity, 0)
            R, momentum = data.ximat[i].reshape(3, 3), model.body_mass[i] * velocity[3:]
            P += momentum
            L += np.cross(data.xipos[i], momentum) + R @ (
                model.body_inertia[i] * (velocity[:3] @ R)
            )
        return np.concatenate([P, L])

    def shapes(self) -> Shapes:
        """Return the collision shapes of all links."""
        collision: dict[str, list[LibraryShape]] = {}
        for i in range(self._model.ngeom):
            geom = self._model.geom(i)
            link = self._model.body(int(geom.bodyid[0])).name
            collision.setdefault(link, []).append(self._shape(geom))
        return Shapes(None, collision, self._adapted.left_out)

    def _joint(self, joint: Any, parent: str, child: str) -> LibraryJoint:
        hinge = joint.type[0] == mujoco.mjtJoint.mjJNT_HINGE
        v = int(joint.dofadr[0])
        return LibraryJoint(
            joint.name,
            frozenset({"revolute", "continuous"} if hinge else {"prismatic"}),
            parent,
            child,
            lower=float(joint.range[0]),
            upper=float(joint.range[1]),
            effort=float(self._model.jnt_actfrcrange[joint.id][1]),
            damping=float(np.ravel(self._model.dof_damping[v])[0]),
            friction=float(self._model.dof_frictionloss[v]),
        )

    def _move(self, q: Mapping[str, float], X_WU: Array) -> None:
        data = self._data
        if self._free_root:
            x, y, z, w = matrix_quaternion(X_WU[:3, :3])
            data.qpos[:7] = [*X_WU[:3, 3], w, x, y, z]
        for i in range(self._model.njnt):
            joint = self._model.joint(i)
            if joint.name in q:
                data.qpos[int(joint.qposadr[0])] = q[joint.name]
        data.qvel[:] = 0.0
        # Not mj_forward: it also inverts the mass matrix, and writes a file MUJOCO_LOG.TXT into
        # the current folder if that is ill-conditioned.
        mujoco.mj_kinematics(self._model, data)
        mujoco.mj_comPos(self._model, data)
        mujoco.mj_crb(self._model, data)
        mujoco.mj_rne(self._model, data, 0, data.qfrc_bias)

    def _move_on(self, motion: LibraryMotion) -> None:
        """Set posture and velocities; those of the joints it has."""
        self._move(motion.q, motion.X_WU)
        data = self._data
        if self._free_root:
            # MuJoCo expresses the root's angular velocity in the root's own axes.
            data.qvel[:3], data.qvel[3:6] = motion.v, motion.w @ motion.X_WU[:3, :3]
        for name, dof in self._dofs(motion.dq):
            data.qvel[dof] = motion.dq[name]
        mujoco.mj_comVel(self._model, data)

    def _mass_matrix(self) -> Array:
        M = np.zeros((self._model.nv, self._model.nv))
        mujoco.mj_fullM(self._model, self._data, M)
        return M

    def _dofs(self, names: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Yield the joints that it has, and their degrees of freedom."""
        own = {self._model.joint(i).name: i for i in range(self._model.njnt)}
        for name in names:
            if name in own:  # else reported as a missing joint
                yield name, int(self._model.jnt_dofadr[own[name]])

    def _shape(self, geom: Any) -> LibraryShape:
        X_LS = Pose(_rotation(geom.quat), geom.pos).matrix()
        kinds = mujoco.mjtGeom
        if geom.type[0] == kinds.mjGEOM_BOX:
            return LibraryShape("box", X_LS, tuple(2.0 * geom.size))
        if geom.type[0] == kinds.mjGEOM_SPHERE:
            return LibraryShape("sphere", X_LS, (float(geom.size[0]),))
        if geom.type[0] == kinds.mjGEOM_CYLINDER:
            return LibraryShape("cylinder", X_LS, (float(geom.size[0]), 2.0 * float(geom.size[1])))
        mesh = self._model.mesh(int(geom.dataid[0]))
        first, count = int(mesh.vertadr[0]), int(mesh.vertnum[0])
        vertices = self._model.mesh_vert[first : first + count].astype(np.float64)
        first, count = int(mesh.faceadr[0]), int(mesh.facenum[0])
        triangles = self._model.mesh_face[first : first + count].astype(np.int32)
        return LibraryShape("mesh", X_LS, vertices=vertices, triangles=triangles)


def _rotation(quaternion: Array) -> Array:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, quaternion)
    return R.reshape(3, 3)
