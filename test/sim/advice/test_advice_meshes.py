"""What is said of collision meshes: what they become, and which of them is slow."""

from dataclasses import replace

import pytest
from sim.physics.scenes import at, floor, lone, moving, placed

from hrp_model import Severity
from hrp_model.geometry import Box, Mesh
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.engine.state import PairCost
from hrp_sim.world.advice import advise, advise_costs
from hrp_sim.world.config import BodyEntry, WorldConfig

BRICK = mesh_of(Box([0.3, 0.2, 0.1]))
WEDGE = Mesh(
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
)
SHEET = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 1, 2]])


def scene(*geometries, **physics):
    shapes = [placed(geometry, at(2.0 * k)) for k, geometry in enumerate(geometries)]
    thing = moving(lone(*shapes), at(z=1.0))
    bodies = tuple(BodyEntry(placement=placement) for placement in (floor(), thing))
    return WorldConfig(physics=PhysicsSettings(**physics), bodies=bodies)


def notes(world):
    return [x.message for x in advise(world) if x.code == "collision-meshes"]


@pytest.mark.parametrize(
    ("convex", "kinds"),
    [
        ("auto", "2 boxes, 1 convex hull of 4 triangles and 1 mesh of 1 triangles"),
        (True, "3 convex hulls of 28 triangles and 1 mesh of 1 triangles"),
        (False, "4 meshes of 29 triangles"),
    ],
)
def test_a_note_lists_what_the_meshes_of_a_link_become(convex, kinds):
    [message] = notes(scene(BRICK, WEDGE, SHEET, BRICK, convex_meshes=convex))
    assert message == f"body 'thing': the collision meshes of link 'BASE' collide as {kinds}"


def test_primitives_and_static_meshes_need_no_note():
    world = scene(Box([0.3, 0.2, 0.1]))
    ground = replace(world.bodies[0], placement=moving(lone(placed(BRICK)), name="ground"))
    fixed = replace(ground, placement=replace(ground.placement, fixed=True))
    assert notes(replace(world, bodies=(fixed, world.bodies[1]))) == []


def test_only_collision_slower_than_a_step_is_worth_a_warning():
    world = scene(WEDGE)
    costs = [
        PairCost(("thing", "floor"), (0, 0), 1.6e-3),
        PairCost(("thing", "floor"), (0, 0), 0.4e-3),
    ]
    [warning] = advise_costs(world, costs)
    assert warning.severity is Severity.WARNING
    assert warning.message == (
        "body 'thing': finding contacts takes 2 ms of a step of 1 ms, 100% of it for the 4 "
        "triangles of link 'BASE'; write convex_meshes: parts or true, or give the link simpler "
        "collision shapes"
    )
    assert advise_costs(world, costs[1:]) == []
    assert advise_costs(scene(Box([0.3, 0.2, 0.1])), costs) == []
    slower = replace(world.physics, time_step=0.002)
    assert advise_costs(replace(world, physics=slower), costs) == []
