"""What stands on contacts stays, and moves when something overcomes them."""

import numpy as np
import pytest
from sim.physics.scenes import G, at, box_inertia, floor, lone, moving, placed, world

from hrp_model.geometry import Box

SIDE = 0.2
SIZE = np.full(3, SIDE)
CUBE = lone(placed(Box(SIZE)), inertia=box_inertia(1.0, SIZE))


def cube(z=SIDE / 2, name="cube"):
    return moving(CUBE, at(z=z), name=name)


def test_a_stack_of_ten_cubes_stands_with_exact_steps():
    places = [cube(SIDE * (k + 0.5), f"cube{k}") for k in range(10)]
    engine, *bodies = world(*places, floor())
    engine.step(3000)
    for k, body in enumerate(bodies[:10]):
        assert body.motion.p[0, 2] == pytest.approx(SIDE * (k + 0.5), abs=1e-3)
        assert np.abs(body.motion.p[0, :2]).max() < 1e-6


def test_what_is_pulled_up_does_not_stick():
    gravity = (0.0, 0.0, 0.5)
    engine, body, _ = world(cube(), floor(), gravity=gravity)
    engine.step(300)
    assert body.motion.v[0, 2] == pytest.approx(0.15, rel=1e-9)


def test_a_cube_tips_over_its_edge():
    pull = 1.2 * G
    gravity = (pull, 0.0, -G)
    engine, body, _ = world(cube(), floor(), gravity=gravity, friction=10.0)
    engine.step(50)
    # Moment of inertia about an edge: 2/3 m s^2.
    assert body.motion.w[0, 1] == pytest.approx(0.75 * (pull - G) / SIDE * 0.05, rel=0.05)


def test_a_grain_is_held():
    side, mass = 8e-4, 1e-6
    legs = [placed(Box(np.full(3, side)), at(x, y)) for x in (-0.01, 0.01) for y in (-0.01, 0.01)]
    plate = lone(*legs, mass=mass, inertia=box_inertia(mass, np.array([0.02, 0.02, side])))
    engine, body, _ = world(moving(plate, at(z=side / 2)), floor(), cfm=1e-12)
    engine.step(100)
    assert body.motion.p[0] == pytest.approx([0.0, 0.0, side / 2], abs=1e-3)


@pytest.mark.parametrize("cfm", [1e-8, 1e-10])
def test_a_plate_on_many_redundant_contacts_stays_where_it_is(cfm):
    rng = np.random.default_rng(1)
    feet = [placed(Box(np.full(3, 0.04)), at(*rng.uniform(-0.5, 0.5, 2))) for _ in range(12)]
    plate = lone(*feet, inertia=box_inertia(1.0, np.array([1.0, 1.0, 0.04])))
    engine, body, _ = world(moving(plate, at(z=0.02)), floor(), cfm=cfm)
    engine.step(1000)
    assert np.abs(body.motion.p[0] - [0.0, 0.0, 0.02]).max() < 2e-5  # it sinks in a little
    assert np.abs(body.motion.p[0, :2]).max() < 5e-9  # and tilts by as little
    assert np.abs(body.motion.R[0] - np.eye(3)).max() < 1e-6


def test_what_is_saved_is_the_same_right_after_it_came_back():
    pull = (0.39 * G, 0.0, -G)
    engine, *_ = world(cube(), floor(), gravity=pull, friction=0.4)
    saved = engine.save()
    for _ in range(300):
        engine.step()
        saved = engine.save()
        if saved["habits"].any():
            break
    assert saved["habits"].any()
    other, *_ = world(cube(), floor(), gravity=pull, friction=0.4)
    other.restore(saved)
    assert np.array_equal(other.save()["habits"], saved["habits"])
