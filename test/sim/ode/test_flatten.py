"""A Body in flat arrays: groups, joints, shapes, and who may touch whom."""

import numpy as np
from sim.physics.scenes import (
    FIXED,
    FREE,
    PRISMATIC,
    REVOLUTE,
    TRACK,
    X,
    Y,
    Z,
    at,
    child,
    fixed,
    moving,
    placed,
    root,
)

from hrp_model.body import Body, link_pair
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box, Cylinder, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.engine.articulation.articulation import STATIC, Contact, GeomKind, JointKind
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.engine.materials import NO_MATERIAL

TURN = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.9)


def robot():
    links = (
        root(free=True, mass=2.0),
        child("PLATE", "BASE", FIXED, X_PL=at(0.2, 0.0, 0.0, TURN), mass=1.0),
        child("ARM", "PLATE", REVOLUTE, X, X_PL=at(0.0, 0.3, 0.0), mass=3.0),
        child("HAND", "ARM", FIXED, X_PL=at(0.0, 0.1, 0.0), mass=0.5),
        child("RAIL", "BASE", PRISMATIC, Y, mass=0.7),
        child("BELT", "BASE", TRACK, Y, mass=0.3),
        child("LOOSE", "BASE", FREE, X_PL=at(3.0), mass=0.9),
    )
    sensor = ForceSensor(name="wrist", link="HAND")
    disabled = frozenset({link_pair("HAND", "RAIL")})
    return Body(name="robot", links=links, devices=(sensor,), self_collision_disabled=disabled)


def test_fixed_links_join_unless_a_force_sensor_watches():
    flat = flatten(moving(robot()), PhysicsSettings())
    np.testing.assert_array_equal(flat.links.group, [0, 0, 1, 2, 3, 0, 4])
    np.testing.assert_allclose(flat.groups.mass, [3.3, 3.0, 0.5, 0.7, 0.9])
    assert [JointKind(k) for k in flat.joints.kind] == [
        JointKind.HINGE,
        JointKind.FIXED,
        JointKind.SLIDER,
    ]
    np.testing.assert_array_equal(flat.joints.coordinate, [0, -1, 1])
    np.testing.assert_array_equal(flat.joints.child, [1, 2, 3])
    np.testing.assert_array_equal(flat.joints.parent, [0, 1, 0])
    np.testing.assert_array_equal(flat.links.watched, [0, 0, 0, 1, 0, 0, 0])


def test_the_links_of_a_fixed_root_belong_to_no_group():
    flat = flatten(fixed(robot(), at(1.0, 2.0, 3.0)), PhysicsSettings())
    np.testing.assert_array_equal(flat.links.group, [STATIC, STATIC, 0, 1, 2, STATIC, 3])
    np.testing.assert_allclose(flat.links.p[1], [1.2, 2.0, 3.0])
    np.testing.assert_array_equal(flat.joints.parent, [STATIC, 0, STATIC])


def test_a_group_has_the_mass_and_inertia_of_its_links_about_their_common_centre():
    flat = flatten(moving(robot(), q=np.array([0.3, 0.1])), PhysicsSettings())
    body, groups = robot(), flat.groups
    for g, mass in enumerate(groups.mass):
        members = np.flatnonzero(flat.links.group == g)
        masses = np.array([body.links[i].mass for i in members])
        assert masses.sum() == mass
        arms = flat.links.p[members]  # every centre of mass is at its link's origin
        np.testing.assert_allclose(masses @ arms, 0.0, atol=1e-12)
        inertia = sum(
            0.01 * np.eye(3) + m * (r @ r * np.eye(3) - np.outer(r, r))
            for m, r in zip(masses, arms, strict=True)
        )
        np.testing.assert_allclose(groups.inertia[g], inertia, atol=1e-12)


def test_who_may_touch_whom():
    flat = flatten(moving(robot()), PhysicsSettings())
    base, plate, arm, hand, rail, belt, loose = range(7)
    never = {(base, plate), (base, arm), (plate, belt), (arm, hand), (rail, belt), (hand, rail)}
    for a, b in never:
        assert flat.contacts[a, b] == flat.contacts[b, a] == Contact.NEVER
    assert flat.contacts[hand, base] == flat.contacts[base, hand] == Contact.UNLESS_TOUCHING
    assert flat.contacts[arm, rail] == Contact.UNLESS_OVERLAPPING
    assert flat.contacts[loose, base] == flat.contacts[hand, loose] == Contact.ALWAYS


def test_shapes_stand_in_the_frames_of_their_groups():
    cylinder = placed(Cylinder(0.1, 0.4), at(0.0, 0.0, 0.5))
    cubes = [placed(mesh_of(Box(np.full(3, 0.1))), at(x)) for x in (0.0, 1.0)]
    links = (
        root(free=True, collision=(cylinder, *cubes, placed(Sphere(0.2)))),
        child("END", "BASE", FIXED, X_PL=at(1.0, 0.0, 0.0), collision=(cylinder,)),
    )
    flat = flatten(moving(Body(name="b", links=links)), PhysicsSettings(convex_meshes=False))
    kinds = [GeomKind(k).name for k in flat.geoms.kind]
    assert kinds == ["CYLINDER", "MESH", "MESH", "SPHERE", "CYLINDER"]
    # The common centre of mass is halfway to END.
    np.testing.assert_allclose(flat.geoms.p, [[-0.5, 0, 0.5], *[[-0.5, 0, 0]] * 3, [0.5, 0, 0.5]])
    np.testing.assert_allclose(flat.geoms.R[0] @ Z, Y)
    np.testing.assert_allclose(flat.geoms.size[0], [0.1, 0.4, 0.0])
    np.testing.assert_array_equal(flat.geoms.material, NO_MATERIAL)
    np.testing.assert_array_equal(flat.geoms.first_triangle, [0, 0, 12, 24, 24, 24])
    assert flat.geoms.triangles.max() == 7


def test_a_shape_of_size_zero_is_left_out_aloud(caplog):
    links = (
        root(free=True, collision=(placed(Sphere(0.0)), placed(Box(np.array([1.0, 1.0, 0.0]))))),
    )
    flat = flatten(moving(Body(name="b", links=links)), PhysicsSettings())
    assert len(flat.geoms.kind) == 0
    assert "'BASE': a collision shape of size zero is ignored" in caplog.text
