"""What holds for every model and world that comes with the package."""

import re
from itertools import combinations

import numpy as np
import pytest
from each_case import all_cases
from paths import MODELS, ROOT

from hrp_model import BodyState, load_body
from hrp_model.body import UNLIMITED, JointType, link_pair
from hrp_model.geometry import Box, Sphere
from hrp_sim.world.load import load_world

FILES = sorted([*MODELS.rglob("*.wrl"), *MODELS.rglob("*.body")])
WORLDS = sorted(MODELS.rglob("*.yaml"))
ROBOTS = [f for f in FILES if f.parent != MODELS]


def named(path):
    return str(path.relative_to(MODELS))


@pytest.fixture(scope="module", params=ROBOTS, ids=named)
def robot(request):
    return load_body(request.param)


@all_cases("path", FILES)
def test_a_model_loads_without_a_single_remark(path, diagnostics):
    assert load_body(path, diagnostics).links


@all_cases("path", WORLDS)
def test_a_world_loads_without_a_single_remark(path, diagnostics):
    assert load_world(path, diagnostics).bodies


def test_the_guide_names_every_model_world_and_sensor():
    guide = (MODELS / "README.md").read_text(encoding="utf-8")
    for path in [*FILES, *WORLDS]:
        assert named(path) in guide
    for path in ROBOTS:
        for device in load_body(path).devices:
            assert f"`{device.name}`" in guide


def test_commands_in_the_guide_name_files_that_exist():
    guide = (MODELS / "README.md").read_text(encoding="utf-8")
    mentioned = re.findall(r"(?<!test/)models/[\w/]+\.\w+", guide)
    assert mentioned
    assert all((ROOT / name).is_file() for name in mentioned)


def test_every_motor_has_finite_limits(robot):
    for link in robot.moving_links:
        joint = link.joint
        if joint.id is None:  # moved by its closed loop
            assert robot.extra_joints
            continue
        limits = [*joint.velocity, *joint.effort]
        goes_round = joint.type is JointType.REVOLUTE and joint.position == UNLIMITED
        assert np.isfinite([*limits, *(() if goes_round else joint.position)]).all(), link.name
        assert joint.equivalent_rotor_inertia > 0.0, link.name
    assert None not in robot.joints


def test_inertias_are_those_of_bodies_as_large_as_their_links(robot):
    for link in robot.links:
        low, high = extent(link.collision)
        a, b, c = (high - low) ** 2
        box = link.mass / 12.0 * np.array([b + c, a + c, a + b])
        moments = np.diag(link.inertia)
        assert ((moments > box / 3.0) & (moments < box * 3.0)).all(), link.name
        assert 2.0 * moments.max() <= moments.sum(), link.name
        inside = (link.center_of_mass > low) & (link.center_of_mass < high)
        assert inside.all(), link.name


def test_densities_are_those_of_machines(robot):
    for link in robot.links:
        volume = sum(np.prod(bounding_size(s.geometry)) for s in link.collision)
        assert 150.0 < link.mass / volume < 4000.0, link.name


def test_nothing_touches_at_rest_but_neighbours(robot):
    state = BodyState(robot)
    state.q[:] = 0.0
    state.calc_forward_kinematics()
    placed = {
        link.name: [oriented_box(s, state.p[i], state.R[i]) for s in link.collision]
        for i, link in enumerate(robot.links)
    }
    neighbours = {link_pair(x.name, x.parent) for x in robot.links if x.parent}
    neighbours |= {link_pair(*joint.links) for joint in robot.extra_joints}
    for a, b in combinations(placed, 2):
        if link_pair(a, b) not in neighbours:
            assert all(apart(x, y) for x in placed[a] for y in placed[b]), (a, b)


def bounding_size(geometry):
    """Return the sides of the box around a primitive, shape (3,)."""
    if isinstance(geometry, Box):
        return geometry.size
    if isinstance(geometry, Sphere):
        return np.full(3, 2.0 * geometry.radius)
    return np.array([2.0 * geometry.radius, geometry.height, 2.0 * geometry.radius])


def extent(shapes):
    """Return the least and greatest corner of the box around shapes, in their link's axes."""
    halves = [np.abs(s.T_FG[:3, :3]) @ bounding_size(s.geometry) / 2.0 for s in shapes]
    centers = [s.T_FG[:3, 3] for s in shapes]
    low = np.min([c - h for c, h in zip(centers, halves, strict=True)], axis=0)
    high = np.max([c + h for c, h in zip(centers, halves, strict=True)], axis=0)
    return low, high


def oriented_box(shape, p, R):
    """Return (centre, axes as columns, half sides) of the box around a shape, in the world."""
    rotation = R @ shape.T_FG[:3, :3]
    return R @ shape.T_FG[:3, 3] + p, rotation, bounding_size(shape.geometry) / 2.0


def apart(a, b):
    """Whether a plane separates two boxes: the separating axis theorem."""
    (center_a, R_a, half_a), (center_b, R_b, half_b) = a, b
    crosses = np.cross(R_a.T[:, None, :], R_b.T[None, :, :]).reshape(-1, 3)
    crosses = crosses[np.linalg.norm(crosses, axis=1) > 1e-6]
    axes = np.vstack([R_a.T, R_b.T, crosses])
    gaps = np.abs(axes @ (center_b - center_a))
    reach = np.abs(axes @ R_a) @ half_a + np.abs(axes @ R_b) @ half_b
    return bool((gaps > reach).any())


def test_the_rover_stands_on_two_tracks():
    rover = load_body(MODELS / "rover" / "rover.body")
    tracks = [x for x in rover.links if x.joint.type is JointType.TRACK]
    assert [x.name for x in tracks] == ["TRACK_L", "TRACK_R"]
    for track, side in zip(tracks, (1.0, -1.0), strict=True):
        bottom = rover.root.X_PL.p + track.X_PL.p + extent(track.collision)[0]
        np.testing.assert_allclose(bottom[2], 0.0, atol=1e-12)
        assert side * track.X_PL.p[1] > 0.0
        np.testing.assert_array_equal(track.joint.axis, [0.0, 1.0, 0.0])


def test_the_arm_stands_fixed_and_reaches_as_high_as_it_says():
    arm = load_body(MODELS / "arm" / "arm.body")
    assert arm.is_root_fixed
    state = BodyState(arm)
    tool = arm.link_index("TOOL")
    tip = state.p[tool] + extent(arm.links[tool].collision)[1]
    np.testing.assert_allclose(tip[2], 1.22, atol=1e-12)
