"""Bodies of a world as obstacles for motion planners: collision shapes, poses, subframes.

A planner plans in the frame P of its robot: the root link of a robot that is fixed for it, else
the world. MoveIt does so: the planning frame of a model is its root link, unless a virtual joint
lets the root move, as for a robot that is fixed elsewhere than at the origin of the world.

What stands on something touches it, or sinks in by fractions of a millimetre, so that a planner
would find a robot on a floor in collision, and everything that it lifts from a table. Obstacles
that cannot move are therefore ``GAP`` lower than they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from io import StringIO
from typing import NamedTuple

import numpy as np

from hrp_model import Link, Pose
from hrp_model.geometry import Shape
from hrp_model.late_dataclass import dataclass
from hrp_model.printable import printable
from hrp_model.rigid import Array, matrix_quaternion
from hrp_model.shapes.tessellate import shape_mesh

from ..engine.articulation.articulation import Geom, GeomKind
from ..engine.articulation.collision_shapes import primitive_geom
from ..engine.state import SimulatedBody

GAP = 0.002  # [m]
Color = tuple[float, float, float, float]
# Names of shapes in scene files, which have no capsules.
_NAMES = {
    GeomKind.BOX: "box",
    GeomKind.SPHERE: "sphere",
    GeomKind.CYLINDER: "cylinder",
    GeomKind.MESH: "mesh",
}
_SIZES = {GeomKind.BOX: 3, GeomKind.SPHERE: 1, GeomKind.CYLINDER: 2, GeomKind.MESH: 0}


def link_poses(simulated: SimulatedBody) -> dict[str, Pose]:
    """Return the poses of all links of a body in W, by name."""
    motion = simulated.motion
    pairs = zip(simulated.body.links, motion.R, motion.p, strict=True)
    return {link.name: Pose(R, p) for link, R, p in pairs}


def placed_shapes(simulated: SimulatedBody) -> Iterator[tuple[Link, Pose, Shape]]:
    """Yield all collision shapes of a body, with their links and the poses of these in W."""
    poses = link_poses(simulated)
    for link in simulated.body.links:
        for shape in link.collision:
            yield link, poses[link.name], shape


def planning_pose(robot: SimulatedBody, *, is_fixed: bool) -> Pose:
    """Return the pose X_WP of the frame in which planners plan motions of a robot.

    Args:
        robot: The robot.
        is_fixed: Whether its root cannot move for the planner.
    """
    return Pose(robot.motion.R[0].copy(), robot.motion.p[0].copy()) if is_fixed else Pose()


class Part(NamedTuple):
    """A box, sphere, cylinder along z, or mesh, which is on a link."""

    link: str
    geom: Geom


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A body as an obstacle, whose frame O is its root link.

    Attributes:
        simulated: The body.
        is_still: Whether it cannot move.
    """

    simulated: SimulatedBody
    is_still: bool = False

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Its collision shapes, meshes last, without those of links that collide with nothing."""
        disabled, shapes = self.simulated.body.collision_disabled, placed_shapes(self.simulated)
        found = (
            Part(link.name, geom)
            for link, _, shape in shapes
            if link.name not in disabled
            for geom in _geoms(shape)
        )
        return tuple(sorted(found, key=lambda part: part.geom.kind is GeomKind.MESH))

    @cached_property
    def color(self) -> Color | None:
        """RGB and opacity of its first visible shape; None without one."""
        visual = (shape for link in self.simulated.body.links for shape in link.visual)
        if (shape := next(visual, None)) is None:
            return None
        material = shape.material
        return (*material.diffuse, 1.0 - material.transparency)

    def pose(self) -> Pose:
        """Return the pose X_WO at which planners see it."""
        X_WO = self._root()
        return Pose(X_WO.R, X_WO.p - [0.0, 0.0, GAP]) if self.is_still else X_WO

    def _root(self) -> Pose:
        motion = self.simulated.motion
        return Pose(motion.R[0].copy(), motion.p[0].copy())

    def part_poses(self) -> list[Pose]:
        """Return the poses of its parts in O."""
        X_OW, links = self._root().inverse(), link_poses(self.simulated)
        return [X_OW @ links[name] @ geom.X_LE for name, geom in self.parts]

    def subframes(self) -> dict[str, Pose]:
        """Return the poses of its links in O by name, without blanks and without the root."""
        X_OW, links = self._root().inverse(), list(link_poses(self.simulated).items())[1:]
        return {printable("_".join(name.split())): X_OW @ pose for name, pose in links}


def obstacles(
    bodies: Mapping[str, SimulatedBody], fixed: Collection[str], robot: str
) -> dict[str, Obstacle]:
    """Return all bodies that have collision shapes, by name, but the robot that plans.

    Args:
        bodies: All bodies of the world by name.
        fixed: Names of those whose root is fixed to the world.
        robot: Name of the robot.
    """
    found = {
        name: Obstacle(simulated, name in fixed and not simulated.body.moving_links)
        for name, simulated in bodies.items()
        if name != robot
    }
    return {name: obstacle for name, obstacle in found.items() if obstacle.parts}


def _geoms(shape: Shape) -> Iterator[Geom]:
    """Yield a collision shape as what planners have: a capsule is a cylinder and two spheres."""
    geom = primitive_geom(shape)
    if geom is None:
        mesh = shape_mesh(shape, solid=True)
        if len(mesh.triangles):
            yield Geom(GeomKind.MESH, vertices=mesh.vertices, triangles=mesh.triangles)
    elif geom.kind is GeomKind.CAPSULE:
        radius, height, _ = geom.size
        if height > 0.0:
            yield geom._replace(kind=GeomKind.CYLINDER)
        for z in (-0.5 * height, 0.5 * height):
            X_LE = geom.X_LE @ Pose(p=np.array([0.0, 0.0, z]))
            yield Geom(GeomKind.SPHERE, (radius, 0.0, 0.0), X_LE)
    elif geom.size[0] > 0.0:
        yield geom


def scene_text(name: str, found: Mapping[str, Obstacle], X_WP: Pose) -> str:
    """Return obstacles as a scene file, which MoveIt imports.

    As ``PlanningScene::saveGeometryToStream`` of MoveIt 2.12 writes it: the name of the scene;
    for each object a line with "*" and its name, its pose, the number of its shapes, each with
    its pose and its colour, and the number of its subframes, each with its pose; at the end ".".

    Args:
        name: Of the scene.
        found: The obstacles by name.
        X_WP: Pose of the frame in which the robot's motions are planned.
    """
    out = StringIO()
    out.write(f"{printable(' '.join(name.split()))}\n")
    X_PW = X_WP.inverse()
    for key, obstacle in found.items():
        out.write(f"* {printable(' '.join(key.split()))}\n")
        _write_pose(out, X_PW @ obstacle.pose())
        out.write(f"{len(obstacle.parts)}\n")
        for (_, geom), pose in zip(obstacle.parts, obstacle.part_poses(), strict=True):
            _write_geom(out, geom)
            _write_pose(out, pose)
            _write_numbers(out, obstacle.color or (0.0, 0.0, 0.0, 0.0))
        frames = obstacle.subframes()
        out.write(f"{len(frames)}\n")
        for frame, pose in frames.items():
            out.write(f"{frame}\n")
            _write_pose(out, pose)
    out.write(".\n")
    return out.getvalue()


def _write_geom(out: StringIO, geom: Geom) -> None:
    out.write(f"{_NAMES[geom.kind]}\n")
    if geom.kind is not GeomKind.MESH:
        _write_numbers(out, geom.size[: _SIZES[geom.kind]])
        return
    out.write(f"{len(geom.vertices)} {len(geom.triangles)}\n")
    for rows in (geom.vertices, geom.triangles):
        for row in rows.tolist():
            _write_numbers(out, row)


def _write_pose(out: StringIO, pose: Pose) -> None:
    _write_numbers(out, pose.p.tolist())
    _write_numbers(out, matrix_quaternion(pose.R))


def _write_numbers(out: StringIO, numbers: Sequence[float] | Array) -> None:
    out.write(f"{' '.join(map(repr, numbers))}\n")
