"""Worlds of the cases of a sweep, packed for workers."""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ...world.arguments import as_world
from ...world.config import WorldConfig
from .case import Case
from .content_hash import content_hash

WorldOfCase: TypeAlias = Callable[[Case], WorldConfig]
World: TypeAlias = WorldConfig | str | os.PathLike[str] | WorldOfCase
_MAX_KEPT = 64  # packed worlds
_LEVEL = 1  # of compression: a fifth of the size; higher levels save little and take long


@dataclass(frozen=True, eq=False)
class PackedWorld:
    """A world as it is sent to workers.

    Attributes:
        key: Its content hash.
        content: The ``WorldConfig``, pickled and compressed.
        common: Whether all cases have it, so that nothing runs if it cannot be simulated.
    """

    key: str
    content: bytes
    common: bool

    def unpack(self) -> WorldConfig:
        """Return the configuration; its bytes come from the process that called ``sweep``."""
        config = pickle.loads(zlib.decompress(self.content))
        assert isinstance(config, WorldConfig)
        return config


@dataclass(frozen=True, eq=False)
class Task:
    """A case to run, by index, and its world."""

    index: int
    case: Case
    world: PackedWorld


class Worlds:
    """The worlds of all cases: one for all, or one for each.

    A function is called when its case is due, so that a million cases need no memory. Packing a
    humanoid takes 3 ms, so the last worlds are kept and found by identity.

    Args:
        world: The configuration, the path of a world file or model, or a function that returns
            the configuration of a case.

    Raises:
        ModelError: The file cannot be used.
        TypeError: It is none of these.
    """

    def __init__(self, world: World) -> None:
        self._world: WorldConfig | WorldOfCase
        self._world = world if callable(world) else as_world(world, None)
        # By identity, the last used at the end. Configurations are kept so that these stay unique.
        self._kept: dict[int, tuple[WorldConfig, PackedWorld]] = {}

    def of(self, case: Case) -> PackedWorld:
        """Return the world of a case.

        Raises:
            Exception: The function has raised it.
            TypeError: The function has returned something else than a configuration.
        """
        world = self._world
        config: object = world if isinstance(world, WorldConfig) else world(dict(case))
        if not isinstance(config, WorldConfig):
            kind = type(config).__name__
            raise TypeError(f"the function of worlds must return a WorldConfig, not {kind}")
        _, packed = self._kept.pop(id(config), None) or (None, self._packed(config))
        while len(self._kept) >= _MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[id(config)] = config, packed
        return packed

    def _packed(self, config: WorldConfig) -> PackedWorld:
        content = zlib.compress(pickle.dumps(config), _LEVEL)
        return PackedWorld(content_hash(config), content, config is self._world)
