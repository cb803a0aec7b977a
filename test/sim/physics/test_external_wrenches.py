"""Pushes in the axes of a link, and pushes that replace each other."""

import gc

import numpy as np
import pytest
from sim.physics.scenes import at, lone, moving

from hrp_sim import BodyEntry, PhysicsSettings, Simulation, WorldConfig
from hrp_sim.engine.external_wrenches import TimedWrench

WEIGHTLESS = WorldConfig(physics=PhysicsSettings(gravity=(0.0, 0.0, 0.0)))
MASS = 2.0
X, NONE = np.array([1.0, 0.0, 0.0]), np.zeros(3)


def spinning(w=0.0):
    """Return a ball that turns about z in free space, and its world."""
    simulation = Simulation(WEIGHTLESS)
    body = lone(mass=MASS, inertia=np.eye(3) * 0.1)
    placement = moving(body, name="ball", X_WL=at(), w=np.array([0.0, 0.0, w]))
    return simulation, simulation.spawn(BodyEntry(placement=placement))


def run(simulation, steps):
    for _ in range(steps):
        simulation.step()


def test_a_local_push_turns_with_its_link():
    w = np.pi
    simulation, ball = spinning(w)
    simulation.push("ball", "BASE", 3.0 * X, NONE, 1.0, local=True)
    run(simulation, 1000)
    # The integral of R(w t) x over half a turn.
    np.testing.assert_allclose(ball.motion.v[0], [0.0, 2.0 * 3.0 / (MASS * w), 0.0], atol=4e-3)


def test_a_local_torque_is_about_the_axes_of_its_link():
    simulation, ball = spinning(np.pi)
    run(simulation, 500)  # a quarter turn: the link's x is the world's y
    simulation.push("ball", "BASE", NONE, 0.1 * X, 0.001, local=True)
    simulation.step()
    np.testing.assert_allclose(0.1 * ball.motion.w[0, :2], [0.0, 1e-4], atol=1e-8)


def test_the_next_push_of_a_source_replaces_its_last_one():
    simulation, ball = spinning()
    for _ in range(5):
        simulation.push("ball", "BASE", 2.0 * X, NONE, 1.0, source="hand")
        run(simulation, 10)
    simulation.push("ball", "BASE", NONE, NONE, 1.0, source="hand")
    run(simulation, 100)
    assert MASS * ball.motion.v[0, 0] == pytest.approx(2.0 * 0.050, rel=1e-9)


def test_pushes_of_different_sources_add_up():
    simulation, ball = spinning()
    for source in ("left", "right", "", ""):
        simulation.push("ball", "BASE", X, NONE, 0.1, source=source)
    run(simulation, 200)
    assert MASS * ball.motion.v[0, 0] == pytest.approx(4 * 0.1, rel=1e-9)


def test_a_saved_push_is_as_local_and_as_replaceable_as_before():
    simulation, ball = spinning(2.0)
    simulation.push("ball", "BASE", 3.0 * X, NONE, 1.0, local=True, source="hand")
    run(simulation, 300)
    saved = simulation.save()

    def go_on():
        run(simulation, 200)
        simulation.push("ball", "BASE", X, NONE, 1.0, source="hand")
        run(simulation, 100)
        return ball.motion.v[0].copy()

    first = go_on()
    simulation.restore(saved)
    np.testing.assert_array_equal(go_on(), first)


def test_pushes_of_one_source_do_not_gather_while_nobody_steps():
    simulation, _ball = spinning()
    before = sum(isinstance(x, TimedWrench) for x in gc.get_objects())
    for _ in range(100):
        simulation.push("ball", "BASE", X, NONE, 1.0, source="hand")
    assert sum(isinstance(x, TimedWrench) for x in gc.get_objects()) == before + 1


def test_it_does_not_matter_who_pushes_first():
    def velocity(order):
        simulation, ball = spinning()
        for source in order:
            force = {"a": 1e9, "b": -1e9, "c": 1e-9}[source] * X
            simulation.push("ball", "BASE", force, NONE, 1.0, source=source)
        run(simulation, 20)
        return float(ball.motion.v[0, 0])

    assert 1e9 - 1e9 + 1e-9 != 1e-9 - 1e9 + 1e9
    assert velocity("abc") == velocity("cba") == velocity("bca") > 0.0
