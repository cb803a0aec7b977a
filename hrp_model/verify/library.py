"""Common interface of the libraries that read a URDF, and the quantities that are compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum

from ..geometry import IntArray
from ..inertia import MassProperties
from ..late_dataclass import dataclass
from ..rigid import Array


class Quantity(Enum):
    """Quantity that is compared; the value is its name in the table."""

    TREE = "links and their parents"
    JOINTS = "joint names and types"
    POSITION_LIMITS = "position limits"
    VELOCITY_LIMITS = "velocity limits"
    EFFORT_LIMITS = "effort limits"
    DAMPING = "damping and friction"
    MIMIC = "mimic joints"
    LINK_POSES = "poses of links"
    DEVICE_POSES = "poses of device frames"
    BASE_POSES = "poses of the base"
    INERTIALS = "mass and inertia of links"
    TOTAL_MASS = "total mass"
    CENTER_OF_MASS = "centre of mass"
    MASS_MATRIX = "mass matrix"
    MASS_MATRIX_WITH_ROTORS = "mass matrix with rotors"
    GRAVITY = "gravity torques"
    ACCELERATIONS = "accelerations"
    MOMENTUM = "momentum"
    FREE_MOTION = "free motion of 1 s"
    COLLISION_PRIMITIVES = "collision primitives"
    COLLISION_MESHES = "collision meshes"
    VISUAL_PRIMITIVES = "visual primitives"
    VISUAL_MESHES = "visual meshes"
    COLORS = "colours"


SHAPES = (
    Quantity.COLLISION_PRIMITIVES,
    Quantity.COLLISION_MESHES,
    Quantity.VISUAL_PRIMITIVES,
    Quantity.VISUAL_MESHES,
    Quantity.COLORS,
)
DYNAMICS = (
    Quantity.MASS_MATRIX,
    Quantity.MASS_MATRIX_WITH_ROTORS,
    Quantity.GRAVITY,
    Quantity.ACCELERATIONS,
    Quantity.MOMENTUM,
    Quantity.FREE_MOTION,
)
# Quantities by subject, for the summary.
SUBJECTS = {
    "tree": (Quantity.TREE, Quantity.JOINTS),
    "limits": (
        Quantity.POSITION_LIMITS,
        Quantity.VELOCITY_LIMITS,
        Quantity.EFFORT_LIMITS,
        Quantity.DAMPING,
    ),
    "mimic joints": (Quantity.MIMIC,),
    "kinematics": (Quantity.LINK_POSES, Quantity.DEVICE_POSES, Quantity.BASE_POSES),
    "masses": (Quantity.INERTIALS, Quantity.TOTAL_MASS, Quantity.CENTER_OF_MASS),
    "dynamics": DYNAMICS,
    "shapes": SHAPES,
}


class LibraryError(Exception):
    """A library cannot read the URDF; the message is its own."""


@dataclass(frozen=True)
class LibraryMimic:
    """A mimic joint: q = multiplier * q_leader + offset."""

    leader: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class LibraryJoint:
    """A joint as a library reads it.

    Attributes:
        name: Its name; None if the library has none for a fixed joint.
        types: The possible types in URDF.
        parent, child: Links.
        lower, upper, velocity, effort: Limits, in SI units and radians; None if the library has
            none.
        damping, friction: In [N m s/rad] and [N m], or [N s/m] and [N]; None likewise.
    """

    name: str | None
    types: frozenset[str]
    parent: str
    child: str
    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None
    damping: float | None = None
    friction: float | None = None


@dataclass(frozen=True, eq=False)
class LibraryShape:
    """A visual or collision element as a library reads it.

    Attributes:
        kind: "box", "sphere", "cylinder" (along Z) or "mesh".
        X_LS: Pose in its link, shape (4, 4).
        size: Edges of a box, radius of a sphere, or radius and length of a cylinder, in [m].
        vertices, triangles: Arrays of a mesh, shapes (n, 3) and (m, 3).
        color: RGBA of its material in the URDF, 0..1; None without one.
    """

    kind: str
    X_LS: Array
    size: tuple[float, ...] = ()
    vertices: Array | None = None
    triangles: IntArray | None = None
    color: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class Dynamics:
    """The dynamics in one posture.

    Attributes:
        mass_matrix: Rows and columns are, with a free root, the root's linear and angular
            acceleration at the root's origin in world axes, then those of ``joints``.
        gravity: Joint torques that balance gravity, in the order of ``joints``.
        joints: Names of the joints.
    """

    mass_matrix: Array
    gravity: Array
    joints: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LibraryMotion:
    """A state of motion under the URDF's names, and the efforts on the joints.

    Attributes:
        q, dq: Positions and velocities of all joints by name.
        effort: Torques or forces of drives by name; the library adds damping and friction.
        X_WU: Pose of the URDF's root link U in the world, shape (4, 4).
        v, w: Velocity of U's origin and angular velocity of U, in world axes, shape (3,).
    """

    q: Mapping[str, float]
    dq: Mapping[str, float]
    effort: Mapping[str, float]
    X_WU: Array
    v: Array
    w: Array


@dataclass(frozen=True, eq=False)
class Accelerations:
    """The accelerations in a state of motion.

    Attributes:
        root: Linear acceleration of U's origin and angular acceleration of U in world axes,
            shape (6,); zero for a fixed root.
        joints: Those of the joints by name.
    """

    root: Array
    joints: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Shapes:
    """The shapes of all links, by link, in the order of the file.

    Attributes:
        visual: Visual shapes; None if the library does not read them.
        collision: Collision shapes.
        left_out: Reasons why the library lacks some collision shapes, by link and index.
    """

    visual: Mapping[str, Sequence[LibraryShape]] | None
    collision: Mapping[str, Sequence[LibraryShape]]
    left_out: Mapping[tuple[str, int], str] = field(default_factory=dict)


class LibraryRobot(ABC):
    """A URDF as read by a library.

    Attributes:
        library: Name of the library.
        refusal: Why it refuses the file as it is; empty if it does not.
        hint: Note about how the file was read.
        notes: Notes about quantities.
        unknown: Quantities that it does not provide for this URDF, and why.
        parts: The links that are lumped into each link whose mass it provides.
        has_rotors: Whether accelerations contain the inertias of rotors.
    """

    library: str
    has_rotors = False

    def __init__(self) -> None:
        self.refusal = ""
        self.hint = ""
        self.notes: dict[Quantity, str] = {}
        self.unknown: dict[Quantity, str] = {}
        self.parts: dict[str, list[str]] = {}

    @abstractmethod
    def joints(self) -> Sequence[LibraryJoint]:
        """Return all joints."""

    @abstractmethod
    def poses(self, q: Mapping[str, float], X_WU: Array) -> Mapping[str, Array]:
        """Return the poses of all links in the world, (4, 4), by name.

        Args:
            q: Positions of all joints by name.
            X_WU: Pose of the URDF's root link in the world, shape (4, 4).
        """

    @abstractmethod
    def inertials(self) -> Mapping[str, MassProperties]:
        """Return the mass properties of links, in their frames."""

    @abstractmethod
    def center_of_mass(self, q: Mapping[str, float], X_WU: Array) -> tuple[float, Array]:
        """Return the total mass in [kg] and its centre in the world in [m], shape (3,)."""

    @abstractmethod
    def shapes(self) -> Shapes:
        """Return the shapes of all links."""

    def mimics(self) -> Mapping[str, LibraryMimic]:
        """Return the mimic joints by name; none if the library does not support them."""
        return {}


class DynamicRobot(LibraryRobot):
    """A URDF as read by a library with dynamics."""

    @abstractmethod
    def dynamics(self, q: Mapping[str, float], X_WU: Array) -> Dynamics:
        """Return the dynamics in a posture."""

    def dynamics_with_rotors(self, q: Mapping[str, float], X_WU: Array) -> Dynamics:
        """Return the same with the inertias of rotors, if the library knows them."""
        return self.dynamics(q, X_WU)

    @abstractmethod
    def accelerations(self, motion: LibraryMotion) -> Accelerations:
        """Return the accelerations without contacts and limits; not finite if undefined.

        Each joint has the library's damping and, opposite to its velocity, its friction.
        """

    @abstractmethod
    def momentum(self, motion: LibraryMotion) -> Array:
        """Return linear momentum, then angular momentum about the world's origin, shape (6,)."""
