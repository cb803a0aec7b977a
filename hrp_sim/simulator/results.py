"""What the standard services answer: numbers that mean the same in every simulator.

The names and values are those of ROS 2's ``simulation_interfaces``. Codes above 100 belong to
one service, so that the same number means different things in different places.
"""

from __future__ import annotations

from enum import IntEnum

from hrp_msgs.sanitize import shortened


class Code(IntEnum):
    """Results that every service may have."""

    FEATURE_UNSUPPORTED = 0
    OK = 1
    NOT_FOUND = 2
    INCORRECT_STATE = 3
    OPERATION_FAILED = 4


class StateCode(IntEnum):
    """What else may come of a change of the simulation's state."""

    ALREADY_IN_TARGET_STATE = 101
    STATE_TRANSITION_ERROR = 102
    INCORRECT_TRANSITION = 103


class MoveCode(IntEnum):
    """What else may come of setting an entity's state."""

    INVALID_POSE = 101


class SpawnCode(IntEnum):
    """What else may come of spawning an entity."""

    NAME_NOT_UNIQUE = 101
    NAME_INVALID = 102
    UNSUPPORTED_FORMAT = 103
    NO_RESOURCE = 104
    NAMESPACE_INVALID = 105
    RESOURCE_PARSE_ERROR = 106
    MISSING_ASSETS = 107
    UNSUPPORTED_ASSETS = 108
    INVALID_POSE = 109


class WorldCode(IntEnum):
    """What else may come of loading a world."""

    UNSUPPORTED_FORMAT = 101
    NO_RESOURCE = 102
    RESOURCE_PARSE_ERROR = 103
    MISSING_ASSETS = 104
    UNSUPPORTED_ASSETS = 105
    UNSUPPORTED_ELEMENTS = 106


class CurrentWorldCode(IntEnum):
    """What else may come of asking for the world, or of unloading it."""

    NO_WORLD_LOADED = 101


class WorldListCode(IntEnum):
    """What else may come of asking which worlds there are."""

    DEFAULT_SOURCES_FAILED = 101


class RequestError(Exception):
    """Something was not done; the message says why, and what would have been right.

    Attributes:
        code: One of the codes of this module, for the service that was called.
    """

    def __init__(self, code: IntEnum, message: str) -> None:
        super().__init__(shortened(message))
        self.code = code


class State(IntEnum):
    """How the simulation is.

    STOPPED is paused and as it was when it was launched. PAUSED may be anywhere in time.
    """

    STOPPED = 0
    PLAYING = 1
    PAUSED = 2
    QUITTING = 3
    NO_WORLD = 4
    LOADING_WORLD = 5


class Scope(IntEnum):
    """What a reset puts back to the start; any of them may be added up."""

    DEFAULT = 0
    TIME = 1
    STATE = 2
    SPAWNED = 4
    ALL = 255


class Feature(IntEnum):
    """What a simulator may be able to do."""

    SPAWNING = 0
    DELETING = 1
    NAMED_POSES = 2
    POSE_BOUNDS = 3
    ENTITY_TAGS = 4
    ENTITY_BOUNDS = 5
    ENTITY_BOUNDS_BOX = 6
    ENTITY_BOUNDS_CONVEX = 7
    ENTITY_CATEGORIES = 8
    SPAWNING_RESOURCE_STRING = 9
    ENTITY_STATE_GETTING = 10
    ENTITY_STATE_SETTING = 11
    ENTITY_INFO_GETTING = 12
    ENTITY_INFO_SETTING = 13
    SPAWNABLES = 14
    SIMULATION_RESET = 20
    SIMULATION_RESET_TIME = 21
    SIMULATION_RESET_STATE = 22
    SIMULATION_RESET_SPAWNED = 23
    SIMULATION_STATE_GETTING = 24
    SIMULATION_STATE_SETTING = 25
    SIMULATION_STATE_PAUSE = 26
    STEP_SIMULATION_SINGLE = 31
    STEP_SIMULATION_MULTIPLE = 32
    STEP_SIMULATION_ACTION = 33
    WORLD_LOADING = 40
    WORLD_RESOURCE_STRING = 41
    WORLD_TAGS = 42
    WORLD_UNLOADING = 43
    WORLD_INFO_GETTING = 44
    AVAILABLE_WORLDS = 45
    SPAWNING_ENTITIES = 50


class Category(IntEnum):
    """What kind of thing an entity is."""

    OBJECT = 0
    ROBOT = 1
    HUMAN = 2
    DYNAMIC_OBJECT = 4
    STATIC_OBJECT = 5


class BoundsType(IntEnum):
    """What the points of bounds mean."""

    EMPTY = 0
    BOX = 1
    CONVEX_HULL = 2
    SPHERE = 3
