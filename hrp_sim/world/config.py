"""What is in a world, where it starts, and the settings of physics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..control import HOLD, ControlSettings
from ..physics.engine import PhysicsSettings, Placement, Solver
from ..sensors.settings import IDEAL, OptionValue, SensorSettings


@dataclass(frozen=True, kw_only=True)
class BodyEntry:
    """A body of the world: how it starts, how it is driven, and how its sensors differ.

    Attributes:
        sensors: Options of single sensors that differ from the world's, by the sensor's name.
        namespace: Where its topics are; empty for none, None for what ``name_bodies`` finds.
    """

    placement: Placement
    control: ControlSettings = HOLD
    sensors: Mapping[str, Mapping[str, OptionValue]] = field(default_factory=dict)
    namespace: str | None = None


@dataclass(frozen=True, kw_only=True)
class WorldConfig:
    """A world: settings of physics and sensors, and the bodies in it, in the order of the file."""

    physics: PhysicsSettings = field(default_factory=PhysicsSettings)
    sensors: SensorSettings = IDEAL
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
