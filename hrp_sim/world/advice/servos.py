"""Rules for servo gains: their effect at a given time step."""

from __future__ import annotations

import cmath
from collections.abc import Iterator
from math import pi

from hrp_model import Diagnostic, Link
from hrp_model.diagnostics import listed
from hrp_model.kinematics.actuation import apparent_inertias
from hrp_model.rigid import Array

from ...control import ControlMode, JointControl
from ...control.joints import servo_gains
from ...engine.engine import PhysicsSettings
from .initial_state import InitialState, Starts, rounded_down

# Tolerated relative deviation of the discrete pole from the continuous one.
_MAX_DEVIATION = 0.3
_UNDERDAMPED = 0.7  # damping ratio below which a servo visibly oscillates


def servo_poles(inertia: float, kp: float, kd: float, time_step: float) -> tuple[complex, complex]:
    """Return the slower pole of a servo in continuous time, and as simulated, in [1/s].

    I q'' + kd q' + kp q = 0 has the poles s. With efforts evaluated at the end of each step,

        (1 + h kd / I + h^2 kp / I) q_2 - (2 + h kd / I) q_1 + q_0 = 0

    has the roots z, which correspond to s = ln(z) / h.

    Args:
        inertia: In [kg m^2] or [kg], greater than 0.
        kp: Stiffness, greater than 0.
        kd: Damping, not negative.
        time_step: In [s].
    """
    c, k, h = kd / inertia, kp / inertia, time_step
    # In this form no nearly equal numbers are subtracted.
    slow = -2.0 * k / (c + cmath.sqrt(c * c - 4.0 * k))
    b, a = 2.0 + h * c, 1.0 + h * c + h * h * k
    z = (b + cmath.sqrt(b * b - 4.0 * a)) / (2.0 * a)
    return slow, cmath.log(z) / h


def steps_resolve_servos(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """Gains in the world file act as in continuous time, neither damped nor slowed by the step.

    A servo too fast for the step stays stable and exact at rest; hence one that would not
    oscillate is worth a note only.
    """
    h = physics.time_step
    for start in starts:
        given = list(_given_gains(start))
        if not given:
            continue
        q, fixed = start.state.q, start.entry.placement.fixed
        inertias = apparent_inertias(start.body, q, fixed=fixed)
        damped: list[tuple[float, Link, str]] = []
        slowed: list[tuple[float, Link, str]] = []
        for i, link, kp, kd in given:
            if not inertias[i] > 0.0:
                continue
            wanted, got = servo_poles(float(inertias[i]), kp, kd, h)
            if abs(got - wanted) <= _MAX_DEVIATION * abs(wanted):
                continue
            text = f"'{link.joint.name}' (kp {kp:g}, kd {kd:g}) at {abs(wanted) / 2 / pi:.3g} Hz"
            oscillates = -wanted.real < _UNDERDAMPED * abs(wanted)
            (damped if oscillates else slowed).append((abs(wanted), link, text))
        if damped:
            yield start.warning("damped-by-step", _damped(damped, h), damped[0][1])
        if slowed:
            yield start.note("slowed-by-step", _slowed(slowed, h), slowed[0][1])


def effort_controllers_have_a_damping_limit(
    physics: PhysicsSettings, starts: Starts
) -> Iterator[Diagnostic]:
    """Controllers that command efforts are integrated explicitly, one step late.

    v_2 = (1 - h kd / I) v_1 grows for kd > 2 I / h.
    """
    for start in starts:
        driven = [(i, x) for i, x in start.joints() if start.mode(x) is ControlMode.EFFORT]
        if not driven:
            continue
        fixed = start.entry.placement.fixed
        inertias = apparent_inertias(start.body, start.state.q, fixed=fixed)
        i, link = min(driven, key=lambda x: float(inertias[x[0]]))
        limit = 2.0 * float(inertias[i]) / physics.time_step
        message = (
            "a controller that commands efforts every step becomes unstable above kd = 2 I / h, "
            f"which for joint '{link.joint.name}' is {limit:.3g}; position commands have no "
            "such limit"
        )
        yield start.note("explicit-damping", message, link)


def _damped(found: list[tuple[float, Link, str]], h: float) -> str:
    fastest = max(w for w, _, _ in found)
    return (
        f"servos would oscillate too fast for a time step of {1e3 * h:g} ms: "
        f"{listed([text for _, _, text in found], 4)}; the simulation damps this oscillation. "
        f"For such gains write time_step: {_step_for(fastest):g}, or reduce kp"
    )


def _slowed(found: list[tuple[float, Link, str]], h: float) -> str:
    fastest = max(w for w, _, _ in found)
    return (
        f"servos are faster than a time step of {1e3 * h:g} ms can resolve: "
        f"{listed([text for _, _, text in found], 4)}; they hold as stiffly but settle later. "
        f"If that matters write time_step: {_step_for(fastest):g}"
    )


def _step_for(frequency: float) -> float:
    """Return a time step in [s] that resolves a frequency in [rad/s] to about 10 %."""
    return rounded_down(0.1 / frequency)


def _given_gains(start: InitialState) -> Iterator[tuple[int, Link, float, float]]:
    """Yield index, link, kp and kd of position-controlled joints with gains in the world file."""
    control = start.entry.control
    derived: tuple[Array, Array] | None = None
    for i, link in start.joints():
        own = control.joints.get(link.joint.name, JointControl())
        kp = control.kp if own.kp is None else own.kp
        kd = control.kd if own.kd is None else own.kd
        if start.mode(link) is not ControlMode.POSITION or (kp is None and kd is None):
            continue
        if derived is None:
            fixed = start.entry.placement.fixed
            derived = servo_gains(start.body, start.state.q, fixed=fixed)
        kp = float(derived[0][i]) if kp is None else kp
        kd = float(derived[1][i]) if kd is None else kd
        if kp > 0.0:
            yield i, link, kp, kd
