"""Scenes to compare in: made here, or from the models of this repository, or from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from math import ceil, pi, sqrt
from pathlib import Path

import numpy as np

from hrp_model import Body, JointType, Link
from hrp_model.body import Joint
from hrp_model.devices import Camera, Device, ImageType, RangeSensor
from hrp_model.files.resources import share_folder
from hrp_model.geometry import Box, Capsule, Geometry, Mesh, Shape
from hrp_model.rigid import Array, Pose
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.control import HOLD, LIMP
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.world.config import BodyEntry, WorldConfig
from hrp_sim.world.load import load_world
from hrp_sim.world.reporting import printed_warnings

PILE = 50  # boxes
RESTING = 1000
SCANNED = 30  # moving meshes around the scanner
RAYS = 721
LAYERS = 15
LAYER_STEP = 0.01  # [rad]

Devices = tuple[Device, ...]


class Subject(Enum):
    """What is measured in a scene."""

    STEPS = "steps"
    SCANS = "scans"
    PICTURES = "pictures"
    FILMING = "steps while images are rendered"
    SAMPLES = "samples of small sensors"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A world to measure.

    Attributes:
        name: As given to ``--scene``.
        description: Its content and its motion, in a few words.
        world: Its bodies; cameras and range sensors are left out, unless they are measured.
        track_speed: Speed of every track, in [m/s].
        sensors: Whether to measure steps with sensors, too.
        subject: What is measured.
        settling: Simulated time before the measurement, in [s], after which all sleep; 0 where
            nothing does.
    """

    name: str
    description: str
    world: WorldConfig
    track_speed: float = 0.0
    sensors: bool = False
    subject: Subject = Subject.STEPS
    settling: float = 0.0


def make_scene(name: str) -> Scene:
    """Return one of ``SCENE_NAMES``."""
    return _MAKERS[name]()


def scene_of_file(path: Path, *, holding: bool = False) -> Scene:
    """Return a model on a floor, or a world, with limp joints or with servos that hold.

    Raises:
        ModelError: It cannot be read.
    """
    with printed_warnings(str(path)) as diagnostics:
        world = _without_pictures(load_world(path, diagnostics))
    control = HOLD if holding else LIMP
    return Scene(
        name=f"{path.name} holding" if holding else path.name,
        description="its servos hold" if holding else "limp",
        world=replace(world, bodies=tuple(replace(x, control=control) for x in world.bodies)),
        sensors=True,
    )


def _humanoid() -> Scene:
    return Scene(
        name="humanoid",
        description="a humanoid stands, its servos hold",
        world=_own_model("humanoid", "humanoid.body"),
        sensors=True,
    )


def _arm() -> Scene:
    world = _own_model("arm", "arm.body")
    arm = next(e for e in world.bodies if not e.placement.body.is_static)
    q = np.array(arm.placement.initial_q)
    q[1:3] = 0.5, 0.9
    falling = replace(arm, placement=replace(arm.placement, q=q), control=LIMP)
    physics = replace(world.physics, self_collision=False)
    return Scene(
        name="arm",
        description="an arm of seven links falls limp and touches nothing",
        world=WorldConfig(physics=physics, bodies=(falling,)),
        sensors=True,
    )


def _heaps(count: int, columns: int, apart: float) -> list[Placement]:
    """Return askew boxes in heaps: three in a row, and two on top."""
    rng = np.random.default_rng(5)
    edge = 0.2
    boxes = []
    for i in range(count):
        heap, place = divmod(i, 5)
        center = apart * np.array([heap % columns, heap // columns, 0.0])
        x, layer = ((-1, 0), (0, 0), (1, 0), (-0.5, 1), (0.5, 1))[place]
        at = np.array([1.1 * edge * x, rng.uniform(-0.05, 0.05), edge * (0.5 + layer)])
        body = _lone(f"box{i}", Box(np.full(3, edge)), 2.0, 2.0 * edge**2 / 6.0)
        X_WL = Pose(_turn(rng.uniform(-0.1, 0.1)), center + at)
        boxes.append(Placement(name=body.name, body=body, X_WL=X_WL))
    return boxes


def _pile() -> Scene:
    return Scene(
        name="pile",
        description=f"{PILE} boxes lie in heaps of five",
        world=_limp(PhysicsSettings(cfm=1e-7), _floor(), *_heaps(PILE, 4, 2.0)),
    )


def _resting() -> Scene:
    """Return boxes that sleep, each by itself."""
    edge, side = 0.2, ceil(sqrt(RESTING))
    boxes = []
    for i in range(RESTING):
        at = np.array([0.5 * (i % side), 0.5 * (i // side), edge / 2.0])
        body = _lone(f"box{i}", Box(np.full(3, edge)), 2.0, 2.0 * edge**2 / 6.0)
        boxes.append(Placement(name=body.name, body=body, X_WL=Pose(np.eye(3), at)))
    return _asleep("resting", "apart from each other", boxes)


def _resting_heaps() -> Scene:
    return _asleep("resting-heaps", "in heaps of five", _heaps(RESTING, 14, 1.2))


def _asleep(name: str, how: str, boxes: list[Placement]) -> Scene:
    return Scene(
        name=name,
        description=f"{RESTING} boxes sleep {how}",
        world=_limp(PhysicsSettings(sleeping=True), _floor(40.0), *boxes),
        settling=2.0,
    )


def _mesh_feet() -> Scene:
    """Return the humanoid with soles of many triangles."""
    world = _own_model("humanoid", "humanoid.body")
    entries = [_with_mesh_feet(entry) for entry in world.bodies]
    physics = replace(world.physics, convex_meshes=False)  # as boxes they would be no meshes
    return Scene(
        name="mesh-feet",
        description="a humanoid stands on feet of 768 triangles each, its servos hold",
        world=replace(world, physics=physics, bodies=tuple(entries)),
        sensors=True,
    )


def _tracks() -> Scene:
    world = _own_model("rover", "rover.body")
    return Scene(
        name="tracks",
        description="a rover drives straight on two tracks, its mast holds",
        world=replace(world, physics=replace(world.physics, cfm=1e-7)),
        track_speed=0.5,
        sensors=True,
    )


def _scanner() -> Scene:
    return _scanned("scan", 1)


def _layers() -> Scene:
    return _scanned("layers", LAYERS)


def _scanned(name: str, layers: int) -> Scene:
    """Return meshes that drift around a scanner, without gravity and without contacts."""
    rng = np.random.default_rng(6)
    mesh = mesh_of(Capsule(0.15, 0.3))
    triangles = len(mesh.triangles)
    bodies = []
    for i in range(SCANNED):
        angle = 2.0 * pi * i / SCANNED
        at = 3.0 * np.array([np.cos(angle), np.sin(angle), 0.0])
        body = _lone(f"thing{i}", mesh, 1.0, 0.02)
        w = rng.uniform(-1.0, 1.0, 3)
        v = np.array([0.0, 0.0, rng.uniform(-0.02, 0.02)])
        bodies.append(Placement(name=body.name, body=body, X_WL=Pose(np.eye(3), at), v=v, w=w))
    physics = PhysicsSettings(gravity=(0.0, 0.0, 0.0))
    return Scene(
        name=name,
        description=f"{RAYS * layers} rays, {SCANNED} moving meshes of {triangles} triangles",
        world=_limp(physics, _mount(layers), *bodies),
        subject=Subject.SCANS,
    )


def _camera() -> Scene:
    return Scene(
        name="camera",
        description="640 x 480 pixels, colours and depths, of a humanoid's room",
        world=_room(ImageType.COLOR_DEPTH),
        subject=Subject.PICTURES,
    )


def _filming() -> Scene:
    return Scene(
        name="filming",
        description="a humanoid stands, its camera takes 30 images of 640 x 480 pixels a second",
        world=_room(ImageType.COLOR),
        subject=Subject.FILMING,
    )


def _samples() -> Scene:
    return Scene(
        name="samples",
        description="an IMU and a force sensor of a humanoid, one sample of each",
        world=_own_model("humanoid", "humanoid.body"),
        subject=Subject.SAMPLES,
    )


_MAKERS: Mapping[str, Callable[[], Scene]] = {
    "humanoid": _humanoid,
    "arm": _arm,
    "pile": _pile,
    "resting": _resting,
    "resting-heaps": _resting_heaps,
    "mesh-feet": _mesh_feet,
    "tracks": _tracks,
    "scan": _scanner,
    "layers": _layers,
    "camera": _camera,
    "filming": _filming,
    "samples": _samples,
}
SCENE_NAMES = tuple(_MAKERS)


def _own_model(folder: str, model: str) -> WorldConfig:
    return _without_pictures(load_world(share_folder() / "models" / folder / model))


def _without_pictures(world: WorldConfig) -> WorldConfig:
    """Leave out cameras and range sensors: they have scenes of their own."""
    return _with_devices(world, lambda devices: _without(devices, Camera, RangeSensor))


def _without(devices: Devices, *kinds: type[Device]) -> Devices:
    return tuple(device for device in devices if not isinstance(device, kinds))


def _with_devices(world: WorldConfig, change: Callable[[Devices], Devices]) -> WorldConfig:
    entries = []
    for entry in world.bodies:
        body = entry.placement.body
        changed = replace(body, devices=change(body.devices))
        entries.append(replace(entry, placement=replace(entry.placement, body=changed)))
    return replace(world, bodies=tuple(entries))


def _room(image_type: ImageType) -> WorldConfig:
    """Return a humanoid in a room, with a camera of this type and 640 x 480 pixels."""
    world = load_world(share_folder() / "models" / "worlds" / "humanoid_in_room.yaml")

    def film(device: Device) -> Device:
        if not isinstance(device, Camera):
            return device
        return replace(device, width=640, height=480, image_type=image_type)

    filmed = _with_devices(world, lambda devices: tuple(map(film, devices)))
    return _with_devices(filmed, lambda devices: _without(devices, RangeSensor))


def _limp(physics: PhysicsSettings, *placements: Placement) -> WorldConfig:
    entries = tuple(BodyEntry(placement=p, control=LIMP) for p in placements)
    return WorldConfig(physics=physics, bodies=entries)


def _lone(name: str, geometry: Geometry, mass: float, inertia: float) -> Body:
    link = Link(
        name=name,
        parent=None,
        joint=Joint(type=JointType.FREE, name=name),
        mass=mass,
        inertia=np.eye(3) * inertia,
        collision=(Shape(geometry),),
    )
    return Body(name=name, links=(link,))


def _static(name: str, shape: Shape, *devices: Device) -> Body:
    joint = Joint(type=JointType.FIXED, name=name)
    link = Link(name=name, parent=None, joint=joint, collision=(shape,))
    return Body(name=name, links=(link,), devices=devices)


def _floor(edge: float = 20.0) -> Placement:
    at = Pose(np.eye(3), np.array([0.0, 0.0, -0.5])).matrix()
    body = _static("floor", Shape(Box(np.array([edge, edge, 1.0])), at))
    return Placement(name="floor", body=body, fixed=True)


def _mount(layers: int) -> Placement:
    # The scanner looks along -Z with +Y up: rotated so that it scans a horizontal plane.
    R = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    scanner = RangeSensor(
        name="scanner",
        link="mount",
        X_LS=Pose(R, np.zeros(3)),
        yaw_range=2.0 * pi,
        yaw_step=2.0 * pi / RAYS,
        pitch_range=(layers - 1) * LAYER_STEP,
        pitch_step=LAYER_STEP,
        min_distance=0.05,
        max_distance=10.0,
        scan_rate=10.0,
    )
    shape = Shape(Box(np.full(3, 0.1)))
    return Placement(name="mount", body=_static("mount", shape, scanner), fixed=True)


def _turn(yaw: float) -> Array:
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _with_mesh_feet(entry: BodyEntry) -> BodyEntry:
    body = entry.placement.body
    links = tuple(
        replace(link, collision=tuple(_fine(s) for s in link.collision))
        if link.name.endswith("_SOLE")
        else link
        for link in body.links
    )
    return replace(entry, placement=replace(entry.placement, body=replace(body, links=links)))


def _fine(shape: Shape) -> Shape:
    """Return a box as a mesh, every triangle subdivided into 64."""
    if not isinstance(shape.geometry, Box):
        return shape
    coarse = mesh_of(shape.geometry)
    corners = coarse.vertices[coarse.triangles]
    for _ in range(3):
        a, b, c = (corners[:, i] for i in range(3))
        ab, bc, ca = (a + b) / 2.0, (b + c) / 2.0, (c + a) / 2.0
        parts = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        corners = np.concatenate([np.stack(part, axis=1) for part in parts])
    vertices, indices = np.unique(corners.reshape(-1, 3).round(12), axis=0, return_inverse=True)
    triangles = indices.reshape(-1, 3).astype(np.int32)
    return replace(shape, geometry=Mesh(vertices=vertices, triangles=triangles))
