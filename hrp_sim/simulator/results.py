"""Constants of ROS 2's ``simulation_interfaces``: result codes, states, features, categories.

Result codes above 100 are specific to one service; the same number has different meanings in
different services.
"""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """Results of all services."""

    FEATURE_UNSUPPORTED = 0
    OK = 1
    NOT_FOUND = 2
    INCORRECT_STATE = 3
    OPERATION_FAILED = 4


class StateCode(IntEnum):
    """Further results of setting the simulation state."""

    ALREADY_IN_TARGET_STATE = 101
    STATE_TRANSITION_ERROR = 102
    INCORRECT_TRANSITION = 103


class MoveCode(IntEnum):
    """Further results of setting an entity state."""

    INVALID_POSE = 101


class SpawnCode(IntEnum):
    """Further results of spawning an entity."""

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
    """Further results of loading a world."""

    UNSUPPORTED_FORMAT = 101
    NO_RESOURCE = 102
    RESOURCE_PARSE_ERROR = 103
    MISSING_ASSETS = 104
    UNSUPPORTED_ASSETS = 105
    UNSUPPORTED_ELEMENTS = 106


class CurrentWorldCode(IntEnum):
    """Further results of getting or unloading the current world."""

    NO_WORLD_LOADED = 101


class WorldListCode(IntEnum):
    """Further results of getting the available worlds."""

    DEFAULT_SOURCES_FAILED = 101


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


class Feature(IntEnum):
    """Optional features of a simulator."""

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
