"""A robot on a floor in MuJoCo, from the URDF that this package exports.

Time step, gravity, floor, friction, masses, rotors, joint friction, limits and servos are those of
our world, and links that do not collide here do not collide there. MuJoCo collides convex hulls of
meshes; pairs whose hulls overlap at the start are left out, too, as our engine does with meshes.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hrp_model import Body, Diagnostics, JointType, Link
from hrp_model.diagnostics import ModelError
from hrp_model.frames import BodyFrames
from hrp_model.rigid import matrix_quaternion
from hrp_model.shapes.measure import bounding_box
from hrp_model.shapes.tessellate import shape_mesh
from hrp_model.urdf import convert
from hrp_model.urdf.options import UrdfOptions
from hrp_sim.engine.articulation.articulation import Contact
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.engine.state import JointDrive, SimulatedBody
from hrp_sim.world.config import WorldConfig

from .contenders import ScannerRun
from .measure import BenchError
from .scenes import Scene

_ELEMENT_NAME = re.compile(r"Element name '([^']*)'")
_MIN_MOMENT = 1e-3  # relative to the largest
_MAX_OVERLAP = 1e-3  # of links at the start, in [m], as in our engine
_MAX_APART = 2e-3  # of the rays of a scan, such as along outlines
_SERVO_TYPES = {JointType.REVOLUTE, JointType.PRISMATIC}


class TwinError(RuntimeError):
    """MuJoCo cannot simulate the same; the message states the reason."""


class MujocoTwin:
    """The only moving body of a world, in MuJoCo.

    Args:
        world: One body that moves, and a floor.
        simulated: That body in our engine: its drive, constant, is a servo for each joint with
            gains.

    Attributes:
        left_out: Number of collision shapes that MuJoCo refuses.

    Raises:
        TwinError: MuJoCo is not installed, or cannot simulate the same.
    """

    def __init__(self, world: WorldConfig, simulated: SimulatedBody) -> None:
        try:
            import mujoco
        except ImportError:
            raise TwinError("MuJoCo is not installed") from None
        self._mujoco = mujoco
        placement = _only_moving(world)
        _check(placement.body)
        with tempfile.TemporaryDirectory(prefix="mujoco-twin-") as folder:
            spec, frames, self.left_out = _robot(mujoco, placement.body, Path(folder))
            joints = dict(frames.joints)
            _set_options(mujoco, spec, world.physics)
            _place(mujoco, spec, placement, _floor_height(world))
            _set_joints(mujoco, spec, placement, joints, simulated.drive)
            try:
                pairs = _apart(spec, frames.links, placement, world.physics, simulated.overlapping)
                _exclude(spec, pairs)
                self._start(spec, placement, joints)
                _exclude(spec, self._overlapping())
                self._start(spec, placement, joints)
            except ValueError as error:
                raise TwinError(_first_line(error)) from None

    def _start(self, spec: Any, placement: Placement, joints: dict[str, str]) -> None:
        """Compile, and go to the initial posture, in which the servos hold."""
        self.model = spec.compile()
        self.data = self._mujoco.MjData(self.model)
        for link, q in zip(placement.body.moving_links, placement.initial_q, strict=True):
            self.data.qpos[self.model.joint(joints[link.name]).qposadr[0]] = q
        for number in range(self.model.nu):
            joint = self.model.actuator(number).trnid[0]
            self.data.ctrl[number] = self.data.qpos[self.model.joint(joint).qposadr[0]]

    def _overlapping(self) -> set[tuple[str, str]]:
        """Return the pairs of bodies whose hulls overlap at the start, as links may not here."""
        self._mujoco.mj_forward(self.model, self.data)
        pairs = set()
        for contact in self.data.contact:
            ends = [self.model.geom(geom).bodyid[0] for geom in contact.geom]
            if contact.dist < -_MAX_OVERLAP and min(ends) > 0:
                pairs.add(tuple(sorted(self.model.body(end).name for end in ends)))
        return pairs

    def advance(self, steps: int) -> float:
        """Take steps, one a call; return their CPU time, in [s]."""
        step, model, data = self._mujoco.mj_step, self.model, self.data
        start = time.thread_time()
        for _ in range(steps):
            step(model, data)
        return time.thread_time() - start

    @property
    def contacts(self) -> int:
        """Number of contact points in the last step."""
        return int(self.data.ncon)

    @property
    def depth(self) -> float:
        """Depth of the deepest contact of the last step, in [m]."""
        return max(0.0, -float(self.data.contact.dist.min(initial=0.0)))

    def close(self) -> None:
        """Free nothing: MuJoCo's objects are garbage-collected."""


class MujocoScanRun(ScannerRun):
    """The rays of a scanner in MuJoCo, which sees the same meshes at the same places.

    Only ``mj_multiRay`` is timed: neither the directions of the rays nor their errors.

    Raises:
        TwinError: MuJoCo is not installed, or too old.
        BenchError: It measures other distances.
    """

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        try:
            import mujoco
        except ImportError:
            raise TwinError("MuJoCo is not installed") from None
        self._mujoco = mujoco
        bodies = self.simulation.state.bodies
        self._seen = [body for body in bodies.values() if not body.body.is_static]
        self._model = _targets(mujoco, self._seen)
        self._data = mujoco.MjData(self._model)
        mount = bodies[self.sensor.body].motion
        self._origin = mount.p[0] + mount.R[0] @ self.sensor.X_LS.p
        directions = self.sensor._directions_L.reshape(-1, 3) @ mount.R[0].T
        self._directions = directions.ravel()
        self._geoms = np.empty(len(directions), dtype=np.int32)
        self._distances = np.empty(len(directions))
        self._check()

    def _check(self) -> None:
        """Compare with the sensor; MuJoCo's corners are rounded to single precision."""
        try:
            self._scan_after_step()
        except TypeError:
            raise TwinError("this MuJoCo is too old") from None
        rays = np.tile(self._origin, (len(self._distances), 1)), self._directions.reshape(-1, 3)
        reach = self.sensor.max_distance
        ours = self.simulation.engine.cast_rays(*rays, reach, self.sensor.body)
        theirs = np.where(self._distances < 0.0, np.inf, self._distances)
        apart = np.count_nonzero(~np.isclose(ours, theirs, rtol=0.0, atol=1e-5))
        if apart > _MAX_APART * len(ours):
            raise BenchError(f"{apart} of {len(ours)} rays have other distances in MuJoCo")

    def _scan_after_step(self) -> float:
        self.simulation.engine.step()
        for i, body in enumerate(self._seen):
            self._data.mocap_pos[i] = body.motion.p[0]
            self._data.mocap_quat[i] = np.roll(matrix_quaternion(body.motion.R[0]), 1)
        self._mujoco.mj_kinematics(self._model, self._data)
        start = time.thread_time()
        self._mujoco.mj_multiRay(
            self._model,
            self._data,
            self._origin,
            self._directions,
            None,
            True,
            -1,
            self._geoms,
            self._distances,
            None,
            len(self._distances),
            self.sensor.max_distance,
        )
        return time.thread_time() - start


def _targets(mujoco: Any, bodies: Sequence[SimulatedBody]) -> Any:
    """Return a model of bodies that are moved from outside, with their meshes."""
    spec = mujoco.MjSpec()
    for body in bodies:
        part = spec.worldbody.add_body(name=body.name, mocap=True)
        for shape in body.body.links[0].collision:
            mesh = shape_mesh(shape)
            spec.add_mesh(
                name=body.name,
                uservert=mesh.vertices.ravel().tolist(),
                userface=mesh.triangles.ravel().tolist(),
            )
            part.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=body.name)
    return spec.compile()


def _only_moving(world: WorldConfig) -> Placement:
    moving = [e.placement for e in world.bodies if not e.placement.body.is_static]
    if len(moving) != 1:
        raise TwinError(f"the world has {len(moving)} moving bodies, not one")
    return moving[0]


def _check(body: Body) -> None:
    if body.extra_joints:
        raise TwinError("a URDF has no closed loops")
    if any(link.joint.type is JointType.FREE for link in body.links[1:]):
        raise TwinError("MuJoCo's links float at the top level only")
    if any(link.joint.type is JointType.TRACK for link in body.links):
        raise TwinError("MuJoCo has no tracks")


def _floor_height(world: WorldConfig) -> float | None:
    """Return the height of the floor's top, in [m]; None without one."""
    tops = [
        box[1][2]
        for entry in world.bodies
        if entry.placement.body.is_static
        for shape in entry.placement.body.root.collision
        if (box := bounding_box(shape_mesh(shape.moved(entry.placement.X_WL.matrix()))))
    ]
    if len(tops) > 1:
        raise TwinError(f"the floor has {len(tops)} shapes, not one")
    return float(tops[0]) if tops else None


def _robot(mujoco: Any, body: Body, folder: Path) -> tuple[Any, BodyFrames, int]:
    """Return MuJoCo's specification of a body, its names, and the number of shapes left out."""
    silent = Diagnostics.silent()
    options = UrdfOptions(mujoco_meshes="meshes")
    try:
        made = convert(body, folder / "meshes", options=options, diagnostics=silent)
    except (ModelError, ValueError) as error:
        raise TwinError(_first_line(error)) from None
    urdf = folder / "robot.urdf"
    urdf.write_text(made.urdf, encoding="utf-8")
    dropped: set[str] = set()
    while True:
        spec = _read(mujoco, urdf, dropped)
        try:
            spec.compile()
        except ValueError as error:
            found = _ELEMENT_NAME.search(str(error))
            geoms = {g.name for g in spec.geoms if found and found[1] in (g.name, g.meshname)}
            if not geoms:
                raise TwinError(_first_line(error)) from None
            dropped |= geoms
        else:
            if len(spec.bodies) < 2:
                raise TwinError("MuJoCo finds no link in its URDF")
            return spec, made.frames, len(dropped)


def _read(mujoco: Any, urdf: Path, dropped: set[str]) -> Any:
    """Read a URDF without these shapes."""
    try:
        spec = mujoco.MjSpec.from_file(str(urdf))
    except ValueError as error:
        raise TwinError(_first_line(error)) from None
    for body in spec.bodies:
        for number, geom in enumerate(body.geoms):
            geom.name = f"{body.name} #{number}"
        _repair_inertia(body)
    for geom in [g for g in spec.geoms if g.name in dropped]:
        spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in [m for m in spec.meshes if m.name not in used]:
        spec.delete(mesh)
    return spec


def _repair_inertia(body: Any) -> None:
    """Replace principal moments that are not positive, as our physics does."""
    xx, yy, zz, xy, xz, yz = full = np.array(body.fullinertia)
    if not np.isfinite(full).all():
        return
    moments, axes = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    lowest = _MIN_MOMENT * moments.max()
    if moments.min() < lowest:
        repaired = axes @ np.diag(np.maximum(moments, lowest)) @ axes.T
        body.fullinertia = repaired[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def _set_options(mujoco: Any, spec: Any, physics: PhysicsSettings) -> None:
    spec.option.timestep = physics.time_step
    spec.option.gravity = physics.gravity
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST  # stable for any gain


def _place(mujoco: Any, spec: Any, placement: Placement, floor: float | None) -> None:
    root = spec.bodies[1]
    root.pos = placement.X_WL.p
    root.quat = np.roll(matrix_quaternion(placement.X_WL.R), 1)  # (w, x, y, z)
    if not placement.fixed:
        root.add_freejoint()
    if floor is not None:
        plane = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [0.0, 0.0, 1.0]}
        spec.worldbody.add_geom(name="the floor", pos=[0.0, 0.0, floor], **plane)


def _apart(
    spec: Any,
    links: Mapping[str, str],
    placement: Placement,
    physics: PhysicsSettings,
    overlapping: Sequence[tuple[int, int]],
) -> set[tuple[str, str]]:
    """Return the pairs of bodies that do not collide here; set the friction of all shapes.

    MuJoCo merges links that are fixed to each other. A pair of such bodies is apart if any pair
    of their links is, which leaves MuJoCo less to do.
    """
    for geom in spec.geoms:
        geom.friction = [physics.friction, 0.0, 0.0]
    model = spec.compile()
    owner = {
        name.rpartition(" #")[0]: model.body(model.geom(number).bodyid[0]).name
        for number in range(model.ngeom)
        if (name := model.geom(number).name)
    }
    apart = flatten(placement, physics).contacts == Contact.NEVER
    apart[tuple(np.array(overlapping, dtype=int).reshape(-1, 2).T)] = True
    bodies = [owner.get(links[link.name]) for link in placement.body.links]
    return {
        (min(a, b), max(a, b))
        for i, j in np.argwhere(apart | (not physics.self_collision))
        if (a := bodies[i]) and (b := bodies[j]) and a != b
    }


def _exclude(spec: Any, pairs: set[tuple[str, str]]) -> None:
    for a, b in sorted(pairs):
        spec.add_exclude(name=f"{a} and {b}", bodyname1=a, bodyname2=b)


def _set_joints(
    mujoco: Any, spec: Any, placement: Placement, joints: dict[str, str], drive: JointDrive
) -> None:
    """Set what a URDF lacks: rotors and servos."""
    for i, link in enumerate(placement.body.moving_links):
        name = joints.get(link.name, "")
        joint = spec.joint(name)
        if joint is None:
            raise TwinError(f"MuJoCo has no joint of link '{link.name}'")
        joint.armature = link.joint.equivalent_rotor_inertia
        if link.joint.type in _SERVO_TYPES and drive.kp[i] > 0.0:
            _add_servo(mujoco, spec, link, name, (drive.kp[i], drive.kd[i]))


def _add_servo(mujoco: Any, spec: Any, link: Link, joint: str, gains: tuple[float, float]) -> None:
    servo = spec.add_actuator(
        name=f"servo of {joint}", target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT
    )
    servo.set_to_position(kp=float(gains[0]), kv=float(gains[1]))
    lower, upper = link.joint.effort_limits
    if np.isfinite(lower) and np.isfinite(upper) and lower < upper:
        servo.forcelimited, servo.forcerange = True, [lower, upper]


def _first_line(error: Exception) -> str:
    return str(error).removeprefix("Error: ").partition("\n")[0]
