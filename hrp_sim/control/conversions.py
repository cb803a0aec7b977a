"""Joint commands from numbers: by joint, in the order of the joints, or velocities of a vehicle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from numbers import Real

from hrp_model import Body, Joint, Link
from hrp_model.diagnostics import names_with_hint
from hrp_model.kinematics.drive import drive_kinematics
from hrp_model.kinematics.vehicle import DifferentialDrive, vehicle_drive
from hrp_model.kinematics.wheels import SteeredDrive

from ..engine.state import MAX_DRIVE_VALUE, SimulatedBody
from .commands import Command, ControlMode, JointCommand
from .trajectory import BadTrajectoryError, JointTrajectory, TrajectoryRun

_COMMANDS = (
    "a mapping from joint names to positions, such as {'J1': 0.5}, or a JointCommand, "
    "JointTrajectory, TrajectoryRun, CancelTrajectory, GainChange or ModeChange"
)
_UNITS = {"position": "rad or m", "velocity": "rad/s or m/s", "effort": "N m or N"}


def commanded_joints(body: Body) -> list[Joint]:
    """Return the joints and tracks for which commands without names are, in their order.

    These are those with an id, or all in the order of joint states if none has one. Mimic joints
    are left out.
    """
    free = [x.joint for x in body.jointed_links if x.joint.mimic is None]
    return [joint for joint in free if joint.id is not None] or free


def array_command(body: Body, mode: ControlMode, values: Sequence[float]) -> JointCommand:
    """Return the command that gives one value to each of ``commanded_joints``.

    Args:
        body: The robot.
        mode: Kind of the values.
        values: In [rad] or [m], [rad/s] or [m/s], [N m] or [N]; NaN leaves a joint unchanged.

    Raises:
        ValueError: Their number is not that of the joints; the message names the joints.
    """
    names = [joint.name for joint in commanded_joints(body)]
    if len(values) != len(names):
        raise ValueError(
            f"{len(values)} values of {mode.value} for {len(names)} joints: "
            f"{', '.join(names) or 'none'}"
        )
    return JointCommand(names, **{mode.value: values})


def vehicle_command(body: Body, linear_x: float, angular_z: float) -> JointCommand:
    """Return the command that drives a vehicle on two tracks, or on wheels.

    Where it must slip in a turn, the speeds are those at which it turns as fast as it is asked,
    on a level floor; see ``hrp_model.kinematics.drive``.

    Args:
        body: The vehicle.
        linear_x: Forward velocity, in [m/s].
        angular_z: Yaw rate, to the left, in [rad/s].

    Raises:
        ValueError: It has neither two tracks nor wheels that can drive it.
    """
    drive = vehicle_drive(body)
    if isinstance(drive, str):
        raise ValueError(
            f"'{body.name}' has no tracks or wheels on both sides to drive with: {drive}"
        )
    if isinstance(drive, SteeredDrive):
        return _steered_command(body, *drive.motion(linear_x, angular_z))
    half = 0.5 * drive_kinematics(body).effective_track
    radius = drive.wheel_radius if isinstance(drive, DifferentialDrive) else 1.0
    sides = ((drive.left, linear_x - half * angular_z), (drive.right, linear_x + half * angular_z))
    speeds = {link: v / radius for links, v in sides for link in links}
    if isinstance(drive, DifferentialDrive):
        return _wheels_command(drive, speeds)
    return JointCommand([link.joint.name for link in speeds], velocity=[*speeds.values()])


def _wheels_command(drive: DifferentialDrive, speeds: Mapping[Link, float]) -> JointCommand:
    """Return the command of forward speeds of wheels, in [rad/s], that lets casters turn freely."""
    casters = [link.joint.name for link in drive.casters]
    velocity = [-v if link.name in drive.backward else v for link, v in speeds.items()]
    effort = [nan] * len(speeds) + [0.0] * len(casters) if casters else []
    return JointCommand(
        [*(link.joint.name for link in speeds), *casters],
        velocity=[*velocity, *(nan for _ in casters)],
        effort=effort,
    )


def _steered_command(
    body: Body, positions: Mapping[str, float], speeds: Mapping[str, float]
) -> JointCommand:
    """Return the command of positions and speeds, by the names of links."""
    return JointCommand(
        [body.link(name).joint.name for name in (*positions, *speeds)],
        position=[*positions.values(), *(nan for _ in speeds)],
        velocity=[*(nan for _ in positions), *speeds.values()],
    )


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
