"""What the standard services tell of the bodies of a world, and how they choose some of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from hrp_model import Pose
from hrp_model.diagnostics import counted, did_you_mean_or_all
from hrp_model.rigid import Array

from ..physics.state import SimulatedBody
from ..simulation import Simulation
from .posix_regex import matcher
from .results import BoundsType, Category, Code, RequestError
from .shapes import link_points, overlaps


@dataclass(frozen=True, eq=False, kw_only=True)
class EntityState:
    """How the root of an entity moves, seen from a frame F.

    Attributes:
        frame: Name of F; empty for the world.
        time_ns: When it is so, in [ns].
        X_FL: Pose of the root link L.
        v: Velocity of L's origin, expressed in F, in [m/s], shape (3,).
        w: Angular velocity, expressed in F, in [rad/s], shape (3,).
        a: Acceleration of L's origin over the last step, in [m/s^2], shape (3,).
        alpha: Angular acceleration likewise, in [rad/s^2], shape (3,).
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
    """What an entity is, for people and for filters."""

    category: int = Category.OBJECT
    description: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Bounds:
    """A part of space.

    Attributes:
        type: What the points mean.
        points: Of a BOX the greatest and the least corner, of a CONVEX_HULL its corners, of a
            SPHERE the centre and its radius as x of a second point; in [m], shape (n, 3).
    """

    type: int = BoundsType.EMPTY
    points: Array = field(default_factory=lambda: np.zeros((0, 3)))


@dataclass(frozen=True)
class TagsFilter:
    """Which tags something must have: any of these, or all of them; none means whatever."""

    tags: tuple[str, ...] = ()
    all: bool = False

    def passes(self, tags: Collection[str]) -> bool:
        """Tell whether tags are those that are asked for."""
        found = [tag in tags for tag in self.tags]
        return not found or (all(found) if self.all else any(found))


@dataclass(frozen=True)
class EntityFilters:
    """Which entities are asked for: those that pass all of it.

    Attributes:
        name: POSIX extended regular expression that matches a part of the name, or empty.
        categories: Any of these; none means whatever.
        tags: Which tags they must have.
        bounds: With what they must overlap, in W.
    """

    name: str = ""
    categories: Sequence[int] = ()
    tags: TagsFilter = field(default_factory=TagsFilter)
    bounds: Bounds = field(default_factory=Bounds)


def known(simulation: Simulation, name: str) -> SimulatedBody:
    """Return the body of this name.

    Raises:
        RequestError: There is none.
    """
    bodies = simulation.bodies
    if name not in bodies:
        hint = did_you_mean_or_all(name, bodies)
        raise RequestError(Code.NOT_FOUND, f"there is no entity '{name}'.{hint}")
    return bodies[name]


def default_info(simulation: Simulation, name: str) -> EntityInfo:
    """Return what can be told of a body that nobody has described."""
    body = simulation.bodies[name].body
    joints, devices = len(body.jointed_links), len(body.devices)
    if joints or devices:
        category = Category.ROBOT
    else:
        category = Category.STATIC_OBJECT if simulation.is_fixed(name) else Category.OBJECT
    has = [counted(len(body.links), "link"), counted(joints, "joint"), counted(devices, "device")]
    return EntityInfo(category, f"model '{body.name}': {', '.join(has)}")


def entity_state(simulation: Simulation, name: str, world: str) -> EntityState:
    """Return how an entity moves, seen from the world, whose frame has the given name.

    Raises:
        RequestError: There is none of this name.
    """
    motion = known(simulation, name).motion
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
    """Return the box around an entity in its present posture, along the axes of its root link.

    It is that of the shapes that collide, or of those that are seen if none does.

    Raises:
        RequestError: There is none of this name.
    """
    simulated = known(simulation, name)
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
        RequestError: The expression is invalid, or nothing is installed that understands it.
    """
    if not expression:
        return lambda _: True
    try:
        return matcher(expression)
    except ValueError as error:
        words = f"the filter is no POSIX extended regular expression: {error}"
        raise RequestError(Code.OPERATION_FAILED, words) from None
    except ImportError as error:
        words = f"filtering by name needs google-re2 (pip install google-re2): {error}"
        raise RequestError(Code.FEATURE_UNSUPPORTED, words) from None


_FARTHEST = 1e12  # [m] that bounds may reach; of more the squares have no end
_POINTS: Mapping[int, tuple[int, int]] = {
    BoundsType.EMPTY: (0, 0),
    BoundsType.BOX: (2, 2),
    BoundsType.CONVEX_HULL: (3, 10_000),
    BoundsType.SPHERE: (2, 2),
}


def check_bounds(bounds: Bounds, code: IntEnum = Code.OPERATION_FAILED) -> None:
    """Check that bounds are such.

    Raises:
        RequestError: They are not, with this code.
    """
    if bounds.type not in _POINTS:
        words = f"bounds of type {bounds.type} are not understood"
        raise RequestError(Code.FEATURE_UNSUPPORTED, words)
    least, most = _POINTS[bounds.type]
    kind = BoundsType(bounds.type).name
    if not least <= len(bounds.points) <= most:
        count = str(least) if least == most else f"{least} to {most}"
        words = f"bounds of type {kind} have {count} points, not {len(bounds.points)}"
        raise RequestError(code, words)
    if not np.all(np.abs(bounds.points) < _FARTHEST):
        words = f"a point of the bounds is not within {_FARTHEST:g} m of the origin"
        raise RequestError(code, words)
    if bounds.type == BoundsType.SPHERE and bounds.points[1, 0] < 0.0:
        raise RequestError(code, "the radius of the bounds is negative")
    if bounds.type == BoundsType.BOX and np.any(bounds.points[0] < bounds.points[1]):
        words = "of a box the greatest corner comes first, then the least"
        raise RequestError(code, words)
