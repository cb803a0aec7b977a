"""The port between the simulation and a physics library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body, BodyState, Pose
from hrp_model.rigid import Array

from .contact_points import ContactPoints
from .materials import MaterialTable
from .schedule import NS_PER_S
from .state import SimulatedBody, WorldState

AnyArray = NDArray[Any]


class PhysicsError(RuntimeError):
    """The physics cannot go on or cannot take what it was given; the message names the link."""


class Solver(Enum):
    """How the constraints of a step are solved: WORLD exactly, QUICK by iteration."""

    WORLD = "world"
    QUICK = "quick"


@dataclass(frozen=True, kw_only=True)
class PhysicsSettings:
    """Everything about physics that is not in a model.

    Attributes:
        time_step: In [s].
        solver: WORLD is exact and the default; QUICK suits many contacts.
        gravity: In W, in [m/s^2].
        iterations: Of the QUICK solver.
        over_relaxation: Of the QUICK solver.
        erp: Share of a constraint's error that one step removes.
        cfm: Softness of the constraints.
        friction: Coulomb coefficient where the model names no material of the table.
        materials: How surfaces of materials that models name touch each other.
        limit_correcting_velocity: Whether ``max_correcting_velocity`` counts.
        max_correcting_velocity: Of contacts that push bodies apart, in [m/s].
        surface_layer: Depth that contacts may keep, in [m].
        max_contacts: Contacts kept for a pair of shapes.
        joint_limits: Whether the position ranges of the joints hold.
        self_collision: Whether links of one body collide as its model says.
        convex_meshes: Whether cones and meshes of moving links collide as their convex hulls.
        predict_sticking: Whether the WORLD solver first supposes that contacts at rest stick,
            and solves the step again where one would have to pull or slips. What moves is the
            same; it is faster, and a stack stands, since forces share out evenly.
        seed: Of the engine's random order of constraints.
    """

    time_step: float = 0.001
    solver: Solver = Solver.WORLD
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.80665)
    iterations: int = 50
    over_relaxation: float = 1.3
    erp: float = 0.4
    cfm: float = 1e-8
    friction: float = 1.0
    materials: MaterialTable = field(default_factory=MaterialTable)
    limit_correcting_velocity: bool = True
    max_correcting_velocity: float = 0.01
    surface_layer: float = 1e-4
    max_contacts: int = 4
    joint_limits: bool = True
    self_collision: bool = True
    convex_meshes: bool = False
    predict_sticking: bool = True
    seed: int = 0

    @property
    def step_ns(self) -> int:
        """The time step as an integer, in [ns]."""
        return round(self.time_step * NS_PER_S)

    @property
    def correcting_velocity(self) -> float:
        """The most speed at which contacts push bodies apart, in [m/s]; infinity for any."""
        return self.max_correcting_velocity if self.limit_correcting_velocity else inf


# No element of gravity means as much as this, in [m/s^2].
MAX_GRAVITY = 1e6
# The range in which each other number of PhysicsSettings makes sense.
PHYSICS_RANGES: Mapping[str, tuple[float, float]] = {
    "time_step": (1e-6, 0.1),
    "iterations": (1, 10_000),
    "over_relaxation": (0.1, 2.0),
    "erp": (0.0, 1.0),
    "cfm": (0.0, 1.0),
    "friction": (0.0, 1e6),
    "max_correcting_velocity": (0.0, inf),
    "surface_layer": (0.0, 1.0),
    "max_contacts": (1, 128),
    "seed": (0, 2**32 - 1),
}


def check_ranges(settings: PhysicsSettings) -> None:
    """Check every number of the settings against its range.

    Raises:
        PhysicsError: One is out of range; the message names it.
    """
    for name, (lowest, highest) in PHYSICS_RANGES.items():
        value = getattr(settings, name)
        if not lowest <= value <= highest:
            raise PhysicsError(
                f"{name} must be from {lowest:.10g} to {highest:.10g}, not {value:g}"
            )
    if len(settings.gravity) != 3 or not all(abs(g) < MAX_GRAVITY for g in settings.gravity):
        raise PhysicsError(f"gravity must be three finite numbers, not {settings.gravity}")


@dataclass(frozen=True, kw_only=True)
class Placement:
    """How a body enters the world.

    Attributes:
        name: Unique in the world.
        body: The model.
        X_WL: Pose of the root link.
        q: Initial joint positions, shape (joints,); None means the model's own.
        dq: Initial joint velocities, shape (joints,); None means zero.
        v: Velocity of the root origin, in [m/s], shape (3,).
        w: Angular velocity of the root, in W, in [rad/s], shape (3,).
        fixed: Whether the root is fixed to the world.
    """

    name: str
    body: Body
    X_WL: Pose = field(default_factory=Pose)
    q: Array | None = None
    dq: Array | None = None
    v: Array = field(default_factory=lambda: np.zeros(3))
    w: Array = field(default_factory=lambda: np.zeros(3))
    fixed: bool = False

    @property
    def initial_q(self) -> Array:
        """The initial joint positions, the model's own where none were given, shape (joints,)."""
        if self.q is not None:
            return self.q
        return BodyState(self.body).q


class Engine(Protocol):
    """Advances a world by fixed steps; see ``ode/engine.py`` and ``pyode/engine.py``."""

    @property
    def settings(self) -> PhysicsSettings:
        """What the world was made with."""

    @property
    def state(self) -> WorldState:
        """The world as it is now; its arrays are live."""

    @property
    def contacts(self) -> int:
        """At how many points bodies touched in the last step."""

    record_contacts: bool
    """Whether steps keep for ``contact_points`` what they know: not at first, since it takes
    time. It changes no state, to the last bit."""

    def contact_points(self) -> ContactPoints:
        """Return where bodies touched in the last step, and with what forces.

        There are none where no step led: after a reset, when a body was moved or removed, or a
        state restored; nor where the last step was not to tell them. No snapshot keeps them.
        """

    def add_body(self, placement: Placement) -> SimulatedBody:
        """Put a body into the world.

        Raises:
            PhysicsError: The engine cannot take it (a negative mass on a moving link, a
                shape it does not know, a name taken); nothing was added.
        """

    def remove_body(self, name: str) -> None:
        """Take a body out of the world, with its shapes and joints; its arrays stay as they were.

        Raises:
            KeyError: There is none of this name.
            PhysicsError: The engine has failed; the world can only be reset.
        """

    def move_body(self, placement: Placement) -> None:
        """Put the body ``placement.name`` elsewhere, between two steps, as if it had jumped.

        Its pose, velocities, q and dq become those of the placement; also those of a fixed or
        static body, whose shapes move along. What it is driven and pushed by stays. A reset
        still leads back to the placement with which it was added.

        Raises:
            KeyError: There is none of this name.
            PhysicsError: The placement is one of another model, is fixed where the body is not
                or the other way round, or cannot be; nothing was moved.
        """

    def save(self) -> dict[str, AnyArray]:
        """Return all that ``restore`` needs to go on to the last bit: copies, by name.

        ``time_ns`` (), ``bodies`` (their names, in order), ``settings`` ("name=value" each),
        and of each body, as "BODY/...": ``fingerprint`` of what it was made of, its motion,
        drive and wrench, and the engine's own.
        """

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go back to a saved state; equal steps from there give equal states, to the last bit.

        The world must have the same settings, and the same bodies, placed in the same way
        when they were added, in any order.

        Raises:
            PhysicsError: Something does not fit: a body, a setting, a name, shape or type of
                an array, a number that is not finite or makes no sense. The message names
                it, and nothing has changed.
        """

    def reset(self) -> None:
        """Put every body back to its placement, at time zero, and seed the random order.

        Nothing pushes any more; the drives stay.
        """

    def retime(self, time_ns: int) -> None:
        """Set the clock to a time in [ns], at least 0; the world stays as it is."""

    def step(self, count: int = 1) -> None:
        """Advance by ``count`` steps.

        Raises:
            PhysicsError: The state is no longer finite, or absurd. The world stays as it
                was before the offending step and can be reset.
        """

    def cast_rays(
        self,
        origins: Array,
        directions: Array,
        max_distance: float,
        ignored: str | None = None,
        ignored_link: int | None = None,
    ) -> Array:
        """Return the distance to the nearest collision shape along each ray, in [m], shape (n,).

        A ray that starts inside a shape meets its surface from within, where it leaves it.

        Args:
            origins: In W, in [m], shape (n, 3).
            directions: Unit vectors in W, shape (n, 3).
            max_distance: In [m]; farther is inf.
            ignored: Name of a body that rays pass through, or None.
            ignored_link: Index of the only link of that body that they pass through; None
                means all of them.
        """

    def close(self) -> None:
        """Free what the engine holds. Nothing else may be called afterwards."""
