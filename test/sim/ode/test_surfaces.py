"""Friction and restitution of materials, and what touches nothing."""

import numpy as np
import pytest
from sim.physics.scenes import (
    FIXED,
    G,
    X,
    Y,
    at,
    box_inertia,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
    world,
)

from hrp_model.body import Body
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.engine import Placement, Solver
from hrp_sim.engine.materials import ContactMaterial, Material, MaterialTable, material_pair
from hrp_sim.engine.ode import _core

BLOCK = np.array([0.3, 0.3, 0.05])
TABLE = MaterialTable(
    {
        "Felt": Material(roughness=0.9),
        "Glass": Material(roughness=0.1),
        "Ball": Material(roughness=0.5, viscosity=0.36),
    },
    {
        material_pair("Felt", "Wax"): ContactMaterial(friction=0.2),
        material_pair("Ball", "Stone"): ContactMaterial(friction=0.0, restitution=0.8),
    },
)


def made_of(material, *shapes, name="thing", **link):
    link = root(free=True, collision=shapes, contact_material=material, **link)
    return Body(name=name, links=(link,))


def ground(material, R=None):
    shape = placed(Box(np.array([20.0, 20.0, 1.0])), at(z=-0.5))
    link = root("FLOOR", mass=0.0, collision=(shape,), contact_material=material)
    return Placement(name="floor", body=Body(name="floor", links=(link,)), X_WL=at(R=R), fixed=True)


PAIRS = [
    ("Felt", "Wax", 0.2),  # said of the pair
    ("Felt", "Glass", 0.3),  # sqrt(0.9 * 0.1)
    ("Glass", "", np.sqrt(0.1 * 0.5)),  # with the world's friction
    ("Unheard of", "Felt", np.sqrt(0.9 * 0.5)),
]


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize(("below", "above", "mu"), PAIRS)
def test_blocks_stick_and_slide_as_their_materials_say(below, above, mu, solver):
    block = made_of(above, placed(Box(BLOCK)), inertia=box_inertia(1, BLOCK))
    for slope in (0.95 * np.arctan(mu), 1.3 * np.arctan(mu)):
        R = axis_angle_matrix(Y, slope)
        start = moving(block, at(R=R, **dict(zip("xyz", R @ [0, 0, 0.0249], strict=True))))
        engine, thing, _ = world(
            start, ground(below, R), materials=TABLE, friction=0.5, solver=solver
        )
        engine.step(500)
        expected = max(0.0, G * (np.sin(slope) - mu * np.cos(slope))) * 0.5
        assert thing.motion.v[0] @ (R @ X) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize(("surface", "e"), [("Stone", 0.8), ("Ball", 0.64), ("Glass", 0.0)])
def test_a_ball_bounces_to_the_square_of_its_restitution(surface, e, solver):
    ball = made_of("Ball", placed(Sphere(0.05)), inertia=np.eye(3) * 1e-3)
    engine, thing, _ = world(
        moving(ball, at(z=1.05)), ground(surface), materials=TABLE, solver=solver, time_step=2e-4
    )
    until_impact = np.sqrt(2.0 / G)
    engine.step(round((until_impact + e * np.sqrt(2.0 / G)) / 2e-4))  # the top of the bounce
    assert thing.motion.p[0, 2] - 0.05 == pytest.approx(e**2, abs=0.005)


@pytest.mark.parametrize("solver", list(Solver))
def test_what_bounces_comes_to_rest(solver):
    block = made_of("Ball", placed(Box(BLOCK)), inertia=box_inertia(1, BLOCK))
    engine, thing, _ = world(
        moving(block, at(z=0.1)), ground("Stone"), materials=TABLE, solver=solver
    )
    engine.step(4000)
    assert thing.motion.p[0, 2] == pytest.approx(0.025, abs=5e-4)
    assert np.abs(thing.motion.v[0]).max() < 1e-3


def test_a_bounce_comes_off_a_wall_without_gravity():
    ball = made_of("Ball", placed(Sphere(0.05)), inertia=np.eye(3) * 1e-3)
    engine, thing, _ = world(
        moving(ball, at(z=0.1), v=np.array([0.3, 0.0, -0.5])),
        ground("Stone"),
        materials=TABLE,
        gravity=(0, 0, 0),
    )
    engine.step(500)
    np.testing.assert_allclose(thing.motion.v[0], [0.3, 0.0, 0.4], atol=1e-4)


def test_an_unknown_material_is_warned_about_once_for_its_link(caplog):
    world(moving(made_of("Gras", placed(Sphere(0.1)))), ground("Felt"), materials=TABLE)
    (line,) = (r.message for r in caplog.records if "Gras" in r.message)
    assert "'thing', link 'BASE'" in line
    assert "'Glass'" in line
    caplog.clear()
    world(moving(made_of("Grass", placed(Sphere(0.1)))))
    assert not caplog.records


def stilts(**options):
    """A plate on a leg that touches nothing where it is told so."""
    plate, leg = Box(np.array([0.4, 0.4, 0.1])), Box(np.array([0.1, 0.1, 0.4]))
    links = (
        root(free=True, collision=(placed(plate),)),
        child("LEG", "BASE", FIXED, X_PL=at(z=-0.2), collision=(placed(leg),)),
    )
    return Body(name="stilts", links=links, **options)


def test_disabled_links_touch_no_other_body_but_stop_rays():
    bodies = [stilts(), stilts(collision_disabled=frozenset({"LEG"}))]
    for body, height in zip(bodies, (0.4, 0.05), strict=True):
        engine, thing, _ = world(moving(body, at(z=0.41)), floor())
        engine.step(1500)
        assert thing.motion.p[0, 2] == pytest.approx(height, abs=1e-3)
        x, y, z = thing.motion.p[0]
        start = np.array([[x + 5.0, y, z - 0.3]])
        seen = engine.cast_rays(start, -X[None], 10.0, ignored="floor")
        assert seen[0] == pytest.approx(4.95, abs=1e-3)


def test_nothing_lands_on_disabled_links_of_what_stands():
    table = Body(
        name="table",
        links=(root(collision=(placed(Box(np.ones(3))),)),),
        collision_disabled=frozenset({"BASE"}),
    )
    ball = lone(placed(Sphere(0.1)), name="ball")
    engine, dropped, _, _ = world(moving(ball, at(z=1.0)), fixed(table), floor())
    engine.step(1000)
    assert dropped.motion.p[0, 2] == pytest.approx(0.1, abs=1e-3)


GOOD = np.array([[1.0, 0.5], [0.5, 1.0]])
NONE = np.zeros(2, dtype=np.int32)


@pytest.mark.parametrize(
    "bad",
    [
        np.full((2, 2), np.nan),
        np.full((2, 2), -0.5),
        np.full((2, 2), np.inf),
        np.array([[1.0, 0.5], [0.4, 1.0]]),
        np.ones((2, 3)),
        np.ones((0, 0)),
        np.ones((2, 2), dtype=np.float32),
    ],
)
def test_impossible_tables_are_refused_where_they_enter(bad):
    engine, *_ = world()
    for friction, restitution in ((bad, GOOD), (GOOD, bad)):
        with pytest.raises((ValueError, TypeError)):
            engine._world.set_materials(friction, restitution, NONE)
    assert isinstance(engine._world, _core.World)


def test_restitution_beyond_one_and_a_late_table_are_refused():
    engine, _ = world(floor())
    with pytest.raises(RuntimeError, match="before bodies are added"):
        engine._world.set_materials(GOOD, GOOD, NONE)
    engine, *_ = world()
    with pytest.raises(ValueError, match="restitution"):
        engine._world.set_materials(GOOD, GOOD * 1.5, NONE)
