"""Terms of ROS 2's ``simulation_interfaces``, filters of entities, and the error of a request.

States, scopes, categories and bounds have the numbers of the standard. Codes have only names: the
same number has different meanings in different services, so it is taken from the response.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from enum import Enum, IntEnum, auto
from itertools import combinations, product
from weakref import WeakKeyDictionary

import numpy as np

from hrp_model import Body
from hrp_model.geometry import Shape
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_model.shapes.measure import boxes_overlap, used_vertices
from hrp_model.shapes.tessellate import shape_mesh
from hrp_msgs.sanitize import shortened

from ...engine.engine import PhysicsError
from ...engine.state import SimulatedBody
from ..run import NotRunningError, RunStateError


class Code(Enum):
    """Reasons for the rejection of a request, named as the results of the standard."""

    # Of all services.
    FEATURE_UNSUPPORTED = auto()
    NOT_FOUND = auto()
    INCORRECT_STATE = auto()
    OPERATION_FAILED = auto()
    # Of setting the simulation state.
    ALREADY_IN_TARGET_STATE = auto()
    STATE_TRANSITION_ERROR = auto()
    INCORRECT_TRANSITION = auto()
    # Of spawning and moving entities.
    NAME_NOT_UNIQUE = auto()
    NAME_INVALID = auto()
    NAMESPACE_INVALID = auto()
    INVALID_POSE = auto()
    ENTITIES_SPAWN_FAILED = auto()
    # Of reading models and worlds.
    NO_RESOURCE = auto()
    UNSUPPORTED_FORMAT = auto()
    RESOURCE_PARSE_ERROR = auto()
    MISSING_ASSETS = auto()
    UNSUPPORTED_ASSETS = auto()
    UNSUPPORTED_ELEMENTS = auto()
    # Of the current world and the available ones.
    NO_WORLD_LOADED = auto()
    DEFAULT_SOURCES_FAILED = auto()


class State(IntEnum):
    """States of the simulation.

    STOPPED is paused in the initial state; PAUSED is paused at any other time.
    """

    STOPPED = 0
    PLAYING = 1
    PAUSED = 2
    QUITTING = 3
    NO_WORLD = 4
    LOADING_WORLD = 5


class Scope(IntEnum):
    """Scopes of a reset, which can be added."""

    DEFAULT = 0
    TIME = 1
    STATE = 2
    SPAWNED = 4
    ALL = 255


class Category(IntEnum):
    """Categories of entities."""

    OBJECT = 0
    ROBOT = 1
    HUMAN = 2
    DYNAMIC_OBJECT = 4
    STATIC_OBJECT = 5


class BoundsType(IntEnum):
    """Types of bounds, which define the meaning of their points."""

    EMPTY = 0
    BOX = 1
    CONVEX_HULL = 2
    SPHERE = 3


class RequestError(Exception):
    """A request was rejected; the message states why, and what would be right."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(shortened(message))
        self.code = code


@contextmanager
def request_errors(code: Code = Code.OPERATION_FAILED) -> Iterator[None]:
    """Convert errors of the physics and the run to a RequestError with this code."""
    try:
        yield
    except (NotRunningError, PhysicsError, RunStateError) as error:
        raise RequestError(code, str(error)) from None


_MAX_EXPRESSION = 1000  # characters of a regular expression
_MAX_MEMORY = 1 << 20  # bytes per compiled expression; re2 caches up to 128 of them
# An escaped character, a bracket expression, or a brace that begins no interval.
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\[:[a-z]*:\]|[^]])*\]?|\{(?![0-9]+(?:,[0-9]*)?\})", re.DOTALL)
_MAX_COORDINATE = 1e12  # [m]; squares of larger ones may overflow
# Minimum and maximum number of points.
_POINT_COUNTS: Mapping[int, tuple[int, int]] = {
    BoundsType.EMPTY: (0, 0),
    BoundsType.BOX: (2, 2),
    BoundsType.CONVEX_HULL: (3, 10_000),
    BoundsType.SPHERE: (2, 2),
}
# Segments of round shapes, whose hulls deviate by less than 0.2 % of the radius.
_DIVISIONS = 64
_clouds: WeakKeyDictionary[Body, list[tuple[int, Array]]] = WeakKeyDictionary()
_MAX_ITERATIONS = 200
_ACCURACY = 1e-9


@dataclass(frozen=True, eq=False)
class Bounds:
    """A region of space.

    Attributes:
        type: A ``BoundsType``.
        points: In [m], shape (n, 3). For a BOX the upper and the lower corner, for a CONVEX_HULL
            its vertices, for a SPHERE the centre, and the radius as x of a second point.
    """

    type: int = BoundsType.EMPTY
    points: Array = field(default_factory=lambda: np.zeros((0, 3)))

    def check(self) -> None:
        """Raise RequestError if the number of points or a coordinate is invalid."""
        if self.type not in _POINT_COUNTS:
            message = f"bounds of type {self.type} are not supported"
            raise RequestError(Code.FEATURE_UNSUPPORTED, message)
        if problem := self._problem():
            raise RequestError(Code.OPERATION_FAILED, problem)

    def _problem(self) -> str:
        low, high = _POINT_COUNTS[self.type]
        if not low <= len(self.points) <= high:
            kind = BoundsType(self.type).name
            count = str(low) if low == high else f"{low} to {high}"
            return f"bounds of type {kind} need {count} points, not {len(self.points)}"
        if not np.all(np.abs(self.points) < _MAX_COORDINATE):
            return f"a point of the bounds is not within {_MAX_COORDINATE:g} m of the origin"
        if self.type == BoundsType.SPHERE and self.points[1, 0] < 0.0:
            return f"the radius {self.points[1, 0]:g} m of the bounds is negative"
        if self.type == BoundsType.BOX and np.any(self.points[0] < self.points[1]):
            return "the first point of a BOX must be the upper corner, the second the lower one"
        return ""

    def touch(self, simulated: SimulatedBody) -> bool:
        """Return whether they touch the convex hull of any shape of a body."""
        points = self.points
        margin = 0.0
        if self.type == BoundsType.SPHERE:
            margin, points = float(points[1, 0]), points[:1]
        elif self.type == BoundsType.BOX:
            points = np.array(list(product(*points.T)))
        low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
        return any(
            bool(boxes_overlap(cloud.min(axis=0), cloud.max(axis=0), low, high))
            and hull_distance(cloud, points) <= margin
            for _, cloud in link_points(simulated)
        )


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

    def select(
        self, bodies: Mapping[str, SimulatedBody], infos: Mapping[str, EntityInfo]
    ) -> list[str]:
        """Return the names of the bodies that pass, in the order of their spawning.

        Args:
            bodies: The bodies by name.
            infos: The description of each.

        Raises:
            RequestError: A filter is invalid, or google-re2 is not installed.
        """
        matches = _name_filter(self.name)
        self.bounds.check()
        return [
            name
            for name, simulated in bodies.items()
            if matches(name)
            and (not self.categories or infos[name].category in self.categories)
            and self.tags.passes(infos[name].tags)
            and (not self.bounds.type or self.bounds.touch(simulated))
        ]


def _name_filter(expression: str) -> Callable[[str], bool]:
    if not expression:
        return lambda _: True
    try:
        return posix_matcher(expression)
    except ValueError as error:
        message = f"the filter is not a POSIX extended regular expression: {error}"
        raise RequestError(Code.OPERATION_FAILED, message) from None
    except ImportError as error:
        message = f"filtering by name needs google-re2 (pip install google-re2): {error}"
        raise RequestError(Code.FEATURE_UNSUPPORTED, message) from None


def posix_matcher(expression: str) -> Callable[[str], bool]:
    """Compile a POSIX extended regular expression.

    RE2 matches in time linear in the text. Python's ``re`` has another syntax, and may take
    exponential time. Character classes such as ``[:alpha:]`` contain ASCII characters only, as in
    the locale "C".

    Args:
        expression: Such as ``^box_[[:digit:]]+$``; up to 1000 characters, without collating
            elements (``[.x.]``, ``[=x=]``) and back references.

    Returns:
        A function that reports whether any part of a text matches; ``^`` and ``$`` match at the
        ends of the text only.

    Raises:
        ValueError: The expression is invalid; the message states why.
        ImportError: The package google-re2 is not installed.
    """
    import re2  # optional at run time: only filters by name need it

    if len(expression) > _MAX_EXPRESSION:
        raise ValueError(f"{len(expression)} characters, more than {_MAX_EXPRESSION}")
    options = re2.Options()
    options.posix_syntax = options.one_line = options.dot_nl = options.never_capture = True
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        compiled = re2.compile(_TOKEN.sub(_to_re2, expression), options)
    except re2.error as error:
        raise ValueError(f"'{expression}': {error.args[0].decode()}") from None
    return lambda text: compiled.search(text.encode(errors="replace").decode()) is not None


def _to_re2(token: re.Match[str]) -> str:
    """Rewrite a token that RE2 understands otherwise than POSIX.

    Raises:
        ValueError: RE2 would silently match something else than POSIX or GNU do.
    """
    text = token[0]
    if text == "{":
        raise ValueError(
            f"'{token.string}': '{{' at character {token.start() + 1} begins no interval such as "
            "{2}, {2,} or {2,5}; write '\\{' for a brace"
        )
    if not text.startswith("["):
        return text
    if re.search(r"\[[.=]", text[1:]):
        raise ValueError(
            f"'{token.string}': collating elements ([.x.], [=x=]) are not supported, "
            f"at character {token.start() + 1}"
        )
    return text.replace("\\", "\\\\")  # a plain character within brackets


def link_points(simulated: SimulatedBody) -> list[tuple[int, Array]]:
    """Return link index and points of each shape, in W, in [m], shape (n, 3).

    Their convex hulls approximate the collision shapes, or the visual shapes if there are none.
    """
    if simulated.body not in _clouds:
        _clouds[simulated.body] = _local_points(simulated.body)
    R, p = simulated.motion.R, simulated.motion.p
    return [(k, cloud @ R[k].T + p[k]) for k, cloud in _clouds[simulated.body]]


def _local_points(body: Body) -> list[tuple[int, Array]]:
    for shapes in ([link.collision for link in body.links], [link.visual for link in body.links]):
        found = [(k, _points(shape)) for k, own in enumerate(shapes) for shape in own]
        if found := [(k, cloud) for k, cloud in found if len(cloud)]:
            return found
    return []


def _points(shape: Shape) -> Array:
    """Return the corners of a shape, in the frame of its link."""
    mesh = shape_mesh(shape, _DIVISIONS, solid=True)
    points: Array = used_vertices(mesh)
    return points[np.all(np.isfinite(points), axis=1)]


def hull_distance(a: Array, b: Array) -> float:
    """Return the distance of the convex hulls of two sets of points, in [m]; 0 if they touch.

    By the algorithm of Gilbert, Johnson and Keerthi (1988).

    Args:
        a: Points in [m], shape (n, 3), at least one.
        b: Likewise.
    """
    nearest = a[0] - b[0]
    simplex = nearest[None, :]
    size = float(np.max(np.abs(a - a[0]), initial=0.0) + np.max(np.abs(b - b[0]), initial=0.0))
    smallest = (_ACCURACY * (size + 1.0)) ** 2
    for _ in range(_MAX_ITERATIONS):
        square = float(nearest @ nearest)
        if square <= smallest:
            return 0.0
        support = a[np.argmin(a @ nearest)] - b[np.argmax(b @ nearest)]
        if square - float(nearest @ support) <= _ACCURACY * square:
            break
        nearest, simplex = _nearest(np.vstack([simplex, support]))
        if float(nearest @ nearest) >= square:  # limited by rounding
            break
    return float(np.linalg.norm(nearest))


def _nearest(points: Array) -> tuple[Array, Array]:
    """Return the point of a simplex nearest to the origin, and the corners that it depends on.

    All of the up to fifteen subsets of corners are tried, which is robust against rounding.
    """
    best = points[0], points[:1]
    least = np.inf
    for count in range(1, min(len(points), 4) + 1):
        for chosen in combinations(range(len(points)), count):
            corners = points[list(chosen)]
            edges = corners[1:] - corners[0]
            weights = np.linalg.lstsq(edges.T, -corners[0], rcond=None)[0]
            if np.any(weights < -1e-12) or weights.sum() > 1.0 + 1e-12:
                continue
            point = corners[0] + weights @ edges
            if (square := float(point @ point)) < least:
                least, best = square, (point, corners)
    return best
