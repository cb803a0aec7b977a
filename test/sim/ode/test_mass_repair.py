"""What no engine can accelerate moves as it is drawn: massless crosses, point masses, rounding."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paths import MODELS
from sim.physics.scenes import (
    FREE,
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    box_inertia,
    child,
    fixed,
    floor,
    moving,
    placed,
    root,
    world,
)

from hrp_model import Diagnostics, load_body
from hrp_model.body import Body
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import rpy_matrix
from hrp_sim.control.joints import servo_gains
from hrp_sim.engine.articulation.articulation import STATIC
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.articulation.numeric_limits import mass_repairs
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Solver

NOTHING = np.zeros((3, 3))
MASSLESS = {"mass": 0.0, "inertia": NOTHING}
LENGTH, BOB_INERTIA = 0.3, 0.01


def runge_kutta(derivative, state, seconds, step=2e-4):
    """Integrate by the classical method of fourth order; some 1e-11 off in what follows."""
    for _ in range(round(seconds / step)):
        a = derivative(state)
        b = derivative(state + step / 2 * a)
        c = derivative(state + step / 2 * b)
        d = derivative(state + step * c)
        state = state + step / 6 * (a + 2 * b + 2 * c + d)
    return state


def universal_pendulum():
    """A bob of 1 kg on a universal joint: two hinges with nothing between them."""
    links = (
        root(),
        child("CROSS", "BASE", REVOLUTE, X, **MASSLESS),
        child(
            "BOB",
            "CROSS",
            REVOLUTE,
            Y,
            center_of_mass=-LENGTH * Z,
            inertia=BOB_INERTIA * np.eye(3),
        ),
    )
    return Body(name="universal", links=links)


def universal_motion(state):
    """Lagrange's equations of the bob for the angles a about x, then b about y.

    T = (J + l^2) b'^2 / 2 + (J + l^2 cos(b)^2) a'^2 / 2, V = -g l cos(a) cos(b) for 1 kg.
    """
    a, b, u, v = state
    s, c, J, l2 = np.sin(b), np.cos(b), BOB_INERTIA, LENGTH**2
    uu = (2 * l2 * s * c * u * v - G * LENGTH * np.sin(a) * c) / (J + l2 * c * c)
    vv = (-l2 * s * c * u * u - G * LENGTH * np.cos(a) * s) / (J + l2)
    return np.array([u, v, uu, vv])


def swung(body, q, dq, seconds, **settings):
    """Return joint positions after a free swing, and the widest gap of a joint meanwhile."""
    engine, simulated = world(fixed(body, q=np.array(q), dq=dq), **settings)
    gap, motion = 0.0, simulated.motion
    for _ in range(100):
        engine.step(round(seconds / 100 / engine.settings.time_step))
        for i, link in enumerate(body.links[1:], 1):
            parent = body.parent_indices[i]
            origin = motion.p[parent] + motion.R[parent] @ link.X_PL.p
            gap = max(gap, float(np.linalg.norm(motion.p[i] - origin)))
    return motion.q.copy(), gap


@pytest.mark.parametrize(
    ("solver", "step", "error", "gap"),
    [
        (Solver.WORLD, 1e-3, 2.2e-3, 2e-5),
        (Solver.WORLD, 2.5e-4, 5.5e-4, 2e-6),  # of first order: nothing of the mend shows
        (Solver.QUICK, 2.5e-4, 1e-2, 3e-5),
    ],
)
def test_two_hinges_with_nothing_between_are_a_universal_joint(solver, step, error, gap):
    q, dq = np.array([0.7, 0.5]), np.array([1.0, -2.0])
    expected = runge_kutta(universal_motion, np.concatenate([q, dq]), 1.0)[:2]
    found, widest = swung(universal_pendulum(), q, dq, 1.0, solver=solver, time_step=step)
    assert_allclose(found, expected, atol=error)
    assert widest < gap


def chain_motion(masses, length, inertias):
    """Equations of a plane chain of rods with masses at their ends, by its angles t.

    With m_j the mass from j on: sum_k m_max(j,k) l^2 (cos(t_j - t_k) t_k'' +
    sin(t_j - t_k) t_k'^2) + J_j t_j'' = -m_j g l sin(t_j).
    """
    n, beyond = len(masses), np.cumsum(masses[::-1])[::-1]
    common = np.array([[beyond[max(j, k)] for k in range(n)] for j in range(n)]) * length**2

    def derivative(state):
        t, w = state[:n], state[n:]
        between = t[:, None] - t
        force = -(common * np.sin(between)) @ w**2 - beyond * G * length * np.sin(t)
        M = common * np.cos(between) + np.diag(inertias)
        return np.concatenate([w, np.linalg.solve(M, force)])

    return derivative


def chain(masses, length, inertias):
    """Rods in the plane of Y and Z with masses at their ends."""
    links = [root()]
    for k, (mass, inertia) in enumerate(zip(masses, inertias, strict=True)):
        own = {"mass": mass, "inertia": inertia * np.eye(3), "center_of_mass": -length * Z}
        place = at(z=-length if k else 0.0)
        links.append(child(f"L{k}", links[-1].name, REVOLUTE, X, X_PL=place, **own))
    return Body(name="chain", links=tuple(links))


@pytest.mark.parametrize(
    ("masses", "inertias", "solver", "error"),
    [
        ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], Solver.WORLD, 1e-3),  # point masses
        ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], Solver.QUICK, 6e-2),
        ([0.0, 1.0], [0.0, 0.04], Solver.WORLD, 2e-3),  # a rod that only hands on
        ([0.0, 1.0], [0.0, 0.04], Solver.QUICK, 3e-2),
    ],
)
def test_chains_swing_as_what_they_are_drawn_as(masses, inertias, solver, error):
    angles = np.array([0.6, 0.3, -0.2])[: len(masses)]
    start = np.concatenate([angles, np.zeros_like(angles)])
    expected = runge_kutta(chain_motion(np.array(masses), 0.2, inertias), start, 0.7)
    body, q = chain(masses, 0.2, inertias), np.diff(angles, prepend=0.0)
    found, gap = swung(body, q, np.zeros_like(q), 0.7, solver=solver)
    assert_allclose(np.cumsum(found), expected[: len(q)], atol=error)
    assert gap < 3e-4


def group_of(flat, name):
    """Return mass and inertia that are simulated for the group of a link."""
    group = flat.links.group[flat.placement.body.link_index(name)]
    assert group != STATIC
    return flat.groups.mass[group], flat.groups.inertia[group]


def test_a_link_without_mass_gets_a_share_of_what_it_carries():
    mass, inertia = group_of(flatten(fixed(universal_pendulum()), PhysicsSettings()), "CROSS")
    assert mass == pytest.approx(1e-5)
    assert_allclose(inertia, 1e-5 * (BOB_INERTIA + LENGTH**2) * np.eye(3), rtol=1e-12, atol=0)
    rough = PhysicsSettings(solver=Solver.QUICK, iterations=100)
    assert group_of(flatten(fixed(universal_pendulum()), rough), "CROSS")[0] == pytest.approx(2e-3)


def test_at_the_end_of_a_chain_it_gets_a_share_of_what_it_hangs_on():
    tip = child("TIP", "EYE", REVOLUTE, X, X_PL=at(0.1), **MASSLESS)
    links = (
        root(mass=50.0),
        child("ARM", "BASE", REVOLUTE, X, mass=3.0),
        child("EYE", "ARM", REVOLUTE, Y, **MASSLESS),
        tip,
    )
    flat = flatten(fixed(Body(name="b", links=links)), PhysicsSettings())
    for name in ("EYE", "TIP"):
        mass, inertia = group_of(flat, name)
        assert mass == pytest.approx(3e-5)
        assert (np.linalg.eigvalsh(inertia) > 0.0).all()


def test_an_inertia_without_mass_is_kept():
    links = universal_pendulum().links
    own = 0.02 * np.diag([1.0, 2.0, 2.5])
    links = (links[0], replace(links[1], inertia=own), links[2])
    mass, inertia = group_of(
        flatten(fixed(Body(name="b", links=links)), PhysicsSettings()), "CROSS"
    )
    assert mass == pytest.approx(1e-5)
    assert_array_equal(inertia, own)


@pytest.mark.parametrize("least", [0.0, -3e-9, 1e-20])
def test_only_the_moment_that_is_none_is_raised(least):
    """A thin rod, turned: the other moments and all axes stay, and the rest is small."""
    R = rpy_matrix(0.3, -0.7, 1.1)
    own = R @ np.diag([least, 0.004, 0.005]) @ R.T
    body = chain([1.0], 0.2, [0.0])
    body = replace(body, links=(body.links[0], replace(body.links[1], inertia=own)))
    _, inertia = group_of(flatten(fixed(body), PhysicsSettings()), "L0")
    moments = np.diag(R.T @ inertia @ R)
    assert_allclose(R.T @ inertia @ R, np.diag(moments), atol=1e-15)
    assert_allclose(moments[1:], [0.004, 0.005], rtol=1e-12)
    assert 0.0 < moments[0] < 1e-6


@pytest.mark.parametrize("shape", [np.eye(3), np.fliplr(np.eye(3)), np.diag([1.0, -1.0, 0.0])])
def test_an_inertia_that_is_left_of_rounding_is_none(shape):
    """As of iCub's ankles, with 0.27 kg and a product of inertia of 1.4e-20 beside zeros."""
    simulated = []
    for inertia in (NOTHING, 1.35525e-20 * shape):
        body = chain([0.2675], 0.05, [0.0])
        body = replace(body, links=(body.links[0], replace(body.links[1], inertia=inertia)))
        simulated.append(group_of(flatten(fixed(body), PhysicsSettings()), "L0"))
    assert simulated[1][0] == simulated[0][0]
    assert_allclose(simulated[1][1], simulated[0][1], rtol=1e-12, atol=1e-20)
    assert np.linalg.eigvalsh(simulated[0][1])[0] > 0.0


def test_products_of_inertia_that_are_too_large_are_cut_down():
    """As of HRP-4C's wrists: one moment was left at zero beside its product."""
    own = 1e-7 * np.array([[0.0, 0.0, 1.4], [0.0, 3.1, 0.0], [1.4, 0.0, 2.1]])
    body = chain([0.0134], 0.01, [0.0])
    body = replace(body, links=(body.links[0], replace(body.links[1], inertia=own)))
    _, inertia = group_of(flatten(fixed(body), PhysicsSettings()), "L0")
    assert_allclose(np.linalg.eigvalsh(inertia)[1:], [2.8e-7, 3.1e-7], rtol=1e-9)
    assert 0.0 < np.linalg.eigvalsh(inertia)[0] < 1e-8


@pytest.mark.parametrize("solver", list(Solver))
def test_what_floats_without_inertia_is_as_evenly_filled_as_its_shape(solver):
    size = np.array([0.1, 0.2, 0.05])
    shape = placed(Box(size), at(0.3, 0.1, 0.0))
    body = Body(name="b", links=(root(free=True, inertia=NOTHING, collision=(shape,)),))
    body = replace(body, links=(replace(body.links[0], center_of_mass=np.array([0.3, 0.1, 0])),))
    start = moving(body, at(z=0.3, R=rpy_matrix(0.3, 0.4, 0.5)))
    engine, _, box = world(floor(), start, solver=solver)
    _, inertia = group_of(flatten(start, engine.settings), "BASE")
    assert_allclose(inertia, box_inertia(1.0, size), rtol=1e-9, atol=1e-12)
    engine.step(3000)
    assert np.linalg.norm(box.motion.w[0]) < 1e-3
    assert np.linalg.norm(box.motion.v[0]) < 1e-3


def test_a_drawn_shape_counts_where_nothing_collides():
    body = Body(name="b", links=(root(free=True, inertia=NOTHING, visual=(placed(Sphere(0.1)),)),))
    _, inertia = group_of(flatten(moving(body), PhysicsSettings()), "BASE")
    assert_allclose(inertia, box_inertia(1.0, np.full(3, 0.2)), rtol=1e-9)


def test_absurd_shapes_do_not_hide_the_error_about_them():
    shape = placed(Box(np.array([1.0, np.nan, 1.0])))
    body = Body(name="b", links=(root(free=True, inertia=NOTHING, collision=(shape,)),))
    with pytest.raises(PhysicsError, match="size"):
        flatten(moving(body), PhysicsSettings())


@pytest.mark.parametrize("kind", [REVOLUTE, FREE])
def test_where_nothing_that_moves_has_mass_nothing_is_made_up(kind):
    links = (root(mass=5.0), child("A", "BASE", kind, X, **MASSLESS))
    with pytest.raises(PhysicsError, match=r"link 'A': .*not 0 kg.*write masses"):
        flatten(fixed(Body(name="b", links=links)), PhysicsSettings())


def test_where_a_body_starts_does_not_matter():
    body = universal_pendulum()
    far = at(3.0, -2.0, 1.0, rpy_matrix(0.1, 0.7, 2.0))
    here, there = (
        group_of(flatten(fixed(body, place), PhysicsSettings()), "CROSS") for place in (None, far)
    )
    assert here[0] == there[0]
    assert_allclose(here[1], there[1], rtol=1e-14)


@pytest.mark.parametrize("path", sorted(MODELS.rglob("*.body")), ids=lambda path: path.stem)
@pytest.mark.parametrize("solver", list(Solver))
def test_what_is_fine_is_not_touched(path, solver):
    body = load_body(path, Diagnostics.silent())
    start = moving(body) if not body.is_root_fixed else fixed(body)
    assert not mass_repairs(start, PhysicsSettings(solver=solver))


@pytest.mark.parametrize("fix", [True, False])
def test_gains_that_are_derived_hold_a_body_that_was_mended(fix):
    links = (
        root(free=not fix),
        child("ARM", "BASE", REVOLUTE, X, center_of_mass=0.1 * Y),
        child("CROSS", "ARM", REVOLUTE, X, X_PL=at(y=0.2), **MASSLESS),
        child("HAND", "CROSS", REVOLUTE, Z, center_of_mass=0.1 * Y),
        child("EYE", "HAND", REVOLUTE, Z, X_PL=at(y=0.1), **MASSLESS),
    )
    body = Body(name="b", links=links)
    q = np.array([0.1, 0.2, -0.3, 0.4])
    kp, kd = servo_gains(body, q, fixed=fix)
    assert (kp > 0.0).all()
    assert np.isfinite(kp + kd).all()
    gravity = (0.0, 0.0, -G if fix else 0.0)
    start = (fixed if fix else moving)(body, q=q)
    engine, simulated = world(start, gravity=gravity)
    simulated.drive.q[:], simulated.drive.kp[:], simulated.drive.kd[:] = q, kp, kd
    engine.step(2000)
    assert_allclose(simulated.motion.q, q, atol=0.02)
    assert_allclose(simulated.motion.dq, 0.0, atol=1e-6)
