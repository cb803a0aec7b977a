"""Compare contact-free motion in the engine with the equations of motion of the model.

The bodies that are compared are made of the model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hrp_model import Body, JointType, Link, Pose
from hrp_model.body import UNLIMITED, Joint
from hrp_model.diagnostics import listed
from hrp_model.kinematics import BodyState
from hrp_model.kinematics.loops import mimic_joints
from hrp_model.kinematics.state import STANDARD_GRAVITY
from hrp_model.rigid import Array
from hrp_model.verify import Outcome, Row, without_shapes
from hrp_model.verify.library import Quantity
from hrp_model.verify.motion import (
    MOTION_TOLERANCE,
    AccelerationDifferences,
    ForwardDynamics,
    MotionState,
    random_states,
    with_still_root,
)
from hrp_model.verify.report import MODEL, Differences, failure, not_applicable

from ...engine.articulation.numeric_limits import MassRepair, mass_repairs
from ...engine.articulation.rigid_groups import rigid_groups
from ...engine.engine import PhysicsError, PhysicsSettings, Placement
from .motion import (
    DURATION,
    STEPS,
    EngineResult,
    Limit,
    MotionError,
    accelerations,
    engine_motion,
    exact_motion,
    limit,
)


def parts(body: Body) -> list[Body]:
    """Return the parts that free joints below the root separate; each is a body of its own."""
    roots: dict[str, str] = {}
    for link in body.links:
        is_root = link.parent is None or link.joint.type is JointType.FREE
        roots[link.name] = link.name if is_root else roots[str(link.parent)]
    ordered = dict.fromkeys(roots.values())
    if len(ordered) == 1:
        return [body]
    return [_part(body, {name for name in roots if roots[name] == root}) for root in ordered]


def _part(body: Body, names: set[str]) -> Body:
    root, *others = (link for link in body.links if link.name in names)
    return Body(
        name=root.name,
        links=(replace(root, parent=None), *others),
        devices=tuple(device for device in body.devices if device.link in names),
        extra_joints=tuple(x for x in body.extra_joints if names.issuperset(x.links)),
    )


def engine_body(body: Body) -> Body:
    """Return a body as an engine moves it freely, of what a URDF states.

    Without contacts, loops, limits and springs, and with the whole weight of its links.
    """
    body = without_shapes(with_still_root(body))
    links = tuple(
        replace(link, joint=_free_joint(link.joint), weight_share=1.0) for link in body.links
    )
    return replace(body, links=links, devices=(), extra_joints=())


def _free_joint(joint: Joint) -> Joint:
    return replace(
        joint,
        position=UNLIMITED,
        velocity=UNLIMITED,
        effort=UNLIMITED,
        stiffness=0.0,
        mimic=None,
    )


def without_friction(body: Body) -> Body:
    """Return a body whose joints have no Coulomb friction."""
    links = (replace(link, joint=replace(link.joint, friction=0.0)) for link in body.links)
    return replace(body, links=tuple(links))


def without_damping(body: Body, names: Collection[str] | None = None) -> Body:
    """Return a body without the damping of its joints, or of those of some links."""

    def undamped(link: Link) -> Link:
        damping = 0.0 if names is None or link.name in names else link.joint.damping
        return replace(link, joint=replace(link.joint, damping=damping))

    return replace(body, links=tuple(map(undamped, body.links)))


def simulated_masses(body: Body) -> tuple[Body, list[str]]:
    """Return a body with the masses that the engine simulates, and the links that it repairs.

    Raises:
        PhysicsError: The engine cannot simulate the body.
    """
    placement = Placement(name=body.name, body=body, fixed=body.is_root_fixed)
    repairs = mass_repairs(placement, PhysicsSettings())
    if not repairs:
        return body, []
    _, members = rigid_groups(body, placement.fixed)
    links = list(body.links)
    for group in members:
        repair = repairs.get(links[group[0]].name)
        for i in group if repair else ():
            links[i] = _with_mass(links[i], repair if i == group[0] else None)
    return replace(body, links=tuple(links)), list(repairs)


def _with_mass(link: Link, repair: MassRepair | None) -> Link:
    """Return a link with the mass of its whole group, or without any."""
    if repair is None:
        return replace(link, mass=0.0, inertia=0.0 * link.inertia)
    after = repair.after
    return replace(
        link, mass=after.mass, center_of_mass=after.center_of_mass, inertia=after.inertia
    )


def notes(body: Body) -> Iterator[Row]:
    """Yield what a certificate leaves out of a model."""
    floating = [x.name for x in body.links[1:] if x.joint.type is JointType.FREE]
    tracks = [x.name for x in body.links if x.joint.type is JointType.TRACK]
    if floating:
        yield _note("floating links", f"{quoted(floating)}: compared as bodies of their own")
    if body.extra_joints:
        yield _note("closed loops", "left open, since a URDF cannot represent them")
    if followers := mimic_joints(body):
        yield _note("mimic joints", f"{quoted(list(followers))}: move freely, as their leaders")
    springs = [x.joint.name for x in body.links if x.joint.stiffness]
    lifted = [x.name for x in body.links if x.weight_share != 1.0]
    if springs:
        yield _note("springs of joints", f"{quoted(springs)}: left out")
    if lifted:
        yield _note("links without gravity", f"{quoted(lifted)}: with their whole weight")
    if tracks:
        yield _note("continuous tracks", f"{quoted(tracks)}: fixed without contacts")
    if body.root.joint.moves:
        yield _note("joint of the root", "without effect, since nothing is above it")


def _note(quantity: str, reason: str) -> Row:
    return not_applicable(MODEL, quantity, reason)


def quoted(names: Sequence[str]) -> str:
    """Return the first few names in quotation marks, and the number of the others."""
    return listed([f"'{name}'" for name in names], 3)


ENGINE = "ODE"
QUANTITIES = Quantity.ACCELERATIONS, Quantity.GRAVITY, Quantity.MOMENTUM, Quantity.FREE_MOTION
# A difference within this many estimated errors of the extrapolation is none of the dynamics.
_ERRORS = 10.0
# In [1/s]: damping that stops a joint at a higher rate is compared in the free motion only.
_FAST = 200.0
# More steps are taken for a motion only up to this product of steps and degrees of freedom.
_MAX_WORK = 1.5e6
_FIXED = "the root is fixed, so the world takes up momentum"
_NO_JOINTS = "the model has no moving joint"


def engine_rows(body: Body, count: int, seed: int) -> Iterator[Row]:
    """Yield a row for each of ``QUANTITIES``.

    If the engine simulates other masses than those of the model, and the motion is another one,
    it is compared with these masses, too: equality proves that they are the cause.

    Args:
        body: One of ``parts``.
        count: Number of states.
        seed: Of the random states.
    """
    states = [
        replace(state, X_WR=Pose(state.X_WR.R))  # positions near the origin are rounded least
        for state in random_states(with_still_root(body), count, seed)
    ]
    body = engine_body(body)
    rows = list(_rows(body, body, states))
    if not any(row.outcome is Outcome.FAILED for row in rows):
        yield from rows
        return
    try:
        simulated, repaired = simulated_masses(body)
    except PhysicsError:  # as it is in the rows
        repaired = []
    if not repaired:
        yield from rows
        return
    others = _rows(body, simulated, states)
    for row, other in zip(rows, others, strict=True):
        yield _explained(row, other, repaired) if row.outcome is Outcome.FAILED else row


def _explained(row: Row, with_repairs: Row, repaired: Sequence[str]) -> Row:
    """Return a failed row with its cause, if another model passes."""
    if with_repairs.outcome is Outcome.FAILED:
        return row
    names = quoted(repaired)
    reason = (
        f"the engine replaces masses or moments of inertia of {names}, which are zero or negative; "
        "a model with these moves alike"
    )
    return replace(row, reason=reason, short="replaced masses")


def _rows(body: Body, model: Body, states: Sequence[MotionState]) -> Iterator[Row]:
    """Yield the rows of a body in the engine, compared with a model."""
    compared = AccelerationDifferences(model, states)
    for quantity, compare in (
        (Quantity.ACCELERATIONS, _acceleration_row),
        (Quantity.GRAVITY, _gravity_row),
    ):
        if compared.reason:
            yield not_applicable(ENGINE, quantity.value, compared.reason)
            continue
        try:
            yield compare(body, model, states, compared)
        except PhysicsError as error:
            yield failure(ENGINE, quantity.value, str(error))
    yield from _motion_rows(body, model, states[0], compared.reason)


def _acceleration_row(
    body: Body, model: Body, states: Sequence[MotionState], compared: AccelerationDifferences
) -> Row:
    note = ""
    if fast := _fast_damped(model, states):
        states = _undamped(states, model, fast)
        body, model = without_damping(body, fast), without_damping(model, fast)
        compared = AccelerationDifferences(model, states)
        note = f"without the damping of {quoted(fast)}, too fast for steps of the engine"
    found = accelerations(body, states, compared.scale)
    row = compared.row(ENGINE, found.value, note)
    error = (abs(found.value - compared.expected) / compared.scale).max(axis=1)
    return _resolved(row, error, found)


def _fast_damped(body: Body, states: Sequence[MotionState]) -> list[str]:
    """Return the links whose joints damping stops faster than steps of the engine resolve."""
    damping = np.array([link.joint.damping for link in body.moving_links])
    if not damping.any():
        return []
    dynamics = ForwardDynamics(body)
    rates = damping * np.max([dynamics.joint_mobilities(state) for state in states], axis=0)
    return [x.name for x, rate in zip(body.moving_links, rates, strict=True) if rate > _FAST]


def _undamped(states: Sequence[MotionState], body: Body, names: Sequence[str]) -> list[MotionState]:
    """Return states with efforts that do not overcome the damping of the joints of some links."""
    damping = np.array([x.joint.damping if x.name in names else 0.0 for x in body.moving_links])
    return [replace(state, effort=state.effort - damping * state.dq) for state in states]


def _resolved(row: Row, error: Array, found: Limit) -> Row:
    """Return a row, not applicable if the extrapolation is too coarse to tell a difference."""
    differs = error > MOTION_TOLERANCE
    if not differs.any() or (error[differs] > _ERRORS * found.error[differs]).any():
        return row
    reason = f"the steps of the engine resolve it to {found.error[differs].max():.0e} only"
    return not_applicable(row.library, row.quantity, reason)


def _gravity_row(
    body: Body, model: Body, states: Sequence[MotionState], _compared: AccelerationDifferences
) -> Row:
    """Return the row of the torques that balance gravity, with the root held as it is at first.

    Where they do not, joints at rest accelerate: the difference is this times the mass matrix.
    """
    differences = Differences(ENGINE, Quantity.GRAVITY.value, MOTION_TOLERANCE)
    names = [link.joint.name for link in body.moving_links]
    if not names:
        return differences.row(nothing=_NO_JOINTS)
    resting, root = BodyState(model.with_fixed_root()), states[0].X_WR
    resting.p[0], resting.R[0] = root.p, root.R
    balanced, matrices = [], []
    for state in states:
        resting.q = state.q
        resting.calc_forward_kinematics()
        matrices.append(resting.calc_mass_matrix())
        none, torque = np.zeros(3), resting.gravity_torque()
        rest = np.zeros_like(torque)
        balanced.append(MotionState(state.name, root, none, none, state.q, rest, torque))
    smooth = without_friction(without_damping(body)).with_fixed_root()
    found = accelerations(smooth, balanced, np.ones(len(names)))
    for state, M, a in zip(balanced, matrices, found.value, strict=True):
        error = abs(M @ a) / max(1.0, float(abs(state.effort).max()))
        for name, difference in zip(names, error.tolist(), strict=True):
            differences.add(difference, f"joint '{name}' in state {state.name}")
    return differences.row()


def _motion_rows(body: Body, model: Body, state: MotionState, reason: str) -> Iterator[Row]:
    """Yield the rows of momentum and of the free motion, which starts in a state."""
    body, model = without_friction(body), without_friction(model)
    start = replace(state, effort=np.zeros_like(state.effort))
    problem = failure
    exact: Array | None = None
    try:
        if reason:
            raise MotionError(reason)
        exact = exact_motion(model, start)
        results = _engine_results(body, start, exact)
    except MotionError as error:
        problem, reason = not_applicable, str(error)
    except PhysicsError as error:
        reason = str(error)
    if reason or exact is None:
        yield problem(ENGINE, Quantity.MOMENTUM.value, reason)
        yield problem(ENGINE, Quantity.FREE_MOTION.value, reason)
        return
    yield _momentum_row(body, results)
    yield _configuration_row(body, results, exact)


def _engine_results(body: Body, start: MotionState, exact: Array) -> list[EngineResult]:
    """Return the engine's motion for shorter and shorter steps, until it is resolved."""
    results: list[EngineResult] = []
    work = 0.0
    for step in STEPS:
        work += DURATION / step * (len(start.q) + 1)
        if len(results) >= 3 and work > _MAX_WORK:
            break
        results.append(engine_motion(body, start, step))
        if (
            len(results) >= 4
            and _configuration_limit(body, results, exact).error < MOTION_TOLERANCE / 10.0
        ):
            break
    return results


def _order(body: Body) -> int:
    """Return the order of the engine's error: damping is implicit, so of first order."""
    return 1 if any(link.joint.damping for link in body.moving_links) else 2


def _configuration_limit(body: Body, results: Sequence[EngineResult], exact: Array) -> Limit:
    scale = np.maximum(1.0, abs(exact))
    return limit([result.configuration[None] for result in results], scale, _order(body))


def _configuration_row(body: Body, results: Sequence[EngineResult], exact: Array) -> Row:
    found = _configuration_limit(body, results, exact)
    scale = np.maximum(1.0, abs(exact))
    error = abs(found.value[0] - exact) / scale
    names = [f"joint '{link.joint.name}'" for link in body.moving_links]
    names += ["position of the root"] * 3 + ["rotation of the root"] * 9
    differences = Differences(ENGINE, Quantity.FREE_MOTION.value, MOTION_TOLERANCE)
    for difference, name in zip(error.tolist(), names, strict=False):
        differences.add(difference, name)
    first, second = (float((abs(x.configuration - exact) / scale).max()) for x in results[:2])
    note = f"the error of a step of {STEPS[0] * 1e3:g} ms is {first:.1g}"
    if second > 1e-9:  # else it is one of rounding
        note += f", and {first / second:.1f} times that of half the step"
    return _resolved(differences.row(note), np.array([error.max()]), found)


def _momentum_row(body: Body, results: Sequence[EngineResult]) -> Row:
    """Return the row of the change of momentum that is not due to gravity."""
    if body.is_root_fixed:
        return not_applicable(ENGINE, Quantity.MOMENTUM.value, _FIXED)
    impulse = np.zeros(6)
    impulse[2] = -body.total_mass * STANDARD_GRAVITY * DURATION
    before = results[0].momentum_at_start
    linear = max(float(abs(before[:3] + impulse[:3]).max()), 1e-300)
    angular = max(float(abs(before[3:]).max()), 1e-300)
    scale = np.array([linear] * 3 + [angular] * 3)
    changes = [(x.momentum - x.momentum_at_start - impulse)[None] for x in results]
    found = limit(changes, scale, _order(body))
    differences = Differences(ENGINE, Quantity.MOMENTUM.value, MOTION_TOLERANCE)
    for name, error in zip(("linear", "angular"), (slice(0, 3), slice(3, 6)), strict=True):
        lost = abs(found.value[0, error] / scale[error]).max()
        differences.add(float(lost), f"{name} momentum")
    return _resolved(differences.row(), abs(found.value / scale).max(axis=1), found)
