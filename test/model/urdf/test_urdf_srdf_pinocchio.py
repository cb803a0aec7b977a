"""What pinocchio makes of the SRDF of a body: motors, postures, collisions."""

from pathlib import Path

import numpy as np
import pytest
from srdf_tools import Description, described, link, loaded, robots, tree
from urdf_tools import random_pose

from hrp_model import BodyState
from hrp_model.body import Body, JointType, Range


@pytest.fixture
def pin():
    return pytest.importorskip("pinocchio", reason="pinocchio is not installed")


def in_files(body, folder):
    """Return where the URDF and the SRDF of a body are."""
    urdf, srdf = described(body, folder=folder / "meshes")
    (folder / "robot.urdf").write_text(urdf, encoding="utf-8")
    (folder / "robot.srdf").write_text(srdf, encoding="utf-8")
    return str(folder / "robot.urdf"), str(folder / "robot.srdf")


def motorised(seed):
    """Return a body with motors: with a gear, without, and as the joint feels it."""
    rng = np.random.default_rng(seed)
    motors = (
        {"gear_ratio": 100.0, "rotor_inertia": 1.7e-5, "equivalent_rotor_inertia": 0.17},
        {"equivalent_rotor_inertia": 0.3},
        {"gear_ratio": 50.0, "rotor_inertia": 1e-4, "equivalent_rotor_inertia": 0.7},
        {"gear_ratio": 0.0, "equivalent_rotor_inertia": 0.01},
        {"gear_ratio": 3.0},
    )
    links = [link("ROOT", None, JointType.FIXED)]
    for i, motor in enumerate(motors):
        parent = links[rng.integers(len(links))].name
        kind = JointType.PRISMATIC if i % 3 == 1 else JointType.REVOLUTE
        wide = {"position": Range(-3.0, 3.0), "initial": float(rng.uniform(-1.0, 1.0))}
        links.append(link(f"L{i}", parent, kind, X_PL=random_pose(rng), joint=motor | wide))
    return Body(name="motorised", links=tuple(links))


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio_has_our_mass_matrix_and_postures_through_urdf_and_srdf(pin, seed, tmp_path):
    body = motorised(seed)
    urdf, srdf = in_files(body, tmp_path)
    model = pin.buildModelFromUrdf(urdf)
    pin.loadRotorParameters(model, srdf, False)
    pin.loadReferenceConfigurations(model, srdf, False)
    order = [model.idx_vs[model.getJointId(x.joint.name)] for x in body.moving_links]
    q = model.referenceConfigurations["initial"]
    np.testing.assert_array_equal(q[order], [x.joint.initial for x in body.moving_links])
    M = pin.crba(model, model.createData(), q)
    M = np.triu(M) + np.triu(M, 1).T
    ours = BodyState(body).calc_mass_matrix()
    np.testing.assert_allclose(M[np.ix_(order, order)], ours, rtol=0.0, atol=1e-12)
    assert not model.referenceConfigurations["zero"].any()


def test_pinocchio_accepts_a_robot_without_motors(pin, tmp_path):
    urdf, srdf = in_files(tree(link("A", "ROOT")), tmp_path)
    model = pin.buildModelFromUrdf(urdf)
    pin.loadRotorParameters(model, srdf, False)
    assert not model.armature.any()


@robots
def test_an_independent_library_finds_the_same_pairs_overlapping(pin, path, tmp_path):
    """What pinocchio is left with is free of collisions at first; what overlaps is as told."""
    body = loaded(path)
    urdf, srdf = in_files(body, tmp_path)
    model = pin.buildModelFromUrdf(urdf)
    geometry = pin.buildGeomFromUrdf(model, urdf, pin.GeometryType.COLLISION)
    geometry.addAllCollisionPairs()
    pin.loadReferenceConfigurations(model, srdf, False)
    q = model.referenceConfigurations["initial"] if body.moving_links else pin.neutral(model)
    colliding = collisions(pin, model, geometry, q)
    reasons = Description(Path(urdf).read_text(), Path(srdf).read_text()).disabled()
    tested = {pair for pair in colliding if pair not in reasons}
    assert tested == set()
    told = {pair for pair, reason in reasons.items() if reason == "Default"}
    for pair in told - colliding:
        assert touch_or_enclose(pin, model, geometry, q, pair), pair
    pin.removeCollisionPairs(model, geometry, srdf, False)
    left = {pair_of(model, geometry, pair) for pair in geometry.collisionPairs}
    assert left & reasons.keys() == set()


def pair_of(model, geometry, pair):
    frames = (geometry.geometryObjects[i].parentFrame for i in (pair.first, pair.second))
    return frozenset(model.frames[frame].name for frame in frames)


def collisions(pin, model, geometry, q):
    """Return the pairs of links that collide in a posture."""
    data, shapes = model.createData(), pin.GeometryData(geometry)
    pin.computeCollisions(model, data, geometry, shapes, q, False)
    results = zip(geometry.collisionPairs, shapes.collisionResults, strict=True)
    hits = {pair_of(model, geometry, pair) for pair, result in results if result.isCollision()}
    return {pair for pair in hits if len(pair) == 2}


def touch_or_enclose(pin, model, geometry, q, told):
    """Tell whether these links touch, or lie one in the other: there surfaces do not cross."""
    shapes = pin.GeometryData(geometry)
    pin.updateGeometryPlacements(model, model.createData(), geometry, shapes, q)
    for i, pair in enumerate(geometry.collisionPairs):
        if pair_of(model, geometry, pair) != told:
            continue
        (low_a, high_a), (low_b, high_b) = (
            extent(geometry.geometryObjects[k].geometry, shapes.oMg[k])
            for k in (pair.first, pair.second)
        )
        if (low_a <= low_b).all() and (high_b <= high_a).all():
            return True
        if (low_b <= low_a).all() and (high_a <= high_b).all():
            return True
        if pin.computeDistance(geometry, shapes, i).min_distance < 1e-9:
            return True
    return False


def extent(solid, pose):
    solid.computeLocalAABB()
    box = np.transpose([solid.aabb_local.min_, solid.aabb_local.max_])
    corners = np.array(np.meshgrid(*box)).reshape(3, -1)
    placed = pose.rotation @ corners + pose.translation[:, None]
    return placed.min(axis=1), placed.max(axis=1)
