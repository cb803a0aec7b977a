"""Write a scene as the numbers that the plain C program (``test/bench/loop``) reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from hrp_model import Body
from hrp_model.devices import ForceSensor
from hrp_model.rigid import Array
from hrp_sim.articulation.articulation import Articulation, GeomKind
from hrp_sim.articulation.flatten import flatten
from hrp_sim.physics.engine import PhysicsError, PhysicsSettings, Placement, Solver
from hrp_sim.physics.state import JointDrive
from hrp_sim.world.config import WorldConfig

# Default of Choreonoid's ODE plugin.
ORIGINAL_CFM = 1e-10


def write_scene(
    world: WorldConfig,
    drives: Mapping[str, JointDrive],
    path: Path,
    *,
    original: bool = False,
    rays: tuple[Array, Array, float, str] | None = None,
) -> None:
    """Write the initial state of a world and its drives to a file of float64 numbers.

    Args:
        world: The bodies.
        drives: Constant drives of the joints of each body, by name.
        path: The file.
        original: Whether the program works as Choreonoid's ODE plugin does: a hash space for
            each body, no self-collision, every contact kept, no rotors, no joint limits,
            an ODE body for every link.
        rays: Origins and directions in W, shape (n, 3), the maximum range in [m], and the
            name of the body that they ignore.

    Raises:
        PhysicsError: The plain C program does not support something in the world.
    """
    physics = world.physics
    if original:
        physics = replace(physics, cfm=ORIGINAL_CFM, joint_limits=False, self_collision=False)
    names = [entry.placement.name for entry in world.bodies]
    friction, restitution = physics.materials.matrices(physics.friction)
    parts: list[ArrayLike] = [*_settings(physics), original]
    parts += [len(friction), friction, restitution, len(names)]
    for entry in world.bodies:
        placement = _like_original(entry.placement) if original else entry.placement
        flat = flatten(placement, physics)
        sensed = _with_force_sensor(entry.placement.body)
        is_kinematic = entry.placement.fixed and not placement.fixed
        parts += _body(flat, drives[placement.name], sensed, is_kinematic)
    if rays is None:
        parts.append(0)
    else:
        origins, directions, reach, ignored = rays
        parts += [len(origins), names.index(ignored), reach, origins, directions]
    np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts]).tofile(path)


def _settings(s: PhysicsSettings) -> Iterator[ArrayLike]:
    yield from (s.time_step, s.solver is Solver.QUICK, s.gravity, s.erp, s.cfm, s.iterations)
    yield from (s.over_relaxation, s.max_correcting_velocity, s.surface_layer, s.max_contacts)
    yield from (s.joint_limits, s.self_collision, s.seed)


def _like_original(placement: Placement) -> Placement:
    """Return the placement with an ODE body for every link that can have one.

    A force sensor on a link keeps it from being merged with its parent. A fixed root is a body,
    too, which the plain C program makes kinematic.
    """
    body = placement.body
    if body.is_static:
        return placement
    solid = {x.name for x in body.links if x.mass > 0.0 and np.linalg.det(x.inertia) > 0.0}
    rigid = [x.name for x in body.links[1:] if x.joint.is_fixed and x.name in solid]
    added = tuple(ForceSensor(name=f"{name} as a body", link=name) for name in rigid)
    apart = replace(body, devices=(*body.devices, *added))
    is_fixed = placement.fixed and body.root.name not in solid
    return replace(placement, body=apart, fixed=is_fixed)


def _with_force_sensor(body: Body) -> set[int]:
    return {body.link_index(d.link) for d in body.devices if isinstance(d, ForceSensor)}


def _body(
    a: Articulation, drive: JointDrive, sensed: set[int], is_kinematic: bool
) -> Iterator[ArrayLike]:
    if set(a.geoms.kind.tolist()) - {int(kind) for kind in _SHAPES}:
        name = a.placement.name
        raise PhysicsError(f"body '{name}': the plain C program does not support its shapes")
    counts = (a.links.group, a.groups.mass, a.joints.kind, a.loops.kind, a.geoms.kind)
    yield [len(column) for column in counts]
    yield is_kinematic
    yield a.contacts
    on = [i in sensed for i in range(len(a.links.group))]
    x = a.links
    yield _rows(x.group, on, x.R, x.p, x.track_axis, drive.track_speed)
    g = a.groups
    yield _rows(g.mass, g.inertia, g.zero_R, g.zero_p)
    yield _joints(a, drive)
    yield _rows(g.R, g.p, g.v, g.w)
    e = a.loops
    yield _rows(e.kind, e.a, e.b, e.R_a, e.p_a, e.R_b, e.p_b, e.axis)
    yield from _geoms(a)


_SHAPES = (GeomKind.BOX, GeomKind.SPHERE, GeomKind.CYLINDER, GeomKind.CAPSULE, GeomKind.MESH)


def _joints(a: Articulation, drive: JointDrive) -> Array:
    """Return a row for each joint; those without a coordinate are not driven."""
    j = a.joints
    driven = [
        np.where(j.coordinate >= 0, np.append(column, 0.0)[j.coordinate], 0.0)
        for column in (drive.kp, drive.kd, drive.q, drive.dq, drive.effort, a.q)
    ]
    return _rows(
        *(j.kind, j.child, j.parent, j.link, j.coordinate, j.anchor, j.axis, j.lower, j.upper),
        *(j.effort_lower, j.effort_upper, j.rotor_inertia, j.damping, j.friction, *driven),
    )


def _geoms(a: Articulation) -> Iterator[ArrayLike]:
    g = a.geoms
    for k, kind in enumerate(g.kind):
        yield from (kind, g.link[k], g.size[k], g.R[k], g.p[k], g.material[k])
        if kind == GeomKind.MESH:
            vertices = g.vertices[g.first_vertex[k] : g.first_vertex[k + 1]]
            triangles = g.triangles[g.first_triangle[k] : g.first_triangle[k + 1]]
            yield from (len(vertices), len(triangles), vertices, triangles)


def _rows(*columns: ArrayLike) -> Array:
    """Stack arrays of equal length column-wise; one row for each of their elements."""
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    count = len(arrays[0])
    if not count:
        return np.zeros(0)
    return np.concatenate([a.reshape(count, -1) for a in arrays], axis=1)
