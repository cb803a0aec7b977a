"""Terms of ROS 2's ``simulation_interfaces``, and the error of a rejected request.

States, scopes, categories and bounds have the numbers of the standard. Codes have only names: the
same number has different meanings in different services, so it is taken from the response.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, IntEnum, auto

from hrp_msgs.sanitize import shortened

from ...engine.engine import PhysicsError
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
