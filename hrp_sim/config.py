"""What is in a world, where it starts, and the settings of physics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .control import HOLD, ControlSettings
from .engine import PhysicsSettings, Placement, Solver


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

    def with_physics(self, *, solver: Solver | None = None, seed: int | None = None) -> WorldConfig:
        """Return the same world with other settings of physics; None leaves one as it is."""
        physics = self.physics
        if solver is not None:
            physics = replace(physics, solver=solver)
        if seed is not None:
            physics = replace(physics, seed=seed)
        return replace(self, physics=physics)
