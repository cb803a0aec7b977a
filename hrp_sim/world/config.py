"""Configuration of a world: bodies, their initial states, physics, sensors, named poses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from hrp_model import Pose
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ..control import HOLD, ControlSettings
from ..control.controllers.classes import ControllerEntry
from ..control.handling import JointEntry
from ..engine.engine import PhysicsSettings, Placement, Solver
from ..sensors.settings import IDEAL, OptionValue, SensorSettings


@dataclass(frozen=True, kw_only=True)
class BodyEntry:
    """A body of the world: its initial state, control settings and sensor options.

    Attributes:
        sensors: Options of single sensors that override the world's, by sensor name.
        namespace: ROS namespace of its topics; "" for none, None for the default of
            ``name_bodies``.
        surface_velocity: How the surfaces of its links move relative to them, as those of
            conveyors, by link name: in the link's frame, in [m/s], shape (3,) each.
    """

    placement: Placement
    control: ControlSettings = HOLD
    sensors: Mapping[str, Mapping[str, OptionValue]] = field(default_factory=dict)
    namespace: str | None = None
    surface_velocity: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class NamedPose:
    """A pose for some purpose, such as spawning, parking, or the goal of a navigation.

    Attributes:
        name: Unique in the world.
        X_WP: The pose P in the world.
        description: For people.
        tags: Its purposes, or the kinds of bodies that fit there.
        bounds: Lower and upper corner of the free space, a box in the axes of P, in [m], shape
            (2, 3); None if it is not bounded.
    """

    name: str
    X_WP: Pose = field(default_factory=Pose)
    description: str = ""
    tags: tuple[str, ...] = ()
    bounds: Array | None = None


@dataclass(frozen=True, kw_only=True)
class WorldConfig:
    """A world: physics and sensor settings, its bodies in the order of the file, their joints.

    A simulation runs the code of its controllers.

    Attributes:
        duration: Time that the file asks to be simulated, in [s]; None if it states none.
    """

    physics: PhysicsSettings = field(default_factory=PhysicsSettings)
    sensors: SensorSettings = IDEAL
    bodies: tuple[BodyEntry, ...] = ()
    joints: tuple[JointEntry, ...] = ()
    controllers: tuple[ControllerEntry, ...] = ()
    named_poses: tuple[NamedPose, ...] = ()
    duration: float | None = None

    def with_physics(
        self,
        *,
        solver: Solver | None = None,
        seed: int | None = None,
        time_step: float | None = None,
        iterations: int | None = None,
        joint_limits: bool | None = None,
    ) -> WorldConfig:
        """Return a copy with changed physics settings; None keeps a setting."""
        old = self.physics
        physics = replace(
            old,
            solver=old.solver if solver is None else solver,
            seed=old.seed if seed is None else seed,
            time_step=old.time_step if time_step is None else time_step,
            iterations=old.iterations if iterations is None else iterations,
            joint_limits=old.joint_limits if joint_limits is None else joint_limits,
        )
        return replace(self, physics=physics)
