"""Read how a scenario changes its world: physics, sensors, bodies and controllers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from hrp_model import Body, Diagnostics, Link, Pose
from hrp_model.readers.yaml.nodes import Mapping

from ...engine.articulation.numeric_limits import MAX_COORDINATE
from ...engine.engine import Placement
from ...world.config import BodyEntry, WorldConfig
from ...world.control_file import read_control, read_controllers
from ...world.fields import read_rotation, report_unknown
from ...world.physics_file import read_physics
from ...world.placements import with_joints
from ...world.sensor_options import read_common

_MAX_MASS = 1e9  # [kg]


def with_changes(
    world: WorldConfig, root: Mapping, folder: Path, diagnostics: Diagnostics
) -> WorldConfig:
    """Return a world with the changes of a scenario.

    Args:
        world: The world.
        root: The mapping with the keys ``physics``, ``sensors``, ``bodies`` and ``controllers``.
        folder: Folder of its file.
        diagnostics: Receives problems.
    """
    physics = root.mapping("physics")
    if physics is not None:
        if "materials" in physics:
            message = "contact materials are written in the world file"
            diagnostics.error("unknown-key", message, physics.at("materials"))
        world = replace(world, physics=read_physics(physics, world.physics))
        physics.finish()
    names = [entry.placement.name for entry in world.bodies]
    sensors = root.mapping("sensors")
    if sensors is not None:
        world = replace(world, sensors=read_common(sensors, world.sensors))
    bodies = root.mapping("bodies")
    if bodies is not None:
        limits = world.physics.joint_limits
        changed = [_changed(entry, bodies, joint_limits=limits) for entry in world.bodies]
        report_unknown(bodies, names, "the world has no body", "unknown-body")
        world = replace(world, bodies=tuple(changed))
    added = read_controllers(root, names, folder)
    return replace(world, controllers=(*world.controllers, *added))


def _changed(entry: BodyEntry, bodies: Mapping, *, joint_limits: bool) -> BodyEntry:
    """Return a body with the changes under its name."""
    placement = entry.placement
    node = bodies.mapping(placement.name)
    if node is None:
        return entry
    masses = node.mapping("masses")
    if masses is not None:
        placement = replace(placement, body=_with_masses(placement.body, masses))
    position = node.numbers("position", count=3, default=placement.X_WL.p)
    if not np.all(np.abs(position) < MAX_COORDINATE):
        message = f"the position must be within {MAX_COORDINATE:g} m of the origin"
        node.diagnostics.error("out-of-range", message, node.at("position"))
    pose = Pose(read_rotation(node, placement.X_WL.R), position)
    placement = _with_joints(replace(placement, X_WL=pose), node, joint_limits=joint_limits)
    control = read_control(node, placement.body) if "control" in node else entry.control
    node.finish()
    return replace(entry, placement=placement, control=control)


def _with_joints(placement: Placement, node: Mapping, *, joint_limits: bool) -> Placement:
    joints = [link.joint.name for link in placement.body.moving_links]
    problem = f"body '{placement.name}' has no moving joint"
    q, dq = (_numbers(node, key, joints, problem) for key in ("joints", "joint_velocities"))
    if not q and not dq:
        return placement
    try:
        return with_joints(placement, q, dq, joint_limits=joint_limits)
    except ValueError as error:
        node.diagnostics.error("out-of-range", str(error), node.at("joints", "joint_velocities"))
        return placement


def _numbers(node: Mapping, key: str, known: list[str], problem: str) -> dict[str, float]:
    given = node.mapping(key)
    if given is None:
        return {}
    found = {name: given.number(name, default=0.0) for name in given.entries() if name in known}
    report_unknown(given, known, problem, "unknown-joint")
    return found


def _with_masses(body: Body, masses: Mapping) -> Body:
    """Return a body in which links have other masses, and inertias scaled with them."""
    links = [link.name for link in body.links]
    changed = tuple(_with_mass(link, masses) for link in body.links)
    report_unknown(masses, links, f"model '{body.name}' has no link", "unknown-link")
    return replace(body, links=changed)


def _with_mass(link: Link, masses: Mapping) -> Link:
    mass = masses.number(link.name, default=None)
    if mass is None:
        return link
    problem = ""
    if not 0.0 < mass <= _MAX_MASS:
        problem = f"a mass must be above 0 kg and at most {_MAX_MASS:g} kg, not {mass:g} kg"
    elif not link.mass > 0.0:
        problem = f"link '{link.name}' has no mass in the model, so its inertia cannot be scaled"
    if problem:
        masses.diagnostics.error("out-of-range", problem, masses.at(link.name))
        return link
    # As if its density changed: the inertia stays that of a rigid body.
    return replace(link, mass=mass, inertia=link.inertia * (mass / link.mass))
