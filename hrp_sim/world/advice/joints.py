"""Rules for joints: initial positions, holding efforts, mass ratios across joints, servo gains."""

from __future__ import annotations

import cmath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import pi
from typing import NamedTuple

import numpy as np

from hrp_model import BodyState, Diagnostic, JointType, Link
from hrp_model.diagnostics import listed, number_text
from hrp_model.kinematics.actuation import apparent_inertias
from hrp_model.rigid import Array

from ...control import ControlMode, JointControl
from ...control.joints import servo_gains
from ...engine.articulation.numeric_limits import RATIO_PER_ITERATION
from ...engine.engine import PHYSICS_RANGES, PhysicsSettings, Solver
from .initial_state import Group, InitialState, Starts, rounded_down

# A limit corrects the share erp of its error in each step, at most at this speed with WORLD and at
# any with QUICK. The impact then is smaller than that of climbing a stair. In [rad/s] or [m/s].
_CLOSING_SPEED = 1.0
# Tolerated ratio of the effort needed to hold still to the effort limit.
_MAX_EFFORT_RATIO = 1.0
# QUICK: a link supports its child joint with its apparent mass there, the smallest over all
# directions, where its inverse is 1 / m + d^2 / I for a lever arm d. The joints of swinging chains
# with links of 1 kg and 0.2 m separate by 1 mm within 0.5 s
#   at 20, 50, 200 iterations
#   if three links end in a load of 140, 280, 1200 times the apparent mass above it,
#   and at 1000 times, with 50 iterations, if a slender link between them has less inertia,
# and by ten times as much at ten times these ratios. Light links at the ends of chains are
# harmless: 1e-6 kg on 1 kg is as good as equal masses. WORLD is exact up to ratios of 1e5.
# Hence RATIO_PER_ITERATION; masses.py reports links without mass, which get that much.


def joints_start_within_their_stops(
    physics: PhysicsSettings, starts: Starts
) -> Iterator[Diagnostic]:
    """No joint starts so far beyond a limit that it is pushed back for long, or hard."""
    if not physics.joint_limits:
        return
    for start in starts:
        pushed: list[tuple[float, Link, str]] = []
        for i, link in start.joints():
            lower, upper = link.joint.position_limits
            q = float(start.state.q[i])
            beyond = max(lower - q, q - upper)
            speed = physics.erp * beyond / physics.time_step
            if speed > _CLOSING_SPEED:
                speed = _CLOSING_SPEED if physics.solver is Solver.WORLD else speed
                limit = lower if q < lower else upper
                unit = link.joint.type.units.position
                text = f"'{link.joint.name}' at {q:.4g} {unit} (limit {limit:.4g})"
                pushed.append((speed, link, text))
        if pushed:
            speed, link, _ = max(pushed, key=lambda x: x[0])
            message = (
                f"joints start beyond their limits: {listed([x for _, _, x in pushed], 4)}; "
                f"they are pushed back at up to {number_text(speed)} "
                f"{link.joint.type.units.velocity}; start within the limits (key 'joints'), "
                "or write joint_limits: false"
            )
            yield start.warning("start-beyond-limit", message, link)


def drives_hold_the_start(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """The actuators of a body with a fixed root can hold its initial posture against gravity."""
    x, y, z = physics.gravity
    if x != 0.0 or y != 0.0 or z >= 0.0:
        return
    for start in starts:
        loose = any(link.joint.type is JointType.FREE for link in start.body.links[1:])
        if start.is_free or loose or start.body.extra_joints or not start.body.moving_links:
            continue
        needed = _with_followers(start, _held_efforts(start, -z))
        weak: list[tuple[float, Link, str]] = []
        for i, link in start.joints():
            if link.joint.mimic is not None or start.mode(link) is not ControlMode.POSITION:
                continue
            lower, upper = link.joint.effort_limits
            limit, need = (upper if needed[i] > 0.0 else -lower), abs(float(needed[i]))
            if need > _MAX_EFFORT_RATIO * limit:
                unit = link.joint.type.units.effort
                needs = f"needs {number_text(need)} {unit}, limit {number_text(limit)}"
                text = f"'{link.joint.name}' {needs}"
                weak.append((need - limit, link, text))
        if weak:
            _, link, _ = max(weak, key=lambda x: x[0])
            message = (
                "actuators are too weak to hold the initial posture against gravity: "
                f"{listed([text for _, _, text in weak], 4)}; check the effort limits and their "
                "unit, or start in a posture that needs less effort"
            )
            yield start.warning("too-weak", message, link)


def _held_efforts(start: InitialState, gravity: float) -> Array:
    """Return the efforts that balance the weights of links and the springs of joints."""
    shares = [(link.weight_share, link.joint.stiffness) for link in start.body.links]
    if all(x == (1.0, 0.0) for x in shares):
        return start.state.gravity_torque(gravity)
    weighing = replace(
        start.body,
        links=tuple(replace(x, mass=x.weight_share * x.mass) for x in start.body.links),
    )
    state = BodyState(weighing)
    state.p[0], state.R[0], state.q = start.state.p[0], start.state.R[0], start.state.q
    state.calc_forward_kinematics()
    joints = [link.joint for link in start.body.moving_links]
    stiffness = np.array([joint.stiffness for joint in joints])
    rest = np.array([joint.rest_position for joint in joints])
    efforts: Array = state.gravity_torque(gravity) - stiffness * (rest - state.q)
    return efforts


def chains_are_even_for_quick(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """With the solver QUICK no link carries many times its own apparent mass."""
    if physics.solver is not Solver.QUICK:
        return
    for start in starts:
        loads = (x for x in _loads(start.groups) if x.carrier.link.name not in start.mass_repairs)
        worst = max(loads, key=lambda load: load.ratio, default=None)
        if worst is None or worst.ratio <= RATIO_PER_ITERATION * physics.iterations:
            continue
        enough = _rounded_up(worst.ratio / RATIO_PER_ITERATION)
        iterate = f"iterations: {enough}, or " if enough <= PHYSICS_RANGES["iterations"][1] else ""
        carrier = worst.carrier
        message = (
            f"link '{carrier.link.name}' carries {number_text(worst.mass)} kg by joint "
            f"'{worst.child.link.joint.name}', {worst.ratio:.2g} times its own apparent mass "
            f"there: with the solver 'quick' and {physics.iterations} iterations that joint "
            f"separates by millimetres; write solver: world, or {iterate}give the link more mass "
            "and inertia"
        )
        yield start.warning("uneven-chain", message, carrier.link)


def _with_followers(start: InitialState, efforts: Array) -> Array:
    """Return the efforts that joints need to hold those that follow them, too."""
    index = {link.name: i for i, link in start.joints()}
    whole = efforts.copy()
    for i, link in start.joints():
        mimic = link.joint.mimic
        if mimic is not None and mimic.link in index:
            whole[index[mimic.link]] += mimic.multiplier * efforts[i]
    return whole


class _Load(NamedTuple):
    """Mass carried by a joint, and its ratio to the apparent mass of the parent link."""

    ratio: float
    mass: float
    carrier: Group
    child: Group


def _loads(groups: Sequence[Group]) -> Iterator[_Load]:
    """Yield the load of every joint between groups, except below floating groups."""
    mass = [group.whole.mass for group in groups]
    for i in reversed(range(len(groups))):
        above = groups[i].parent
        if above is not None:
            mass[above] += mass[i]
    for i, group in enumerate(groups):
        if group.parent is None or groups[group.parent].floats:
            continue
        carrier = groups[group.parent]
        yield _Load(mass[i] * _mobility(carrier, group.anchor), mass[i], carrier, group)


def _mobility(group: Group, point: Array) -> float:
    """Return the largest acceleration of a point due to a unit force there, in [1/kg].

    It is the largest eigenvalue of K = E / m - [r] I^-1 [r], with r from the centre of mass to
    the point.
    """
    mass, center, inertia = group.whole.mass, group.whole.center_of_mass, group.whole.inertia
    x, y, z = point - center
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    K = np.eye(3) / mass - cross @ np.linalg.solve(inertia, cross)
    return float(np.linalg.eigvalsh((K + K.T) / 2.0)[-1])


def _rounded_up(iterations: float) -> int:
    return int(np.ceil(iterations / 50.0) * 50.0)


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
            f"which for joint '{link.joint.name}' is {number_text(limit)}; position commands "
            "have no such limit"
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
