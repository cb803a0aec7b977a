"""The interface between the simulation and a physics engine, and the engines by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body, BodyState, Link, Pose
from hrp_model.diagnostics import out_of_range
from hrp_model.kinematics.state import STANDARD_GRAVITY
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from .materials import MaterialTable
from .schedule import NS_PER_S
from .state import BodyJoint, ContactPoints, SimulatedBody, WorldState

if TYPE_CHECKING:
    from .ode import OdeEngine

AnyArray = NDArray[Any]
ConvexMeshes: TypeAlias = bool | Literal["auto", "parts"]
CONVEX_MESHES: tuple[ConvexMeshes, ...] = ("auto", True, False, "parts")
# Bound on each element of gravity, in [m/s^2].
MAX_GRAVITY = 1e6
# Valid range of each other number of PhysicsSettings.
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


class PhysicsError(RuntimeError):
    """A step failed, or the physics cannot use an input; the message names the link."""


class StepInterrupted(Exception):  # noqa: N818 - not an error: it was asked for
    """A step was given up, as ``Engine.interrupt`` asks for; the world stays as before it."""


class Solver(Enum):
    """Solver of the constraints of a step.

    WORLD is exact and uses the tree of a robot's joints; QUICK is ODE's iterative one. The engine
    ``pyode`` has ODE's own exact solver, dWorldStep, for WORLD.
    """

    WORLD = "world"
    QUICK = "quick"


@dataclass(frozen=True, kw_only=True)
class PhysicsSettings:
    """Settings of the physics, apart from the models.

    Attributes:
        time_step: In [s].
        solver: WORLD is exact and the default; QUICK is for large heaps of bodies.
        gravity: In W, in [m/s^2].
        iterations: Of the QUICK solver.
        over_relaxation: Of the QUICK solver.
        erp: Error reduction parameter: the fraction of a constraint's error that one step
            removes.
        cfm: Constraint force mixing: softness of contacts, stops, gears and loops. With ``WORLD``
            the joints of a body's tree hold exactly.
        friction: Coulomb coefficient of links without a material of the table.
        materials: Friction and restitution of the materials that models name.
        limit_correcting_velocity: Whether ``max_correcting_velocity`` applies.
        max_correcting_velocity: Speed at which contacts separate bodies, in [m/s].
        surface_layer: Penetration depth that contacts allow, in [m].
        max_contacts: Maximum number of contacts of a pair of links, of each direction.
        joint_limits: Whether position limits of joints are enforced.
        self_collision: Whether links of one body collide, as far as the model allows it.
        sleeping: Whether islands of bodies at rest are left out of steps until something acts on
            them; of no effect with QUICK.
        convex_meshes: Whether cones and meshes of moving links collide as their convex hulls.
            "auto": those that are convex, as the hull or primitive that they are. "parts": also
            concave ones, as convex parts.
        seed: Of the random order of constraints, which WORLD has none of.
    """

    time_step: float = 0.001
    solver: Solver = Solver.WORLD
    gravity: tuple[float, float, float] = (0.0, 0.0, -STANDARD_GRAVITY)
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
    sleeping: bool = False
    convex_meshes: ConvexMeshes = "auto"
    seed: int = 0

    @property
    def step_ns(self) -> int:
        """The time step as an integer, in [ns]."""
        return round(self.time_step * NS_PER_S)

    @property
    def correcting_velocity(self) -> float:
        """Maximum speed at which contacts separate bodies, in [m/s]; may be infinite."""
        return self.max_correcting_velocity if self.limit_correcting_velocity else inf


def check_ranges(settings: PhysicsSettings) -> None:
    """Check every number of the settings against its range.

    Raises:
        PhysicsError: One is out of range; the message names it.
    """
    for name, (lowest, highest) in PHYSICS_RANGES.items():
        value = getattr(settings, name)
        if not lowest <= value <= highest:
            raise PhysicsError(f"{name} {out_of_range(value, lowest, highest)}")
    if settings.convex_meshes not in CONVEX_MESHES:
        raise PhysicsError(
            f"convex_meshes must be 'auto', True, False or 'parts', not {settings.convex_meshes!r}"
        )
    if len(settings.gravity) != 3 or not all(abs(g) < MAX_GRAVITY for g in settings.gravity):
        raise PhysicsError(
            f"gravity must be three numbers below {MAX_GRAVITY:g} m/s^2, not {settings.gravity}"
        )


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Initial state of a body in the world.

    Attributes:
        name: Unique in the world.
        body: The model.
        X_WL: Pose of the root link.
        q: Initial joint positions, shape (joints,); None means those of the model.
        dq: Initial joint velocities, shape (joints,); None means zero.
        v: Velocity of the root origin, in [m/s], shape (3,).
        w: Angular velocity of the root, in W, in [rad/s], shape (3,).
        fixed: Whether the root is fixed to the world.
        contact_materials: Contact materials by link name, in place of the model's.
    """

    name: str
    body: Body
    X_WL: Pose = field(default_factory=Pose)
    q: Array | None = None
    dq: Array | None = None
    v: Array = field(default_factory=lambda: np.zeros(3))
    w: Array = field(default_factory=lambda: np.zeros(3))
    fixed: bool = False
    contact_materials: Mapping[str, str] = field(default_factory=dict)

    @property
    def initial_q(self) -> Array:
        """Initial joint positions, by default those of the model, shape (joints,)."""
        if self.q is not None:
            return self.q
        return BodyState(self.body).q

    def contact_material(self, link: Link) -> str:
        """Return the name of a link's contact material."""
        return self.contact_materials.get(link.name, link.contact_material)


class Engine(Protocol):
    """Advances a world by fixed steps; see ``ode/engine.py`` and ``pyode/engine.py``."""

    @property
    def settings(self) -> PhysicsSettings:
        """The settings of the world."""

    @property
    def time_ns(self) -> int:
        """The simulation time, in [ns]."""

    @property
    def state(self) -> WorldState:
        """The current state of the world; its arrays are live."""

    @property
    def contacts(self) -> int:
        """Number of contact points in the last step."""

    record_contacts: bool
    """Whether steps record contact points and forces for ``contact_points``; off by default,
    since it takes time. It does not affect the state, to the last bit."""

    def contact_points(self) -> ContactPoints:
        """Return the contact points and forces that the last step recorded.

        Empty unless ``record_contacts`` was on, and after a reset, a restored state, or when a
        body was moved or removed. Snapshots do not contain them.
        """

    def add_body(self, placement: Placement) -> SimulatedBody:
        """Add a body to the world.

        Raises:
            PhysicsError: The engine cannot simulate it (negative mass of a moving link, an
                unsupported shape), or its name is taken; nothing was added.
        """

    def remove_body(self, name: str) -> None:
        """Remove a body from the world, with its joints to others; its arrays keep their values.

        Raises:
            KeyError: There is no body of this name.
            PhysicsError: The engine has failed; the world can only be reset.
        """

    def move_body(self, placement: Placement) -> None:
        """Teleport the body ``placement.name`` between two steps.

        Its pose, velocities, q and dq become those of the placement. The collision shapes of a
        fixed or static body move along. Drives and wrenches stay. Joints to other bodies are
        removed. A reset still goes back to the placement with which the body was added.

        Raises:
            KeyError: There is no body of this name.
            PhysicsError: The placement has another model, has another value of ``fixed`` than
                the body, or is invalid; nothing was moved.
        """

    @property
    def joints(self) -> Mapping[str, BodyJoint]:
        """The joints between bodies by name, in the order in which they were added."""

    def add_joint(self, joint: BodyJoint) -> None:
        """Connect links of two bodies from the next step on; the links do not collide any more.

        Raises:
            PhysicsError: The name is taken, the joint is invalid, neither link can move, or the
                engine has no joints between bodies; nothing was added.
        """

    def remove_joint(self, name: str) -> None:
        """Remove a joint between bodies.

        Raises:
            KeyError: There is no joint of this name.
        """

    def save(self) -> dict[str, AnyArray]:
        """Return copies of the whole state by name, from which ``restore`` continues bit-exactly.

        ``time_ns`` (), ``bodies`` (their names, in order), ``settings`` ("name=value" each),
        ``body_joints_...`` (the joints between bodies), and of each body, as "BODY/...":
        ``fingerprint`` of its model and initial pose, its motion, drive and wrench, and
        internal state of the engine.

        Raises:
            PhysicsError: The engine cannot save its state.
        """

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go back to a saved state; equal steps from there give bit-identical states.

        The world must have the same settings and the same bodies, added with the same
        placements, in any order.

        Raises:
            PhysicsError: A body, a setting, or the name, shape, type or value of an array does
                not match. The message names it, and nothing has changed.
        """

    def reset(self) -> None:
        """Put every body back to its placement at time zero, and reseed the random order.

        External wrenches become zero; drives stay. Joints between bodies are removed.
        """

    def retime(self, time_ns: int) -> None:
        """Set the simulation time in [ns], at least 0; the state stays the same."""

    def step(self, count: int = 1) -> None:
        """Advance by ``count`` steps.

        Raises:
            PhysicsError: The state is not finite or too large. The world stays as it was
                before the failed step and can be reset.
            StepInterrupted: See ``interrupt``. Exceptions that signal handlers raise end a step
                in the same way.
        """

    def interrupt(self) -> None:
        """Ask for a step that is being taken to be given up; no effect between steps.

        May be called from any thread and from signal handlers.
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

        A ray that starts inside a shape hits its surface from within.

        Args:
            origins: In W, in [m], shape (n, 3).
            directions: Unit vectors in W, shape (n, 3).
            max_distance: In [m]; the distance is inf where nothing is nearer.
            ignored: Name of a body that rays pass through, or None.
            ignored_link: Index of the only link of that body that rays pass through; None
                means all links.
        """

    def close(self) -> None:
        """Free the resources of the engine. Nothing else may be called afterwards."""


ENGINES = ("ode", "pyode")


def make_ode_engine(settings: PhysicsSettings) -> OdeEngine:
    """Return a new engine ``ode`` with an empty world.

    Raises:
        PhysicsError: A setting is invalid.
        MissingLibraryError: ODE is not installed.
    """
    from .ode import OdeEngine

    return OdeEngine(settings)


def make_engine(name: str, settings: PhysicsSettings) -> Engine:
    """Return a new engine with an empty world.

    Args:
        name: ``ode``, the C extension, which supports everything; or ``pyode``, which needs
            PyODE and supports only simple worlds.
        settings: Of the world.

    Raises:
        PhysicsError: There is no such engine, its dependencies are not installed, or a setting
            is invalid.
        MissingLibraryError: ODE is not installed.
    """
    if name == "ode":
        return make_ode_engine(settings)
    if name == "pyode":
        try:
            from .pyode import PyOdeEngine
        except ModuleNotFoundError as error:
            if error.name != "ode":
                raise
            raise PhysicsError(
                "the engine 'pyode' needs PyODE: install it (apt install python3-pyode), or use "
                "the engine 'ode'"
            ) from None
        return PyOdeEngine(settings)
    known = " and ".join(f"'{known}'" for known in ENGINES)
    raise PhysicsError(f"there is no engine '{name}'; the engines are {known}")
