"""What a body can be told to do with its joints, and how often it was not done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .settings import ControlMode
from .trajectory import check_names

if TYPE_CHECKING:
    from .controller import BodyController
    from .runs import TrajectoryRun

# More names than any robot has joints are no command, and would take their time.
MOST_NAMES = 10_000


class Command(Protocol):
    """Something that a body is told to do; ``Simulation.command`` takes it there."""

    def give(self, controller: BodyController, time_ns: int) -> None:
        """Have a controller do it, at a time in [ns]. Called by the thread that steps.

        It raises nothing: what cannot be used is counted and reported by the controller.
        """


@dataclass(frozen=True, slots=True)
class JointCommand:
    """A command to some joints of one body. NaN leaves a joint as it is.

    A list of values may be shorter than the list of names: then it holds the values of only
    those of the joints that are commanded by this kind of value, as ros2_control sends them.

    Attributes:
        names: Joint names.
        position: In [rad] or [m], one per name, or empty.
        velocity: In [rad/s] or [m/s], one per name, or empty.
        effort: In [N m] or [N], one per name, or empty.

    Raises:
        TypeError: Names are not a sequence of texts, or values not a sequence of numbers.
    """

    names: Sequence[str]
    position: Sequence[float] = ()
    velocity: Sequence[float] = ()
    effort: Sequence[float] = ()

    def __post_init__(self) -> None:
        check_names(self.names)
        for kind in ("position", "velocity", "effort"):
            values = getattr(self, kind)
            if not _are_numbers(values):
                raise TypeError(f"{kind} must be a list of numbers, one per name, not {values!r}")

    def give(self, controller: BodyController, time_ns: int) -> None:
        """Have a controller take it."""
        if len(self.names) > MOST_NAMES:
            message = f"a command names {len(self.names)} joints; it is ignored"
            controller.refuse("too many names", message)
            return
        controller.command(self, time_ns)


def _check_gain(name: str, gain: object) -> None:
    if gain is not None and not isinstance(gain, Real):
        raise TypeError(f"{name} must be a number or None, not {gain!r}")


def _check_name(joint: object) -> None:
    if not isinstance(joint, str):
        raise TypeError(f"a joint is named by a text, not {joint!r}")


def _are_numbers(values: object) -> bool:
    """Whether something is a sequence of numbers."""
    if isinstance(values, str) or not hasattr(values, "__len__"):
        return False
    found = np.asarray(values)
    return found.ndim == 1 and (found.dtype.kind in "fiu" or not len(found))


class Setting:
    """A command that counts from now on and after a reset, and so is not forgotten by one."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class GainChange(Setting):
    """Other gains for a joint, from now on and after a reset.

    Attributes:
        joint: Its name.
        kp: Stiffness, in [N m/rad] or [N/m]; None leaves it.
        kd: Damping, in [N m s/rad] or [N s/m]; None leaves it.

    Raises:
        TypeError: The name is no text, or a gain no number.
    """

    joint: str
    kp: float | None = None
    kd: float | None = None

    def __post_init__(self) -> None:
        _check_name(self.joint)
        _check_gain("kp", self.kp)
        _check_gain("kd", self.kd)

    def give(self, controller: BodyController, time_ns: int) -> None:  # noqa: ARG002
        """Have a controller take it."""
        try:
            controller.set_gains(self.joint, kp=self.kp, kd=self.kd)
        except ValueError as error:
            controller.refuse(f"gains {self.joint}", f"a change of gains is ignored: {error}")


@dataclass(frozen=True, slots=True)
class ModeChange(Setting):
    """Another way to drive a joint, from now on and after a reset.

    Raises:
        TypeError: The name is no text, or the mode no ``ControlMode``.
    """

    joint: str
    mode: ControlMode

    def __post_init__(self) -> None:
        _check_name(self.joint)
        if not isinstance(self.mode, ControlMode):
            raise TypeError(f"mode must be a ControlMode, not {self.mode!r}")

    def give(self, controller: BodyController, time_ns: int) -> None:  # noqa: ARG002
        """Have a controller take it."""
        try:
            controller.set_mode(self.joint, self.mode)
        except ValueError as error:
            controller.refuse(f"mode {self.joint}", f"a change of mode is ignored: {error}")


@dataclass(frozen=True, slots=True)
class CancelTrajectory:
    """The end of a trajectory before its time: the joints that it moves hold where they are.

    Its run ends before any other command of the same step has its effect, and may end earlier;
    one that has not been taken by then is never followed. The joints hold when it is the turn of
    this command.
    """

    run: TrajectoryRun

    def give(self, controller: BodyController, time_ns: int) -> None:  # noqa: ARG002
        """Have a controller take it."""
        controller.cancel(self.run)


@dataclass(slots=True)
class CommandCounts:
    """What became of commands since the simulation was made; a reset leaves it.

    Attributes:
        taken: Commands handed to the controllers.
        dropped: Given up because too many waited, because their body was gone, or because the
            world went elsewhere while they waited, by a reset or the like.
        refused: Commands of which something could not be used.
        stale: Too old when they arrived; counted by who receives them.
        timed_out: How often joints of a body were left alone; see ``CommandTimeout``.
    """

    taken: int = 0
    dropped: int = 0
    refused: int = 0
    stale: int = 0
    timed_out: int = 0
