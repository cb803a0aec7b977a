"""Check values by joint name, and make commands of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from numbers import Real

from hrp_model.diagnostics import names_with_hint

from ..engine.state import MAX_DRIVE_VALUE, SimulatedBody
from .commands import Command, JointCommand
from .trajectory import BadTrajectoryError, JointTrajectory
from .trajectory_run import TrajectoryRun

_COMMANDS = (
    "a mapping from joint names to positions, such as {'J1': 0.5}, or a JointCommand, "
    "JointTrajectory, TrajectoryRun, CancelTrajectory, GainChange or ModeChange"
)
_UNITS = {"position": "rad or m", "velocity": "rad/s or m/s", "effort": "N m or N"}


def as_command(
    target: SimulatedBody,
    command: Command | Mapping[str, float] | None,
    velocity: Mapping[str, float] | None,
    effort: Mapping[str, float] | None,
) -> Command:
    """Return a command for a body, built from values by joint name unless it is one already.

    Args:
        target: The body.
        command: A command, or positions by joint name, in [rad] or [m].
        velocity: By joint name, in [rad/s] or [m/s].
        effort: By joint name, in [N m] or [N].

    Raises:
        KeyError: The body has no joint of a given name; the message lists its joints.
        TypeError: The argument is no command, or a value is no number.
        ValueError: A value is not finite, or too large.
    """
    if isinstance(command, Command):
        if velocity is not None or effort is not None:
            raise TypeError(
                "velocity and effort can be combined with positions by joint name only, not with a "
                f"{type(command).__name__}"
            )
        _check_points(command)
        return command
    kinds = {"position": command, "velocity": velocity, "effort": effort}
    given = {kind: values for kind, values in kinds.items() if values is not None}
    if not given or not all(isinstance(values, Mapping) for values in given.values()):
        wrong = next((v for v in given.values() if not isinstance(v, Mapping)), None)
        raise TypeError(f"a command must be {_COMMANDS}, not {_described(wrong)}")
    return _joint_command(target, given)


def _check_points(command: object) -> None:
    """Check that the points of a trajectory consist of numbers.

    Their values are validated in the next step, as for commands from other sources.

    Raises:
        TypeError: They do not.
    """
    trajectory = command.trajectory if isinstance(command, TrajectoryRun) else command
    if not isinstance(trajectory, JointTrajectory):
        return
    try:
        _ = trajectory.table
    except BadTrajectoryError:
        pass
    except (TypeError, ValueError) as error:
        raise TypeError(f"the points of a trajectory must consist of numbers: {error}") from None


def _joint_command(target: SimulatedBody, given: Mapping[str, Mapping[str, float]]) -> JointCommand:
    known = [link.joint.name for link in target.body.jointed_links]
    names = list(dict.fromkeys(name for values in given.values() for name in values))
    for name in names:
        if name not in known:
            has = names_with_hint(str(name), known)
            raise KeyError(f"body '{target.name}' has no joint '{name}'; it has {has}")
    columns = {
        kind: [number(values[name], kind, name) if name in values else nan for name in names]
        for kind, values in given.items()
    }
    return JointCommand(names, **columns)


def number(value: object, kind: str, joint: str) -> float:
    """Return the value of a joint as a float.

    Args:
        value: The value.
        kind: "position", "velocity" or "effort".
        joint: Name of the joint.

    Raises:
        TypeError: It is not a number.
        ValueError: It is not finite, or too large.
    """
    name = f"the {kind} of joint '{joint}'"
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number [{_UNITS[kind]}], not {_described(value)}")
    number = float(value)
    if not -MAX_DRIVE_VALUE < number < MAX_DRIVE_VALUE:
        what = f"the {kind} of joint '{joint}' is {number} {_UNITS[kind]}"
        raise ValueError(f"{what}; it must be finite and below {MAX_DRIVE_VALUE:g}")
    return number


def _described(thing: object) -> str:
    """Return the type and the possibly truncated representation of an object."""
    if thing is None:
        return "None"
    text = repr(thing)
    return f"{type(thing).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
