"""A URDF as read by yourdfpy and trimesh."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
import yourdfpy

from ..inertia import MassProperties
from ..rigid import Array, Pose
from .library import (
    DYNAMICS,
    LibraryError,
    LibraryJoint,
    LibraryMimic,
    LibraryRobot,
    LibraryShape,
    Shapes,
)

_NO_DYNAMICS = "yourdfpy has no dynamics"


class YourdfpyRobot(LibraryRobot):
    """See ``library.LibraryRobot``.

    Args:
        urdf: The file.
        resolve: Returns the path of a mesh's URI; yourdfpy itself does not decode ``%20``.
        meshes: Whether to load meshes.

    Raises:
        LibraryError: yourdfpy refuses the file.
    """

    library = "yourdfpy"

    def __init__(self, urdf: Path, *, resolve: Callable[[str], Path], meshes: bool) -> None:
        super().__init__()
        self._resolve = resolve
        problems = _CollectingHandler()
        logger = logging.getLogger("yourdfpy")
        logger.addHandler(problems)
        try:
            self._urdf = yourdfpy.URDF.load(
                str(urdf),
                build_collision_scene_graph=meshes,
                load_meshes=meshes,
                load_collision_meshes=meshes,
                force_collision_mesh=False,
                filename_handler=lambda fname: str(resolve(fname)),
            )
        except Exception as error:  # of any kind, as yourdfpy checks little itself
            raise LibraryError(f"{type(error).__name__}: {error}") from None
        finally:
            logger.removeHandler(problems)
        if problems.messages or not self._urdf.validate():
            raise LibraryError("; ".join([*problems.messages, *map(str, self._urdf.errors)]))
        self.unknown = dict.fromkeys(DYNAMICS, _NO_DYNAMICS)
        self.parts = {link.name: [link.name] for link in self._urdf.robot.links}

    def joints(self) -> Sequence[LibraryJoint]:
        """Return all joints."""
        return [_joint(joint) for joint in self._urdf.robot.joints]

    def mimics(self) -> Mapping[str, LibraryMimic]:
        """Return the mimic joints by name."""
        followers = [joint for joint in self._urdf.robot.joints if joint.mimic is not None]
        return {
            joint.name: LibraryMimic(joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset)
            for joint in followers
        }

    def poses(self, q: Mapping[str, float], X_WU: Array) -> Mapping[str, Array]:
        """Return the poses of all links in the world; yourdfpy sets mimic joints itself."""
        free = {joint.name for joint in self._urdf.robot.joints if joint.mimic is None}
        self._urdf.update_cfg({name: value for name, value in q.items() if name in free})
        names = [link.name for link in self._urdf.robot.links]
        return {name: X_WU @ self._urdf.get_transform(name) for name in names}

    def inertials(self) -> Mapping[str, MassProperties]:
        """Return the mass properties of links that have any."""
        inertials = {}
        for link in self._urdf.robot.links:
            if link.inertial is not None:
                origin = link.inertial.origin
                X = np.eye(4) if origin is None else origin
                inertia = np.array(link.inertial.inertia)
                part = MassProperties(link.inertial.mass, np.zeros(3), inertia)
                inertials[link.name] = part.expressed_in(Pose(X[:3, :3], X[:3, 3]))
        return inertials

    def center_of_mass(self, q: Mapping[str, float], X_WU: Array) -> tuple[float, Array]:
        """Return the total mass and its centre in the world."""
        poses = self.poses(q, X_WU)
        mass, moment = 0.0, np.zeros(3)
        for name, part in self.inertials().items():
            mass += part.mass
            moment += part.mass * (poses[name] @ [*part.center_of_mass, 1.0])[:3]
        return mass, moment / mass if mass else np.full(3, np.nan)

    def shapes(self) -> Shapes:
        """Return the shapes of all links."""
        robot = self._urdf.robot
        materials = {material.name: material for material in robot.materials}
        visual = _scene_shapes(self._urdf.scene)
        for link in robot.links:
            shapes = visual.get(link.name, [])
            if len(shapes) > len(link.visuals):
                shapes = self._whole_files(shapes, link.visuals)
            if shapes and len(shapes) == len(link.visuals):
                colors = [_color(visual, materials) for visual in link.visuals]
                pairs = zip(shapes, colors, strict=True)
                visual[link.name] = [replace(shape, color=color) for shape, color in pairs]
        return Shapes(visual, _scene_shapes(self._urdf.collision_scene))

    def _whole_files(
        self, parts: Sequence[LibraryShape], visuals: Sequence[Any]
    ) -> list[LibraryShape]:
        """Return one shape for each visual, whose file may have several meshes."""
        rest = list(parts)
        shapes = []
        for visual in visuals:
            count = 1
            if visual.geometry.mesh is not None:
                path = self._resolve(visual.geometry.mesh.filename)
                count = len(trimesh.load_scene(path).graph.nodes_geometry)
            shapes += [reduce(_merged, rest[:count])] if rest[:count] else []
            rest = rest[count:]
        return shapes + rest


class _CollectingHandler(logging.Handler):
    """Collects the warnings of a library."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def _joint(joint: Any) -> LibraryJoint:
    kind = frozenset({str(joint.type)})
    limit, dynamics = joint.limit, joint.dynamics
    friction = damping = 0.0
    if dynamics is not None:
        damping, friction = float(dynamics.damping or 0.0), float(dynamics.friction or 0.0)
    if limit is None:
        return LibraryJoint(joint.name, kind, joint.parent, joint.child)
    return LibraryJoint(
        joint.name,
        kind,
        joint.parent,
        joint.child,
        lower=limit.lower,
        upper=limit.upper,
        velocity=limit.velocity,
        effort=limit.effort,
        damping=damping,
        friction=friction,
    )


def _scene_shapes(scene: Any) -> dict[str, list[LibraryShape]]:
    """Return the shapes of a scene by link, in the order of the file."""
    shapes: dict[str, list[LibraryShape]] = {}
    for node in scene.graph.nodes_geometry:
        link = scene.graph.transforms.parents[node]
        X_LS, name = scene.graph.get(node, link)
        shapes.setdefault(link, []).append(_shape(scene.geometry[name], np.array(X_LS)))
    return shapes


def _merged(first: LibraryShape, second: LibraryShape) -> LibraryShape:
    """Return two meshes of one file as one mesh, at the pose of the first."""
    assert first.vertices is not None
    assert first.triangles is not None
    assert second.vertices is not None
    assert second.triangles is not None
    X = np.linalg.inv(first.X_LS) @ second.X_LS
    vertices = [first.vertices, second.vertices @ X[:3, :3].T + X[:3, 3]]
    triangles = [first.triangles, second.triangles + len(first.vertices)]
    return replace(
        first, vertices=np.vstack(vertices), triangles=np.vstack(triangles), file_color=None
    )


def _shape(geometry: Any, X_LS: Array) -> LibraryShape:
    if isinstance(geometry, trimesh.primitives.Primitive):
        X_LS = X_LS @ geometry.primitive.transform
        if isinstance(geometry, trimesh.primitives.Box):
            return LibraryShape("box", X_LS, tuple(geometry.primitive.extents))
        if isinstance(geometry, trimesh.primitives.Sphere):
            return LibraryShape("sphere", X_LS, (geometry.primitive.radius,))
        size = geometry.primitive.radius, geometry.primitive.height
        return LibraryShape("cylinder", X_LS, size)
    vertices, triangles = np.array(geometry.vertices), np.array(geometry.faces)
    return LibraryShape(
        "mesh", X_LS, vertices=vertices, triangles=triangles, file_color=_file_color(geometry)
    )


def _file_color(geometry: Any) -> tuple[float, ...] | None:
    """Return what the material of a glTF mesh emits and reflects; None with a texture."""
    material = getattr(geometry.visual, "material", None)
    if material is None or getattr(material, "baseColorFactor", None) is None:
        return None
    if material.baseColorTexture is not None:
        return None
    base = np.array(material.baseColorFactor) / 255.0
    if material.emissiveFactor is not None:
        base[:3] += material.emissiveFactor
    return tuple(np.minimum(base, 1.0).tolist())


def _color(visual: Any, materials: Mapping[str, Any]) -> tuple[float, ...] | None:
    material = visual.material
    if material is None:
        return None
    if material.color is None:
        material = materials.get(material.name)
    if material is None or material.color is None:
        return None
    return tuple(map(float, material.color.rgba))
