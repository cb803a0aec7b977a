"""Mimic joints: what they transmit, and how exactly they hold."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sim.physics.bodies import chain
from sim.physics.measures import energy, momentum
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    child,
    fixed,
    moving,
    root,
)

from hrp_model.body import Body, ExtraJoint, ExtraJointType, Mimic, Range
from hrp_model.devices import ForceSensor
from hrp_sim.engine.engine import PhysicsError, Solver

WEIGHTLESS = (0.0, 0.0, 0.0)
I = 0.01  # [kg m^2], of each link of a scene about each axis  # noqa: E741
LOADS = [REVOLUTE, PRISMATIC]


def geared(link, leader, multiplier, offset=0.0):
    return replace(link, joint=replace(link.joint, mimic=Mimic(leader, multiplier, offset)))


def body_of(*links, **parts):
    return Body(name="gears", links=(root(), *links), **parts)


def gear(kind, ratio, **options):
    """A wheel A, and a second joint B that follows it."""
    return body_of(
        child("A", "BASE", REVOLUTE, Z), geared(child("B", "BASE", kind, Z, **options), "A", ratio)
    )


def index(simulated):
    return {link.name: i for i, link in enumerate(simulated.body.moving_links)}


def turned(simulated, link, axis=2):
    """Return by how much a link is turned or moved about or along an axis of the world."""
    i = simulated.body.link_index(link)
    if simulated.body.links[i].joint.type is PRISMATIC:
        return simulated.motion.p[i, axis]
    R = simulated.motion.R[i]
    a, b = (axis + 1) % 3, (axis + 2) % 3
    return np.arctan2(R[b, a], R[a, a])


def test_a_weight_turns_its_leader(world):
    """A balanced wheel, and an arm of 1 kg at 0.5 m that is geared to it."""
    arm = child("ARM", "BASE", REVOLUTE, Y, center_of_mass=0.5 * X, inertia=1e-3 * np.eye(3))
    wheel = child("WHEEL", "BASE", REVOLUTE, Y, inertia=0.02 * np.eye(3))
    engine, gears = world(fixed(body_of(wheel, geared(arm, "WHEEL", 1.0))))
    inertia = 0.02 + 1e-3 + 0.5**2
    exact = solve_ivp(
        lambda _, y: [y[1], G * 0.5 * np.cos(y[0]) / inertia],
        (0.0, 0.5),
        [0.0, 0.0],
        rtol=1e-10,
        t_eval=[0.25, 0.5],
    )
    for q in exact.y[0]:
        engine.step(250)
        np.testing.assert_allclose(gears.motion.q, q, atol=1e-4)


@pytest.mark.parametrize("kind", LOADS)
@pytest.mark.parametrize("ratio", [-0.5, 30.0, 1e-3])
@pytest.mark.parametrize("pushed", ["A", "B"])
def test_efforts_and_inertias_are_reflected(world, kind, ratio, pushed):
    """Of links, rotors and viscous friction, on both sides."""
    moved = I if kind is REVOLUTE else 1.0
    body = gear(kind, ratio, rotor=0.02, damping=0.3)
    leader = replace(body.links[1], joint=replace(body.links[1].joint, damping=0.1))
    body = replace(body, links=(body.links[0], leader, body.links[2]))
    engine, gears = world(fixed(body), gravity=WEIGHTLESS)
    at_index = index(gears)
    gears.drive.effort[at_index[pushed]] = 0.2
    effort = 0.2 * (1.0 if pushed == "A" else ratio)
    inertia, damping = I + ratio**2 * (moved + 0.02), 0.1 + 0.3 * ratio**2
    engine.step(300)
    rate = effort / damping * (1.0 - np.exp(-damping / inertia * 0.3))
    assert gears.motion.dq[at_index["A"]] == pytest.approx(rate, rel=3e-3)
    assert gears.motion.dq[at_index["B"]] == pytest.approx(ratio * rate, rel=3e-3)


def test_friction_of_a_follower_holds_its_leader(world):
    engine, gears = world(fixed(gear(REVOLUTE, 2.0, friction=0.5)), gravity=WEIGHTLESS)
    a = index(gears)["A"]
    gears.drive.effort[a] = 0.99  # less than 2.0 * 0.5
    engine.step(200)
    assert abs(gears.motion.q[a]) < 1e-6
    gears.drive.effort[a] = 1.5
    engine.step(200)
    assert gears.motion.dq[a] == pytest.approx(0.2 * 0.5 / (I + 4.0 * I), rel=1e-6)


def test_a_limit_of_a_follower_stops_its_leader(world):
    body = gear(PRISMATIC, 0.1, position=Range(-0.02, 0.02))
    engine, gears = world(fixed(body), gravity=WEIGHTLESS)
    gears.drive.effort[index(gears)["A"]] = 3.0
    engine.step(1000)
    np.testing.assert_allclose(gears.motion.q[index(gears)["A"]], 0.2, atol=1e-5)
    np.testing.assert_allclose(gears.motion.dq, 0.0, atol=1e-9)


def test_a_soft_gear_yields_to_a_load_in_proportion_and_no_further(world):
    body, settings = gear(REVOLUTE, 1.0), {"cfm": 1e-2, "time_step": 1e-3}
    engine, gears = world(fixed(body), gravity=WEIGHTLESS, **settings)
    a, b = (index(gears)[name] for name in "AB")
    gears.drive.kp[a], gears.drive.kd[a] = 1e9, 1e7
    gears.drive.effort[b] = load = 2e3
    engine.step(1000)
    given = settings["cfm"] * load * settings["time_step"]
    assert gears.motion.q[b] - gears.motion.q[a] == pytest.approx(given, rel=1e-6)


@pytest.mark.parametrize("count", [3, 40])
def test_a_train_moves_as_one(world, count):
    """Wheel k turns (-1)^k (1 + k / count) times as fast as the first."""
    ratios = [(-1) ** k * (1.0 + k / count) for k in range(count)]
    wheels = [child(f"W{k}", "BASE", REVOLUTE, Z, X_PL=at(k)) for k in range(count)]
    train = [wheels[0], *(geared(w, "W0", r) for w, r in zip(wheels[1:], ratios[1:], strict=True))]
    engine, gears = world(fixed(body_of(*train)), gravity=WEIGHTLESS)
    gears.drive.effort[index(gears)[f"W{count - 1}"]] = 0.1
    engine.step(100)
    expected = 0.1 * ratios[-1] / (I * np.square(ratios).sum()) * 0.1
    for k, ratio in enumerate(ratios):
        assert gears.motion.dq[index(gears)[f"W{k}"]] == pytest.approx(ratio * expected, rel=1e-6)


def test_a_screw_sinks_by_its_weight(world):
    """The slide follows the hinge that it carries; the nut has no mass."""
    pitch, inertia = 0.01, 4e-3  # [m/rad], [kg m^2]
    nut = geared(
        child("NUT", "BASE", PRISMATIC, Z, mass=0.0, inertia=0.0 * np.eye(3)), "BOLT", pitch
    )
    bolt = child("BOLT", "NUT", REVOLUTE, Z, mass=2.0, inertia=inertia * np.eye(3))
    engine, screw = world(fixed(body_of(nut, bolt)))
    engine.step(500)
    turn = -2.0 * G * pitch / (inertia + 2.0 * pitch**2) * 0.5**2 / 2.0
    assert screw.motion.q[index(screw)["BOLT"]] == pytest.approx(turn, rel=1e-5)
    assert screw.motion.p[2, 2] == pytest.approx(pitch * turn, rel=1e-5)


def chain_with(mimics, *, free=False):
    body = chain(free=free)
    links = [geared(x, *mimics[x.name]) if x.name in mimics else x for x in body.links]
    return replace(body, links=tuple(links))


TRAINS = {
    "between branches": {"L3": ("L0", -0.7, 0.1), "L2": ("L4", 0.2, 0.0)},
    "along a branch": {"L1": ("L0", 1.3, -0.2), "L2": ("L0", 0.1, 0.0), "L4": ("L3", 2.0, 0.0)},
    "of what it carries": {"L0": ("L1", 0.8, 0.0), "L3": ("L4", -1.5, 0.3)},
    "held": {"L0": ("L3", 0.0, 0.4)},
}


def at_start(body):
    """Return positions that agree, all leaders being at zero."""
    return np.array([0.0 if (m := x.joint.mimic) is None else m.offset for x in body.moving_links])


@pytest.mark.parametrize("train", TRAINS)
def test_oblique_chains_fall_as_in_minimal_coordinates(world, train):
    peer = pytest.importorskip("sim.physics.mujoco_peer")
    body = chain_with(TRAINS[train])
    exact, errors = peer.geared_motion(body, 0.4), []
    for steps in (400, 800):
        placement = fixed(body, q=at_start(body))
        engine, gears = world(placement, time_step=0.4 / steps, joint_limits=False)
        engine.step(steps)
        errors.append(np.abs(gears.motion.q - exact).max())
    assert errors[0] < 2e-4
    assert errors[1] < 0.3 * errors[0]  # of second order


def test_a_free_chain_keeps_its_momentum_and_energy(world):
    body = chain_with(TRAINS["along a branch"], free=True)
    placement = moving(
        body, q=at_start(body), v=np.array([0.3, -0.2, 0.5]), w=np.array([1, 2, -1.5])
    )
    engine, gears = world(placement, gravity=WEIGHTLESS, joint_limits=False)
    engine.step()
    P, L, E = *momentum(gears), energy(gears, 0.0)
    engine.step(1000)
    np.testing.assert_allclose(momentum(gears)[0], P, atol=1e-12)
    np.testing.assert_allclose(momentum(gears)[1], L, atol=1e-5)
    assert energy(gears, 0.0) == pytest.approx(E, rel=1e-3)


def parallelogram(*, geared_cranks):
    links = [
        child("A", "BASE", REVOLUTE, Y, X_PL=at(), center_of_mass=0.1 * X),
        child("B", "BASE", REVOLUTE, Y, X_PL=at(0.3), center_of_mass=0.1 * X),
        child("C", "A", REVOLUTE, Y, X_PL=at(0.2), center_of_mass=0.15 * X),
    ]
    if geared_cranks:
        links[1:] = geared(links[1], "A", 1.0), geared(links[2], "A", -1.0)
    tie = ExtraJoint(
        type=ExtraJointType.HINGE, links=("C", "B"), X_AJ=at(0.3), X_BJ=at(0.2), axis=Y, name="tie"
    )
    return body_of(*links, extra_joints=(tie,))


def test_gears_that_a_closed_loop_implies_change_nothing(world):
    _, free = pair = world(fixed(parallelogram(geared_cranks=False)))
    engine, gears = world(fixed(parallelogram(geared_cranks=True)))
    engine.step(1000)
    pair[0].step(1000)
    np.testing.assert_allclose(gears.motion.q, free.motion.q, atol=1e-9)


@pytest.mark.parametrize("cfm", [1e-8, 1e-10])
def test_gears_hold_under_load_without_drift(world, cfm):
    """By the poses of links: a rack of 50 kg hangs on a wheel with a servo, for 20 s."""
    ratio = 0.05
    body = gear(PRISMATIC, ratio)
    rack = replace(body.links[2], mass=50.0)
    body = replace(body, links=(*body.links[:2], rack))
    engine, gears = world(fixed(body), time_step=2e-3, cfm=cfm)
    wheel = index(gears)["A"]
    gears.drive.kp[wheel], gears.drive.kd[wheel] = 300.0, 30.0
    for k in range(10):
        gears.drive.q[wheel] = 0.5 * np.sin(k)
        engine.step(1000)
        assert turned(gears, "B") == pytest.approx(ratio * turned(gears, "A"), abs=1e-6)
    sag = 50.0 * G * ratio / 300.0
    assert gears.motion.q[wheel] == pytest.approx(0.5 * np.sin(9) - sag, abs=1e-6)


def test_reported_positions_agree_however_fast(world):
    body = chain_with(TRAINS["along a branch"], free=True)
    placement = moving(body, q=at_start(body), w=np.array([10.0, 20.0, -15.0]))
    engine, gears = world(placement, gravity=WEIGHTLESS, joint_limits=False)
    row = index(gears)
    for _ in range(50):
        engine.step(10)
        for link in body.moving_links:
            if (mimic := link.joint.mimic) is not None:
                q = mimic.position(gears.motion.q[row[mimic.link]])
                assert gears.motion.q[row[link.name]] == pytest.approx(q, abs=1e-12)


def test_a_gear_that_starts_open_closes_slowly(world):
    """At 1 rad/s, with both wheels moving towards each other."""
    engine, gears = world(fixed(gear(REVOLUTE, 1.0), q=np.array([0.1, 0.0])), gravity=WEIGHTLESS)
    engine.step()
    np.testing.assert_allclose(gears.motion.dq, [-0.5, 0.5], atol=1e-6)
    engine.step(200)
    np.testing.assert_allclose(gears.motion.q, 0.05, atol=1e-3)
    np.testing.assert_allclose(gears.motion.dq, 0.0, atol=1e-6)


def test_force_sensors_measure_what_gears_transmit(world):
    """A horizontal arm on a follower, whose leader is held."""
    arm = child("ARM", "BASE", REVOLUTE, Y, center_of_mass=0.5 * X)
    wheel = child("WHEEL", "BASE", REVOLUTE, Y, position=Range(0.0, 0.0))
    sensors = tuple(ForceSensor(name=name, link=name) for name in ("ARM", "WHEEL"))
    engine, gears = world(fixed(body_of(wheel, geared(arm, "WHEEL", 2.0), devices=sensors)))
    engine.step(100)
    torque = {x.name: gears.motion.torque[i] for i, x in enumerate(gears.body.links)}
    np.testing.assert_allclose(torque["ARM"], [0.0, -0.5 * G, 0.0], atol=1e-6)
    # The gear exerts on the wheel what its stop takes up.
    np.testing.assert_allclose(torque["WHEEL"], 0.0, atol=1e-6)


def test_a_restored_state_continues_to_the_last_bit(world):
    body = chain_with(TRAINS["between branches"])
    placement = fixed(body, q=at_start(body))
    engine, gears = world(placement)
    engine.step(100)
    saved = engine.save()
    engine.step(100)
    expected = gears.motion.q.copy(), gears.motion.R.copy()
    other, copy = world(placement)
    other.restore(saved)
    other.step(100)
    np.testing.assert_array_equal(copy.motion.q, expected[0])
    np.testing.assert_array_equal(copy.motion.R, expected[1])


@pytest.mark.parametrize(
    ("mimics", "words"),
    [
        ({"B": ("NOBODY", 1.0)}, "link 'B'.*that of 'NOBODY'"),
        ({"B": ("BASE", 1.0)}, "link 'B'.*does not move"),
        ({"B": ("B", 1.0)}, "link 'B'.*follows itself"),
        ({"A": ("B", 2.0), "B": ("A", 2.0)}, "follows itself"),
        ({"B": ("A", np.nan)}, "link 'B'.*multiplier nan"),
        ({"B": ("A", 1e9)}, "link 'B'.*multiplier 1e"),
        ({"B": ("A", 1.0, np.inf)}, "link 'B'.*offset inf"),
    ],
)
def test_gears_that_cannot_be_are_refused(world, mimics, words):
    links = [child("A", "BASE", REVOLUTE), child("B", "BASE", REVOLUTE)]
    body = body_of(*(geared(x, *mimics[x.name]) if x.name in mimics else x for x in links))
    with pytest.raises(PhysicsError, match=words):
        world(fixed(body))


def test_other_solvers_leave_followers_to_their_servos(world):
    for solver, is_geared in ((Solver.WORLD, True), (Solver.QUICK, False)):
        _, gears = world(fixed(gear(REVOLUTE, 1.0)), solver=solver)
        assert gears.is_geared is is_geared
