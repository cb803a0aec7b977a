"""What ``convex_meshes`` makes of the meshes of moving links, and what each pair costs."""

import numpy as np
import pytest
import trimesh
from sim.physics.scenes import (
    FREE,
    REVOLUTE,
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
from hrp_model.geometry import Box, Mesh, Sphere
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.engine.articulation.articulation import GeomKind
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings

BRICK = np.array([0.3, 0.2, 0.05])
WEDGE = Mesh(  # convex, but no primitive
    np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.3,
    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
)


def fine(geometry, times=3):
    part = mesh_of(geometry)
    solid = trimesh.Trimesh(part.vertices, part.triangles)
    for _ in range(times):
        solid = solid.subdivide()
    return Mesh(solid.vertices, solid.faces)


def angle_iron():
    """An L of two bricks, as one surface."""
    outline = np.array([(0, 0), (0.3, 0), (0.3, 0.1), (0.1, 0.1), (0.1, 0.3), (0, 0.3)])
    points = np.array([(*p, z) for z in (0.0, 0.1) for p in outline])
    sides = [(i, (i + 1) % 6, 6 + i) for i in range(6)]
    sides += [((i + 1) % 6, 6 + (i + 1) % 6, 6 + i) for i in range(6)]
    caps = [(0, i + 1, i) for i in range(1, 5)] + [(6, 6 + i, 7 + i) for i in range(1, 5)]
    return Mesh(points, sides + caps)


def geoms(*shapes, place=moving, **settings):
    return flatten(place(lone(*shapes)), PhysicsSettings(**settings)).geoms


def test_convex_meshes_become_what_they_are_by_default():
    found = geoms(placed(fine(Box(BRICK))), placed(angle_iron(), at(2.0)), placed(WEDGE, at(4.0)))
    assert list(found.kind) == [GeomKind.BOX, GeomKind.MESH, GeomKind.MESH]
    assert sorted(found.size[0]) == pytest.approx(sorted(BRICK))
    assert np.diff(found.first_triangle).tolist() == [0, 20, 4]


@pytest.mark.parametrize(("convex", "count"), [(False, 20), (True, 16), ("auto", 20)])
def test_only_true_fills_hollows(convex, count):
    assert len(geoms(placed(angle_iron()), convex_meshes=convex).triangles) == count


def test_parts_of_one_mesh_are_one_shape_of_convex_parts(monkeypatch, tmp_path):
    pytest.importorskip("vhacdx", reason="vhacdx is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bent, brick = placed(angle_iron()), placed(fine(Box(BRICK)), at(2.0))
    found = geoms(bent, brick, convex_meshes="parts")
    assert list(found.kind) == [GeomKind.MESH, GeomKind.BOX]
    tall, wide = (np.ptp(found.vertices, axis=0)[k] for k in (0, 1))
    assert (tall, wide) == pytest.approx((0.3, 0.3), abs=0.02)
    assert list(tmp_path.glob("hrp_ros/convex_parts/*"))
    for convex, contacts in (("parts", 0), (True, 1)):
        engine, *_ = world(
            moving(lone(bent), name="iron"),
            moving(lone(placed(Sphere(0.03))), at(0.21, 0.21, 0.05), name="ball in its hollow"),
            convex_meshes=convex,
            gravity=(0.0, 0.0, 0.0),
        )
        engine.step()
        assert engine.contacts == contacts


@pytest.mark.parametrize("convex", ["auto", True, False])
def test_static_meshes_keep_their_triangles(convex):
    ground = placed(fine(Box(BRICK), 2))
    assert len(geoms(ground, place=fixed, convex_meshes=convex).triangles) == 12 * 16


def test_equal_parts_are_examined_once(monkeypatch):
    part, calls = placed(fine(Box(BRICK))), []
    found = geoms(part)

    def examine(mesh):
        calls.append(mesh)

    monkeypatch.setattr("hrp_model.collision.hull.convex_equivalent", examine)
    again = geoms(part)
    assert not calls
    np.testing.assert_array_equal(found.size, again.size)


def test_a_fine_sole_stands_like_a_box():
    inertia = box_inertia(1.0, BRICK)
    for shape in (placed(Box(BRICK)), placed(fine(Box(BRICK)))):
        engine, thing, _ = world(moving(lone(shape, inertia=inertia), at(z=0.0251)), floor())
        engine.step(300)
        assert engine.contacts == 4
        assert thing.motion.p[0, 2] == pytest.approx(0.025, abs=2e-4)


def test_parts_without_a_library_are_refused_by_name(monkeypatch):
    monkeypatch.setattr("hrp_model.collision.decompose.find_spec", lambda _: None)
    bent = placed(angle_iron())
    assert list(geoms(bent).kind) == [GeomKind.MESH]
    with pytest.raises(PhysicsError, match=r"'BASE': the setting convex_meshes .* vhacdx or coacd"):
        geoms(bent, convex_meshes="parts")
    brick = placed(fine(Box(BRICK), 1))
    assert list(geoms(brick, convex_meshes="parts").kind) == [GeomKind.BOX]  # needs none


def test_another_word_is_refused():
    with pytest.raises(PhysicsError, match=r"convex_meshes must be 'auto', .* not 'hull'"):
        world(convex_meshes="hull")


def stacked(gap, *, sibling=False):
    """A base, a tiny middle link, and a block 10 cm above the base with a gap below it."""
    cube = (placed(Box(np.full(3, 0.1))),)
    parent = "BASE" if sibling else "MIDDLE"
    links = [root(free=True, collision=cube), child("MIDDLE", "BASE", REVOLUTE, Y)]
    if sibling:  # two blocks beside each other on joints of the base
        links[1] = child("A", "BASE", REVOLUTE, Y, X_PL=at(x=0.3), collision=cube)
        links.append(child("B", "BASE", REVOLUTE, Y, X_PL=at(x=0.4 + gap), collision=cube))
    else:
        links.append(child("TOP", parent, REVOLUTE, Y, X_PL=at(z=0.1 + gap), collision=cube))
    return Body(name="stacked", links=tuple(links))


@pytest.mark.parametrize(
    ("gap", "sibling", "contacts"),
    [
        (-2e-3, False, 0),
        (-5e-4, False, 0),  # one carries the other: built to touch
        (-5e-4, True, 4),  # like the fingers of a gripper
        (-2e-3, True, 0),
    ],
)
def test_links_that_touch_initially_do_not_collide_if_one_carries_the_other(gap, sibling, contacts):
    engine, _ = world(moving(stacked(gap, sibling=sibling)), gravity=(0.0, 0.0, 0.0))
    engine.step()
    assert engine.contacts == contacts


def test_each_pair_of_links_has_its_cost():
    blocks = Body(
        name="blocks",
        links=(
            root(free=True, collision=(placed(Box(BRICK)),)),
            child("FINE", "BASE", FREE, X_PL=at(1.0), collision=(placed(fine(Sphere(0.2), 1)),)),
        ),
    )
    engine, *_ = world(moving(blocks, at(z=0.0249)), floor(), convex_meshes=False)
    engine.step()
    assert engine.pair_costs() == []
    engine.record_pair_costs = True
    engine.step()
    costs = engine.pair_costs()
    assert {(cost.bodies, cost.links) for cost in costs} == {
        (("blocks", "floor"), (1, 0)),
        (("blocks", "floor"), (0, 0)),
    }
    assert costs[0].seconds >= costs[1].seconds > 0.0
    engine.reset()
    assert engine.pair_costs() == []


def test_measuring_does_not_change_the_state():
    states = []
    for record in (False, True):
        engine, thing, _ = world(moving(lone(placed(WEDGE)), at(z=0.1)), floor())
        engine.record_pair_costs = record
        engine.step(200)
        states.append(thing.motion.p.tobytes() + thing.motion.R.tobytes())
    assert states[0] == states[1]
