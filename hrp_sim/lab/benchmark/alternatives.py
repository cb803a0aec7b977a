"""Variants of a world: with settings that may be faster, and without contacts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hrp_model.geometry import Cone, Mesh

from ...engine.engine import PhysicsSettings, Solver
from ...world.config import WorldConfig

_USUAL_CONTACTS = PhysicsSettings().max_contacts
_MAX_TIME_STEP = 0.005  # [s], up to which twice the step is tried
_MIN_ITERATIONS = 20  # above which half as many are tried


@dataclass(frozen=True, slots=True)
class Alternative:
    """A world with another setting of the physics.

    Attributes:
        setting: The setting, as under ``physics`` in a world file.
        effect: Its effect on the simulation.
        world: The world with it.
    """

    setting: str
    effect: str
    world: WorldConfig


def alternatives(world: WorldConfig) -> Iterator[Alternative]:
    """Yield the world with settings that may make it faster."""
    physics = world.physics

    def alternative(setting: str, effect: str, changed: PhysicsSettings) -> Alternative:
        return Alternative(setting, effect, replace(world, physics=changed))

    if physics.solver is Solver.WORLD:
        yield alternative(
            "solver: quick",
            "approximate: noisy force sensors; heavy rotors need more iterations",
            replace(physics, solver=Solver.QUICK),
        )
        if not physics.predict_sticking:
            yield alternative(
                "predict_sticking: true", "same motion", replace(physics, predict_sticking=True)
            )
    else:
        yield alternative("solver: world", "exact", replace(physics, solver=Solver.WORLD))
        if physics.solver is Solver.QUICK and physics.iterations > _MIN_ITERATIONS:
            fewer = physics.iterations // 2
            yield alternative(
                f"iterations: {fewer}",
                "less accurate: stacks, heavy rotors and loads suffer first",
                replace(physics, iterations=fewer),
            )
    if physics.time_step <= _MAX_TIME_STEP:
        longer = 2.0 * physics.time_step
        yield alternative(
            f"time_step: {longer:g}",
            "up to four times the error of motions",
            replace(physics, time_step=longer),
        )
    if physics.max_contacts > _USUAL_CONTACTS:
        yield alternative(
            f"max_contacts: {_USUAL_CONTACTS}",
            "fewer contact points per pair of links",
            replace(physics, max_contacts=_USUAL_CONTACTS),
        )
    if physics.convex_meshes is not True and _has_moving_meshes(world):
        yield alternative(
            "convex_meshes: true",
            "meshes of moving links collide as their convex hulls: hollows are filled",
            replace(physics, convex_meshes=True),
        )
    if physics.self_collision and _has_many_shapes(world):
        yield alternative(
            "self_collision: false",
            "links of the same body pass through each other",
            replace(physics, self_collision=False),
        )


def without_contacts(world: WorldConfig) -> WorldConfig:
    """Return the world without collision shapes."""
    entries = []
    for entry in world.bodies:
        body = entry.placement.body
        bare = replace(body, links=tuple(replace(link, collision=()) for link in body.links))
        entries.append(replace(entry, placement=replace(entry.placement, body=bare)))
    return replace(world, bodies=tuple(entries))


def _has_moving_meshes(world: WorldConfig) -> bool:
    bodies = (entry.placement.body for entry in world.bodies)
    links = (link for body in bodies if not body.is_static for link in body.links)
    shapes = (shape for link in links for shape in link.collision)
    return any(isinstance(shape.geometry, Mesh | Cone) for shape in shapes)


def _has_many_shapes(world: WorldConfig) -> bool:
    """Return whether a body has shapes on several links, which may collide with each other."""
    bodies = (entry.placement.body for entry in world.bodies)
    return any(
        not body.is_static and sum(bool(link.collision) for link in body.links) > 1
        for body in bodies
    )
