"""What is in a world, where it starts, and the settings of physics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

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

    def with_physics(
        self,
        *,
        solver: Solver | None = None,
        seed: int | None = None,
        time_step: float | None = None,
        iterations: int | None = None,
        joint_limits: bool | None = None,
    ) -> WorldConfig:
        """Return the same world with other settings of physics; None leaves one as it is."""
        wanted = {
            "solver": solver,
            "seed": seed,
            "time_step": time_step,
            "iterations": iterations,
            "joint_limits": joint_limits,
        }
        changes: dict[str, Any] = {k: v for k, v in wanted.items() if v is not None}
        return replace(self, physics=replace(self.physics, **changes))
