"""A robot on a floor in MuJoCo, from the URDF that this package exports.

Time step, gravity, floor, friction, masses, rotors, joint friction, limits and servos are those of
our world. Links that are fixed to each other are one body, and links that do not collide here do
not collide there. MuJoCo collides convex hulls of meshes: pairs of links whose hulls overlap at the
start cannot collide there, so a comparison leaves them out here, too (``without_pairs``).
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from hrp_model import Body, Diagnostics, JointType, Link
from hrp_model.diagnostics import ModelError
from hrp_model.frames import BodyFrames
from hrp_model.geometry import Box
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

from .contenders import BenchError, ScannerRun
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
        apart: Pairs of links that never collide there, but may here.

    Raises:
        TwinError: MuJoCo is not installed, or cannot simulate the same.
    """

    def __init__(self, world: WorldConfig, simulated: SimulatedBody) -> None:
        mujoco = self._mujoco = library("mujoco", "MuJoCo")
        placement = only_moving(world)
        with tempfile.TemporaryDirectory(prefix="mujoco-twin-") as folder:
            floor = floor_height(world)
            spec, frames, self.left_out = _robot(mujoco, placement, floor, Path(folder))
            joints = dict(frames.joints)
            _set_options(mujoco, spec, world.physics)
            _set_joints(mujoco, spec, placement, joints, simulated.drive)
            try:
                links = _links_of_bodies(spec, frames.links, placement.body)
                apart = pairs_apart(placement, world.physics, simulated.overlapping)
                bodies = _bodies_apart(apart, links)
                _exclude(spec, bodies)
                _set_friction(spec, world.physics.friction)
                self._start(spec, placement, joints)
                overlapping = self._overlapping()
                _exclude(spec, overlapping)
                self._start(spec, placement, joints)
            except ValueError as error:
                raise TwinError(_first_line(error)) from None
        pairs = (pair for a, b in bodies | overlapping for pair in product(links[a], links[b]))
        self.apart = {frozenset(pair) for pair in pairs if pair not in apart}

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
        """Number of contact points in the last step, without those that do not touch yet."""
        return int(np.count_nonzero(self.data.contact.efc_address >= 0))

    def depth(self) -> float:
        """Return the depth of the deepest contact of the last step, in [m]."""
        return max(0.0, -float(self.data.contact.dist.min(initial=0.0)))

    def close(self) -> None:
        """Free nothing: MuJoCo's objects are garbage-collected."""


class MujocoBoxes(MujocoTwin):
    """Boxes on a floor that sleep in MuJoCo.

    Raises:
        TwinError: MuJoCo is not installed, or is too old.
        BenchError: Not all of them sleep.
    """

    def __init__(self, scene: Scene) -> None:
        mujoco = library("mujoco", "MuJoCo")
        if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
            raise TwinError("this MuJoCo is too old")
        self._mujoco = mujoco
        spec, physics = mujoco.MjSpec(), scene.world.physics
        spec.option.timestep, spec.option.gravity = physics.time_step, physics.gravity
        spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
        friction = {"friction": [physics.friction, 0.0, 0.0]}
        plane = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [0.0, 0.0, 1.0]}
        spec.worldbody.add_geom(pos=[0.0, 0.0, floor_height(scene.world)], **plane, **friction)
        for entry in scene.world.bodies:
            link, X_WL = entry.placement.body.root, entry.placement.X_WL
            if entry.placement.body.is_static:
                continue
            body = spec.worldbody.add_body(
                pos=X_WL.p,
                quat=np.roll(matrix_quaternion(X_WL.R), 1),  # (w, x, y, z)
                mass=link.mass,
                inertia=np.diag(link.inertia),
                ipos=np.zeros(3),
                explicitinertial=True,
            )
            body.add_freejoint()
            geometry = link.collision[0].geometry
            assert isinstance(geometry, Box)
            half = geometry.size / 2.0
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=half, **friction)
        self.model, self.apart = spec.compile(), set()
        self.data = mujoco.MjData(self.model)
        self.advance(round(scene.settling / physics.time_step))
        if self.data.ntree_awake:
            raise BenchError(f"{self.data.ntree_awake} boxes do not sleep in MuJoCo")


class MujocoScanRun(ScannerRun):
    """The rays of a scanner in MuJoCo, which sees the same meshes at the same places.

    Only ``mj_multiRay`` is timed: neither the directions of the rays nor their errors.

    Raises:
        TwinError: MuJoCo is not installed, or too old.
        BenchError: It measures other distances.
    """

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        mujoco = self._mujoco = library("mujoco", "MuJoCo")
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


def library(module: str, name: str) -> Any:
    """Import another program.

    Raises:
        TwinError: It is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise TwinError(f"{name} is not installed") from None


def only_moving(world: WorldConfig) -> Placement:
    """Return the only body of a world that moves.

    Raises:
        TwinError: There are several, or none, or other programs cannot simulate it.
    """
    moving = [e.placement for e in world.bodies if not e.placement.body.is_static]
    if len(moving) != 1:
        raise TwinError(f"the world has {len(moving)} moving bodies, not one")
    body = moving[0].body
    if body.extra_joints:
        raise TwinError("a URDF has no closed loops")
    if any(link.joint.type is JointType.FREE for link in body.links[1:]):
        raise TwinError("links float at the top level only there")
    if any(link.joint.type is JointType.TRACK for link in body.links):
        raise TwinError("it has no tracks")
    return moving[0]


def floor_height(world: WorldConfig) -> float | None:
    """Return the height of the floor's top, in [m]; None without one.

    Raises:
        TwinError: It has several shapes.
    """
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


def _robot(
    mujoco: Any, placement: Placement, floor: float | None, folder: Path
) -> tuple[Any, BodyFrames, int]:
    """Return MuJoCo's specification of a world, its names, and the number of shapes left out."""
    urdf, frames = export(placement.body, folder)
    dropped: set[str] = set()
    while True:
        spec = _read(mujoco, urdf, dropped)
        if len(spec.bodies) < 2:
            raise TwinError("MuJoCo finds no link in its URDF")
        _place(mujoco, spec, placement, floor)
        try:
            spec.compile()
        except ValueError as error:
            found = _ELEMENT_NAME.search(str(error))
            geoms = {g.name for g in spec.geoms if found and found[1] in (g.name, g.meshname)}
            if not geoms:
                raise TwinError(_first_line(error)) from None
            dropped |= geoms
        else:
            return spec, frames, len(dropped)


def export(body: Body, folder: Path) -> tuple[Path, BodyFrames]:
    """Write the URDF of a body into a folder; return its path and its names.

    Raises:
        TwinError: It cannot be exported.
    """
    silent = Diagnostics.silent()
    options = UrdfOptions(mujoco_meshes="meshes")
    try:
        made = convert(body, folder / "meshes", options=options, diagnostics=silent)
    except (ModelError, ValueError) as error:
        raise TwinError(_first_line(error)) from None
    urdf = folder / "robot.urdf"
    urdf.write_text(made.urdf, encoding="utf-8")
    return urdf, made.frames


def plain(body: Body) -> Body:
    """Return a body without devices and visual shapes, whose files not all programs read."""
    return replace(body, devices=(), links=tuple(replace(x, visual=()) for x in body.links))


def _read(mujoco: Any, urdf: Path, dropped: set[str]) -> Any:
    """Read a URDF without these shapes."""
    try:
        spec = mujoco.MjSpec.from_file(str(urdf))
    except ValueError as error:
        raise TwinError(_first_line(error)) from None
    spec.compiler.fusestatic = True  # as our engine does; the export keeps the names of all links
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
    if placement.fixed:  # named here, it is not fused with the world, whose pairs are the floor's
        spec.add_exclude(name="the root", bodyname1="world", bodyname2=root.name)
    else:
        root.add_freejoint()
    if floor is not None:
        plane = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [0.0, 0.0, 1.0]}
        spec.worldbody.add_geom(name="the floor", pos=[0.0, 0.0, floor], **plane)


def pairs_apart(
    placement: Placement, physics: PhysicsSettings, overlapping: Sequence[tuple[int, int]]
) -> set[tuple[str, str]]:
    """Return the pairs of links that never collide in our engine.

    Args:
        placement: The body.
        physics: Settings of the world.
        overlapping: ``SimulatedBody.overlapping``.
    """
    names = [link.name for link in placement.body.links]
    apart = flatten(placement, physics).contacts == Contact.NEVER
    apart[tuple(np.array(overlapping, dtype=int).reshape(-1, 2).T)] = True
    pairs = np.argwhere(apart | (not physics.self_collision))
    return {(names[i], names[j]) for i, j in pairs if i != j}


def without_pairs(world: WorldConfig, pairs: Iterable[frozenset[str]]) -> WorldConfig:
    """Return a world in which these links of its moving body never collide."""
    moving = only_moving(world)
    disabled = moving.body.self_collision_disabled.union(pairs)
    body = replace(moving.body, self_collision_disabled=disabled)
    placed = replace(moving, body=body)
    entries = (replace(e, placement=placed) if e.placement is moving else e for e in world.bodies)
    return replace(world, bodies=tuple(entries))


def _links_of_bodies(spec: Any, links: Mapping[str, str], body: Body) -> dict[str, list[str]]:
    """Return the links with shapes in each body of MuJoCo, which merges those that are fixed."""
    model = spec.compile()
    found: dict[str, dict[str, None]] = {}
    of_frames = {links[link.name]: link.name for link in body.links}
    for number in range(model.ngeom):
        link = of_frames.get(model.geom(number).name.rpartition(" #")[0])
        if link is not None:
            owner = model.body(model.geom(number).bodyid[0]).name
            found.setdefault(owner, {})[link] = None
    return {owner: list(names) for owner, names in found.items()}


def _bodies_apart(
    apart: set[tuple[str, str]], links: Mapping[str, Sequence[str]]
) -> set[tuple[str, str]]:
    """Return the pairs of MuJoCo's bodies of which any pair of links is apart."""
    return {
        (a, b)
        for a, b in combinations(sorted(links), 2)
        if any(pair in apart for pair in product(links[a], links[b]))
    }


def _set_friction(spec: Any, friction: float) -> None:
    for geom in spec.geoms:
        geom.friction = [friction, 0.0, 0.0]


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
