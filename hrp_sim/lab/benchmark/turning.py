"""How vehicles of a world turn, measured alone on a level floor: what planners should know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import atan2, cos, inf, sin, tau

import numpy as np

from hrp_model import Diagnostic, Diagnostics, Severity
from hrp_model.diagnostics import listed
from hrp_model.frames import level_scans
from hrp_model.kinematics.drive import drive_limits
from hrp_model.kinematics.vehicle import vehicle_drive
from hrp_model.kinematics.wheels import root_poses
from hrp_model.rigid import Array

from ...control import vehicle_command
from ...simulation import Simulation
from ...world.config import BodyEntry, WorldConfig
from ...world.load import alone_on_floor

_SPEED, _YAW_RATE = 0.3, 0.4  # of the test, in [m/s] and [rad/s]; or half of what motors can do
_START, _PERIOD, _PERIODS = 1.5, 0.1, 20  # [s]
# Deviations that controllers of vehicles do not correct well.
MAX_OFFSET = 0.05  # of the turn centre, in [m]
MAX_RATE_ERROR = 0.05
_MAX_LISTED = 8


@dataclass(frozen=True)
class Turning:
    """How a vehicle turned.

    Attributes:
        wanted: Yaw rate that was commanded, in [rad/s].
        rate: Mean yaw rate, in [rad/s].
        center: Where it does not move sideways, along the x axis of its root, in [m]; infinite if
            it did not turn.
    """

    wanted: float
    rate: float
    center: float


def measure_turning(entry: BodyEntry, world: WorldConfig) -> Turning:
    """Return how a vehicle turns on the spot, or as a car twice as wide as it can.

    Args:
        entry: The vehicle.
        world: The world, whose physics it has.

    Raises:
        PhysicsError: It cannot be simulated.
    """
    body = replace(entry.placement.body, devices=())
    limits = drive_limits(body)
    speed, rate = 0.0, min(_YAW_RATE, 0.5 * limits.yaw_rate)
    if not limits.kind.turns_on_the_spot:
        speed = min(_SPEED, 0.5 * limits.speed)
        rate = speed / (2.0 * limits.min_radius)
    alone = replace(alone_on_floor(body, Diagnostics.silent()), physics=world.physics)
    moves = []
    with Simulation(alone, diagnostics=Diagnostics.silent()) as simulation:
        name = next(name for name, b in simulation.bodies.items() if not simulation.is_fixed(name))
        motion = simulation.bodies[name].motion
        simulation.command(name, vehicle_command(body, speed, rate))
        simulation.run(_START)
        for _ in range(_PERIODS):
            before, yaw = motion.p[0, :2].copy(), _yaw(motion.R[0])
            simulation.run(_PERIOD)
            turn = (_yaw(motion.R[0]) - yaw + 0.5 * tau) % tau - 0.5 * tau
            dx, dy = motion.p[0, :2] - before
            middle = yaw + 0.5 * turn
            moves.append((cos(middle) * dy - sin(middle) * dx, turn))
    aside, turned = np.sum(moves, axis=0).tolist()
    measured = turned / (_PERIODS * _PERIOD)
    return Turning(rate, measured, -aside / turned if abs(measured) > 0.05 * rate else inf)


def _yaw(R: Array) -> float:
    return atan2(R[1, 0], R[0, 0])


def check_drives(world: WorldConfig) -> Iterator[Diagnostic]:
    """Yield what keeps vehicles of a world from being driven by planners such as Nav2.

    The measured motion is a note, or a warning if it differs from the commanded one.
    """
    movable = [e for e in world.bodies if not e.placement.fixed and e.placement.body.moving_links]
    vehicles = [e for e in world.bodies if not isinstance(vehicle_drive(e.placement.body), str)]
    vehicles = [entry for entry in vehicles if not entry.placement.fixed]
    if not vehicles:
        reasons = [f"'{e.placement.name}': {vehicle_drive(e.placement.body)}" for e in movable] or [
            "no body has joints and can move"
        ]
        message = f"the world has no vehicle ({listed(reasons, _MAX_LISTED)})"
        yield Diagnostic(Severity.ERROR, "no-vehicle", message)
    for entry in vehicles:
        name, body = entry.placement.name, entry.placement.body
        if not level_scans(body, root_poses(body)):
            message = f"'{name}' has no planar range sensor whose scan is level, as Nav2 needs"
            yield Diagnostic(Severity.WARNING, "no-level-scan", message)
        yield from _turns(name, measure_turning(entry, world))


def _turns(name: str, found: Turning) -> Iterator[Diagnostic]:
    error = found.rate / found.wanted - 1.0
    rate = f"'{name}' turns at {found.rate:.3f} rad/s of {found.wanted:.3f} ({error:+.1%})"
    severity = Severity.WARNING if abs(error) > MAX_RATE_ERROR else Severity.NOTE
    yield Diagnostic(severity, "turn-rate", f"{rate}, alone on a level floor")
    center = f"'{name}' turns about a point {abs(found.center):.3f} m "
    center += "ahead of" if found.center > 0.0 else "behind"
    severity = Severity.WARNING if abs(found.center) > MAX_OFFSET else Severity.NOTE
    if found.center != inf:
        yield Diagnostic(severity, "turn-center", f"{center} its root")
