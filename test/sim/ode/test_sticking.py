"""Contacts at rest that are solved as joints: what moves is what moves with proper contacts."""

import numpy as np
import pytest
from paths import MODELS
from sim.ode.scenes import G, at, box_inertia, floor, lone, moving, placed, world

from hrp_model import load_body
from hrp_model.geometry import Box
from hrp_sim.config import BodyEntry, WorldConfig
from hrp_sim.engine import PhysicsSettings
from hrp_sim.simulation import Simulation

SIDE = 0.2
SIZE = np.full(3, SIDE)
CUBE = lone(placed(Box(SIZE)), inertia=box_inertia(1.0, SIZE))

predicted_or_not = pytest.mark.parametrize("predict", [True, False])


def cube(z=SIDE / 2, name="cube"):
    return moving(CUBE, at(z=z), name=name)


def test_a_stack_of_ten_cubes_stands_with_exact_steps():
    places = [cube(SIDE * (k + 0.5), f"cube{k}") for k in range(10)]
    engine, *bodies = world(*places, floor())
    engine.step(10_000)
    for k, body in enumerate(bodies[:10]):
        assert body.motion.p[0, 2] == pytest.approx(SIDE * (k + 0.5), abs=1e-3)
        assert np.abs(body.motion.p[0, :2]).max() < 1e-6


def test_a_humanoid_stands_the_same():
    body = load_body(MODELS / "humanoid" / "humanoid.body")
    entries = (BodyEntry(placement=floor()), BodyEntry(placement=moving(body, body.root.X_PL)))
    runs = [
        Simulation(WorldConfig(physics=PhysicsSettings(predict_sticking=p), bodies=entries))
        for p in (True, False)
    ]
    for _ in range(500):
        for run in runs:
            run.step()
    p, q = (run.bodies[body.name].motion.p for run in runs)
    assert np.abs(p - q).max() < 1e-7
    for run in runs:
        run.close()


@predicted_or_not
def test_what_is_pulled_up_does_not_stick(predict):
    gravity = (0.0, 0.0, 0.5)
    engine, body, _ = world(cube(), floor(), gravity=gravity, predict_sticking=predict)
    engine.step(300)
    assert body.motion.v[0, 2] == pytest.approx(0.15, rel=1e-9)


@predicted_or_not
@pytest.mark.parametrize("along", [0.9, 1.1, 2.0])
def test_a_level_pull_meets_the_friction_that_there_is(predict, along):
    mu = 0.4
    gravity = (along * mu * G, 0.0, -G)
    engine, body, _ = world(cube(), floor(), gravity=gravity, friction=mu, predict_sticking=predict)
    engine.step(500)
    speed = max(along - 1.0, 0.0) * mu * G * 0.5
    assert body.motion.v[0, 0] == pytest.approx(speed, abs=1e-3)
    assert np.abs(body.motion.w[0]).max() < 1e-3


@predicted_or_not
def test_a_cube_tips_over_its_edge(predict):
    pull = 1.2 * G
    gravity = (pull, 0.0, -G)
    engine, body, _ = world(
        cube(), floor(), gravity=gravity, friction=10.0, predict_sticking=predict
    )
    engine.step(50)
    # Moment of inertia about an edge: 2/3 m s^2.
    assert body.motion.w[0, 1] == pytest.approx(0.75 * (pull - G) / SIDE * 0.05, rel=0.05)


def test_without_any_softness_contacts_are_proper_ones():
    places = [cube(SIDE * (k + 0.5), f"cube{k}") for k in range(3)]
    runs = [world(*places, floor(), cfm=0.0, predict_sticking=p) for p in (True, False)]
    for engine, *_ in runs:
        engine.step(100)
    for one, other in zip(runs[0][1:], runs[1][1:], strict=True):
        assert np.array_equal(one.motion.p, other.motion.p)
