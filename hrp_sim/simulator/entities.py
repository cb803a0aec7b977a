"""States, descriptions, bounds and filters of the entities of a world."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from hrp_model import Pose
from hrp_model.diagnostics import counted, did_you_mean_or_all
from hrp_model.rigid import Array

from ..engine.state import SimulatedBody
from ..simulation import Simulation
from .errors import RequestError
from .posix_regex import matcher
from .results import BoundsType, Category, Code
from .shapes import Bounds, link_points, overlaps


@dataclass(frozen=True, eq=False, kw_only=True)
class EntityState:
    """Pose and motion of the root link L of an entity in a frame F.

    Attributes:
        frame: Name of F; empty for the world.
        time_ns: Simulation time, in [ns].
        X_FL: Pose of L.
        v: Velocity of L's origin, expressed in F, in [m/s], shape (3,).
        w: Angular velocity, expressed in F, in [rad/s], shape (3,).
        a: Acceleration of L's origin over the last step, in [m/s^2], shape (3,).
        alpha: Angular acceleration over the last step, in [rad/s^2], shape (3,).
    """

    frame: str = ""
    time_ns: int = 0
    X_FL: Pose = field(default_factory=Pose)
    v: Array = field(default_factory=lambda: np.zeros(3))
    w: Array = field(default_factory=lambda: np.zeros(3))
    a: Array = field(default_factory=lambda: np.zeros(3))
    alpha: Array = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class EntityInfo:
    """Category, description and tags of an entity."""

    category: int = Category.OBJECT
    description: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class TagsFilter:
    """Required tags: any of them, or all of them; no tags pass everything."""

    tags: tuple[str, ...] = ()
    all: bool = False

    def passes(self, tags: Collection[str]) -> bool:
        """Return whether tags satisfy the filter."""
        found = [tag in tags for tag in self.tags]
        return not found or (all(found) if self.all else any(found))


@dataclass(frozen=True)
class EntityFilters:
    """Conditions that entities must all satisfy.

    Attributes:
        name: POSIX extended regular expression for a part of the name; empty for any.
        categories: Accepted categories; empty for any.
        tags: Required tags.
        bounds: Region in W that the entity must overlap.
    """

    name: str = ""
    categories: Sequence[int] = ()
    tags: TagsFilter = field(default_factory=TagsFilter)
    bounds: Bounds = field(default_factory=Bounds)


def find_entity(simulation: Simulation, name: str) -> SimulatedBody:
    """Return the body of this name.

    Raises:
        RequestError: It does not exist.
    """
    bodies = simulation.bodies
    if name not in bodies:
        hint = did_you_mean_or_all(name, bodies)
        raise RequestError(Code.NOT_FOUND, f"there is no entity '{name}'.{hint}")
    return bodies[name]


def default_info(simulation: Simulation, name: str) -> EntityInfo:
    """Return a description derived from the model."""
    body = simulation.bodies[name].body
    joints, devices = len(body.jointed_links), len(body.devices)
    if joints or devices:
        category = Category.ROBOT
    else:
        category = Category.STATIC_OBJECT if simulation.is_fixed(name) else Category.OBJECT
    has = [counted(len(body.links), "link"), counted(joints, "joint"), counted(devices, "device")]
    return EntityInfo(category, f"model '{body.name}': {', '.join(has)}")


def entity_state(simulation: Simulation, name: str, world: str) -> EntityState:
    """Return the state of an entity in the world frame, whose name is given.

    Raises:
        RequestError: The entity does not exist.
    """
    motion = find_entity(simulation, name).motion
    return EntityState(
        frame=world,
        time_ns=simulation.state.time_ns,
        X_FL=Pose(motion.R[0], motion.p[0]),
        v=motion.v[0].copy(),
        w=motion.w[0].copy(),
        a=motion.a[0].copy(),
        alpha=motion.alpha[0].copy(),
    )


def entity_bounds(simulation: Simulation, name: str) -> Bounds:
    """Return the bounding box of an entity in its present posture, in its root frame.

    It contains the collision shapes, or the visual shapes if there are none.

    Raises:
        RequestError: The entity does not exist.
    """
    simulated = find_entity(simulation, name)
    R, p = simulated.motion.R[0], simulated.motion.p[0]
    clouds = [(cloud - p) @ R for _, cloud in link_points(simulated)]
    if not clouds:
        return Bounds()
    points = np.vstack(clouds)
    return Bounds(BoundsType.BOX, np.array([points.max(axis=0), points.min(axis=0)]))


def select(
    simulation: Simulation, filters: EntityFilters, infos: Mapping[str, EntityInfo]
) -> list[str]:
    """Return the names of the entities that pass all filters, in the order of their spawning.

    Args:
        simulation: The world.
        filters: Which entities are requested.
        infos: The description of each entity.

    Raises:
        RequestError: A filter is invalid.
    """
    matches = _name_filter(filters.name)
    check_bounds(filters.bounds)
    return [
        name
        for name, simulated in simulation.bodies.items()
        if matches(name)
        and (not filters.categories or infos[name].category in filters.categories)
        and filters.tags.passes(infos[name].tags)
        and (not filters.bounds.type or overlaps(simulated, filters.bounds))
    ]


def _name_filter(expression: str) -> Callable[[str], bool]:
    """Return a function that reports whether a name passes.

    Raises:
        RequestError: The expression is invalid, or google-re2 is not installed.
    """
    if not expression:
        return lambda _: True
    try:
        return matcher(expression)
    except ValueError as error:
        message = f"the filter is not a POSIX extended regular expression: {error}"
        raise RequestError(Code.OPERATION_FAILED, message) from None
    except ImportError as error:
        message = f"filtering by name needs google-re2 (pip install google-re2): {error}"
        raise RequestError(Code.FEATURE_UNSUPPORTED, message) from None


_MAX_COORDINATE = 1e12  # [m]; squares of larger ones may overflow
# Minimum and maximum number of points.
_POINT_COUNTS: Mapping[int, tuple[int, int]] = {
    BoundsType.EMPTY: (0, 0),
    BoundsType.BOX: (2, 2),
    BoundsType.CONVEX_HULL: (3, 10_000),
    BoundsType.SPHERE: (2, 2),
}


def check_bounds(bounds: Bounds, code: IntEnum = Code.OPERATION_FAILED) -> None:
    """Check that bounds are valid.

    Raises:
        RequestError: They are not, with this code.
    """
    if bounds.type not in _POINT_COUNTS:
        message = f"bounds of type {bounds.type} are not supported"
        raise RequestError(Code.FEATURE_UNSUPPORTED, message)
    low, high = _POINT_COUNTS[bounds.type]
    kind = BoundsType(bounds.type).name
    if not low <= len(bounds.points) <= high:
        count = str(low) if low == high else f"{low} to {high}"
        message = f"bounds of type {kind} need {count} points, not {len(bounds.points)}"
        raise RequestError(code, message)
    if not np.all(np.abs(bounds.points) < _MAX_COORDINATE):
        message = f"a point of the bounds is not within {_MAX_COORDINATE:g} m of the origin"
        raise RequestError(code, message)
    if bounds.type == BoundsType.SPHERE and bounds.points[1, 0] < 0.0:
        raise RequestError(code, f"the radius {bounds.points[1, 0]:g} m of the bounds is negative")
    if bounds.type == BoundsType.BOX and np.any(bounds.points[0] < bounds.points[1]):
        message = "the first point of a BOX must be the upper corner, the second the lower one"
        raise RequestError(code, message)
