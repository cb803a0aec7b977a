"""The motions of ``trajectories.json``: exact ones, and how near the original comes to them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import reference_data
from paths import needs_shared
from sim.physics.measures import energy, separation
from sim.physics.scenes import fixed, world

from hrp_sim.engine.engine import Solver

pytestmark = needs_shared
NAMES = pytest.mark.parametrize("name", ["pendulum", "pa10"])
SOLVERS = pytest.mark.parametrize("solver", list(Solver))
STEPS = 1000, 2000, 4000  # in a second


def published(name):
    """The body, its start, its exact motion, and the original's smallest error at 1 ms."""
    case = reference_data.load("trajectories.json")[name]
    row = next(r for r in reference_data.index() if r["model_file"] == case["model_file"])
    body = reference_data.body_of(reference_data.load(row["file"]))
    order = [case["link_names"].index(link.name) for link in body.moving_links]
    start = np.array(case["initial"]["q_by_link_index"])[order]
    exact = [(sample["t"], np.array(sample["q"])[order]) for sample in case["exact"]]
    figures = case["choreonoid_max_abs_q_error_at_1s"].items()
    best = min(error for method, error in figures if "dt=0.001" in method.split())
    return body, start, exact, best


def run(body, start, solver, steps, samples=10):
    """Return the positions at every tenth of a second, the energy gained, and the gap in joints."""
    engine, simulated = world(
        fixed(body, q=start), time_step=1.0 / steps, joint_limits=False, solver=solver
    )
    before, q = energy(simulated), []
    for _ in range(samples):
        engine.step(steps // 10)
        q.append(simulated.motion.q.copy())
    return q, energy(simulated) - before, separation(simulated)


@SOLVERS
@NAMES
def test_the_error_is_a_fraction_of_the_best_and_of_second_order(name, solver):
    body, start, exact, best = published(name)
    assert exact[10][0] == pytest.approx(1.0)
    errors, drifts = [], []
    for steps in STEPS:
        q, drift, apart = run(body, start, solver, steps)
        errors.append(np.abs(q[-1] - exact[10][1]).max())
        drifts.append(abs(drift))
        assert apart < 4e-5
    assert errors[0] < 0.2 * best
    for whole, half in pairwise(errors):
        assert half == pytest.approx(whole / 4.0, rel=0.05)
    for whole, half in pairwise(drifts):
        assert half == pytest.approx(whole / 4.0, rel=0.15)


@SOLVERS
@NAMES
def test_the_whole_second_is_followed(name, solver):
    body, start, exact, best = published(name)
    q, _, _ = run(body, start, solver, 1000)
    for found, (_, expected) in zip(q, exact[1:11], strict=True):
        np.testing.assert_allclose(found, expected, atol=0.2 * best)


@SOLVERS
@NAMES
def test_without_rotors_the_motion_is_another_and_as_exact(name, solver):
    from sim.physics.mujoco_peer import free_motion

    body, start, exact, best = published(name)
    geared, _ = free_motion(body, 1.0, q=start)
    np.testing.assert_allclose(geared, exact[10][1], atol=1e-9)  # two oracles agree
    links = tuple(
        replace(link, joint=replace(link.joint, equivalent_rotor_inertia=0.0))
        for link in body.links
    )
    bare = replace(body, links=links)
    expected, _ = free_motion(bare, 1.0, q=start)
    assert np.abs(expected - geared).max() > 1e-5
    errors = []
    for steps in STEPS[:2]:
        q, _, _ = run(bare, start, solver, steps)
        errors.append(np.abs(q[-1] - expected).max())
    assert errors[0] < 0.2 * best
    for whole, half in pairwise(errors):
        assert half == pytest.approx(whole / 4.0, rel=0.05)
