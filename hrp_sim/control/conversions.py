"""Conversions to joint commands: from lists of numbers, and from velocities of a vehicle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

from hrp_model import Body, Joint, Link
from hrp_model.kinematics.vehicle import DifferentialDrive, TrackDrive, vehicle_drive
from hrp_model.kinematics.wheels import SteeredDrive

from .commands import JointCommand
from .settings import ControlMode


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

    The speeds assume that wheels and tracks do not slip. Unless there is one wheel on each side
    or some are steered they do slip in a turn, and the vehicle turns more slowly.

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
    if isinstance(drive, TrackDrive):
        half, radius = 0.5 * drive.track_separation, 1.0
    else:
        half, radius = 0.5 * drive.wheel_separation, drive.wheel_radius
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
