"""Accuracy of the sensors: readings beside closed forms, exact distances and pinocchio."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from ray_oracle import distances
from sim.render.scenes import OPTICAL, camera_matrix, glowing, pixel_rays
from sim.sensors.handmade import random_pose
from sim.sensors.hung_mass import HOLDERS, wrench_errors
from sim.sensors.pendulum import ObliquePendulum
from sim.sensors.robot_in_room import MESHES, THINGS, WALLS, engine_with, rays_in_room, solids_of
from sim.sensors.robot_in_room import sensor as scanner

from hrp_model import Body, Joint, JointType, Link, Pose
from hrp_model.geometry import Shape
from hrp_sim.engine.state import LinkPoses
from hrp_sim.render import Pinhole, Renderer
from hrp_sim.sensors import RangeSensor, RangeSensor3D, ScanReading

STEPS = 1e-3, 5e-4, 2.5e-4
PENDULUM = ObliquePendulum(0)
LENS = Pinhole(320, 240, 1.2, 0.04, 100.0)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the relative error of a vector."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def swinging() -> Iterator[tuple[str, Callable[[float], float]]]:
    """Yield the names of measurements of moving bodies, with their errors for a step in [s]."""
    name = "{} off-centre on an oblique pendulum, from theory"
    for measured, truth in (
        ("linear_acceleration", "specific_force"),
        ("angular_velocity", "turning"),
    ):

        def error(h: float, measured: str = measured, truth: str = truth) -> float:
            return relative(getattr(PENDULUM.swing(h)[0], measured), getattr(PENDULUM, truth))

        yield name.format(measured.replace("_", " ")), error
    for when, i in (("at its stamp", 0), ("over the step before it", 1)):
        for holder in HOLDERS:
            name = f"wrench of a mass that swings on a {holder}, {when}, from pinocchio's"
            yield name, lambda h, holder=holder, i=i: wrench_errors(holder, h, swings=True)[i]


def scanned(kind: type[RangeSensor] | type[RangeSensor3D], **layers: float) -> float:
    """Return the worst relative error of a scan from a moving robot, mounted askew."""
    things, X_LS = THINGS | MESHES, random_pose(np.random.default_rng(1))
    engine = engine_with(things)
    engine.step(300)
    scan = scanner(engine, kind, X_LS=X_LS, **layers).read(engine.state)
    if isinstance(scan, ScanReading):
        a = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
        rays = np.stack([np.cos(a), np.sin(a), 0.0 * a], axis=1)
    else:
        rays = scan.directions
    expected = distances(solids_of(engine, things), *rays_in_room(engine, 1, X_LS, rays))
    return float(np.abs(scan.ranges.ravel() / expected - 1.0).max())


def photographed() -> tuple[int, float]:
    """Return the share of wrong pixels and the largest relative error of depths, in the same room.

    Pixels at the edges of bodies are left out.
    """
    solids = [*WALLS, *THINGS.values()]
    colors = np.random.default_rng(3).integers(0, 256, (len(solids), 3))
    shapes = tuple(
        Shape(geometry, X.matrix(), glowing(color))
        for (geometry, X), color in zip(solids, colors, strict=True)
    )
    link = Link(
        name="ROOM", parent=None, joint=Joint(type=JointType.FIXED, name="R"), visual=shapes
    )
    X_WC = Pose(random_pose(np.random.default_rng(4)).R, np.array([0.1, -0.2, 0.4]))
    still = {"room": LinkPoses(np.zeros((1, 3)), np.eye(3)[np.newaxis])}
    picture = Renderer({"room": Body(name="room", links=(link,))}).render(LENS, X_WC, still)
    rays = pixel_rays((LENS.width, LENS.height), camera_matrix(LENS)).reshape(-1, 3)
    lengths = np.linalg.norm(rays, axis=1)
    to_W = rays / lengths[:, np.newaxis] @ (X_WC @ OPTICAL).R.T
    origins = np.broadcast_to(X_WC.p, to_W.shape)
    each = np.array([distances([solid], origins, to_W) for solid in solids])
    depth = (each.min(axis=0) / lengths).reshape(picture.depth.shape)
    which = each.argmin(axis=0).reshape(depth.shape)
    around = [np.roll(which, shift, axis) for shift in (-1, 1) for axis in (0, 1)]
    sure = np.logical_and.reduce([other == which for other in around])
    wrong = (picture.color != colors[which]).any(axis=-1) & sure
    error = np.abs(picture.depth / depth - 1.0)[sure]
    return int(wrong.sum()), float(error.max())


def still_rows() -> list[list[str]]:
    """Return the rows that do not depend on the time step."""
    wrong, depth = photographed()
    layers = {"pitch_range": 0.9, "pitch_step": 0.15, "yaw_step": 0.1}
    weighed = [max(wrench_errors(holder, 1e-3, swings=False)) for holder in HOLDERS]
    found = {
        "wrench of a mass held still on each kind of joint, from pinocchio's": max(weighed),
        "scan, mounted askew on a moving robot, from exact distances": scanned(RangeSensor),
        "points in space, likewise": scanned(RangeSensor3D, **layers),
        "depths of an image of the same room": depth,
    }
    rows = [[what, f"{error:.0e}"] for what, error in found.items()]
    return [*rows, ["pixels whose unlit colour is not exact, of 76800", str(wrong)]]


def moving_row(what: str, error: Callable[[float], float], steps: Sequence[float]) -> list[str]:
    """Return a row that depends on the time step."""
    return [what, *(f"{error(step):.1e}" for step in steps)]
