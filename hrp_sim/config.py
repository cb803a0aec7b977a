"""What is in a world, where it starts, and the settings of physics."""

from __future__ import annotations

from dataclasses import dataclass, field

from .control import HOLD, ControlSettings
from .engine import PhysicsSettings, Placement


@dataclass(frozen=True, kw_only=True)
class BodyEntry:
    """A body of the world: how it starts and how it is driven."""

    placement: Placement
    control: ControlSettings = HOLD


@dataclass(frozen=True, kw_only=True)
class WorldConfig:
    """A world: settings of physics and the bodies in it, in the order of the file."""

    physics: PhysicsSettings = field(default_factory=PhysicsSettings)
    bodies: tuple[BodyEntry, ...] = ()
