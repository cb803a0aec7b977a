"""What is told at the start about what touches, against what becomes of it."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations
from math import pi

import numpy as np
import pytest
from loop_bodies import X
from numpy.testing import assert_allclose
from paths import MODELS

from hrp_model import Diagnostics, Severity, load_body
from hrp_model.body import Body, ExtraJointType, Joint, JointType, Link
from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_model.shapes.tessellate import shape_mesh
from hrp_sim.control.handling import JointEntry
from hrp_sim.engine.engine import PhysicsSettings, Placement, Solver
from hrp_sim.simulation import Simulation
from hrp_sim.world.advice import advise, contacts
from hrp_sim.world.advice.contacts import Solids, bodies_start_apart, overlap_warning
from hrp_sim.world.advice.initial_state import InitialState
from hrp_sim.world.config import BodyEntry, WorldConfig

FLOOR = load_body(MODELS / "floor.body")
SIDE = 0.1


def thing(geometry, mass=1.0, name="thing", fixed=False, T=None):
    """A body of one shape."""
    shape = Shape(geometry, np.eye(4) if T is None else T)
    joint = Joint(type=JointType.FIXED if fixed else JointType.FREE, name=name)
    inertia = mass * SIDE**2 / 6.0 * np.eye(3)
    link = Link(name=name.upper(), parent=None, joint=joint, mass=mass, inertia=inertia)
    return Body(name=name, links=(replace(link, collision=(shape,), visual=(shape,)),))


def cube(mass=1.0, name="cube"):
    return thing(Box(np.full(3, SIDE)), mass, name)


def at(body, *p, R=None, **placement):
    placement = {"name": body.name, "fixed": body.is_root_fixed, **placement}
    X_WL = Pose(np.eye(3) if R is None else R, np.array(p, dtype=np.float64))
    return BodyEntry(placement=Placement(body=body, X_WL=X_WL, **placement))


def on_floor(*entries, **physics):
    floor = at(FLOOR, 0, 0, 0, name="floor", fixed=True)
    return WorldConfig(physics=PhysicsSettings(**physics), bodies=(floor, *entries))


def starts(config):
    return [InitialState(entry, config.physics) for entry in config.bodies]


def codes(config):
    return [d.code for d in advise(config) if d.severity is Severity.WARNING]


def message(config):
    (found,) = [d for d in advise(config) if d.severity is Severity.WARNING]
    return found.message


def simulated(config, seconds):
    simulation = Simulation(config, diagnostics=Diagnostics.silent())
    simulation.wanted = lambda name: False
    for _ in range(round(seconds / config.physics.time_step)):
        simulation.step()
    return simulation


# Bodies inside each other.


@pytest.mark.parametrize(
    ("geometry", "half"),
    [
        (Box(np.full(3, SIDE)), SIDE / 2),
        (Sphere(SIDE), SIDE),
        (Cylinder(SIDE, 0.3), 0.15),
        (Capsule(SIDE, 0.1), 0.15),
        (shape_mesh(Shape(Box(np.full(3, SIDE)), np.eye(4))), SIDE / 2),
    ],
    ids=lambda x: type(x).__name__,
)
@pytest.mark.parametrize("depth", [0.02, 0.004, -0.001])
def test_how_deep_a_body_starts_in_the_floor_is_told(geometry, half, depth):
    upright = axis_angle_matrix(X, pi / 2)  # axes of cylinders and capsules are Y
    config = on_floor(at(thing(geometry), 1, 2, half - depth, R=upright))
    assert codes(config) == ["starts-inside"] * (depth > 0.005)
    if depth > 0.005:
        assert f"starts {1e3 * depth:.3g} mm deep inside 'FLOOR' of body 'floor'" in message(config)
        assert f"which takes {depth / 0.01:.2g} s" in message(config)


def test_links_that_a_joint_connects_may_overlap():
    hook, load = at(cube(name="hook"), 0, 0, 2, fixed=True), at(cube(name="load"), 0.05, 0, 2)
    joint = JointEntry(
        name="pin",
        type=ExtraJointType.FIXED,
        bodies=("hook", "load"),
        links=("HOOK", "LOAD"),
        X_BJ=Pose(p=[-0.05, 0, 0]),
    )
    config = on_floor(hook, load)
    assert codes(config) == ["starts-inside"]
    for entry in (joint, replace(joint, bodies=("load", "hook"), links=("LOAD", "HOOK"),
                                 X_AJ=joint.X_BJ, X_BJ=joint.X_AJ)):  # fmt: skip
        assert codes(replace(config, joints=(entry,))) == []
    # The joint is no excuse for a third body.
    third = replace(config, bodies=(*config.bodies, at(cube(name="third"), 0.1, 0, 2)))
    assert codes(replace(third, joints=(joint,))) == ["starts-inside"]


def test_bodies_in_one_place_are_compared_with_few_others(monkeypatch):
    """With hundreds of bodies in one place, the work grows with their number."""
    examined = []
    monkeypatch.setattr(contacts, "deepest_overlap", lambda *pair: examined.append(pair))
    for count in (50, 100):
        examined.clear()
        bodies = tuple(at(cube(name=f"c{k}"), 0.02, 0, 1 + 1e-5 * k) for k in range(count))
        list(bodies_start_apart(PhysicsSettings(), starts(on_floor(*bodies))))
        per_body = Counter(id(side) for pair in examined for side in pair)
        assert len(per_body) == count
        assert len(examined) < 10 * count


def test_each_of_many_bodies_on_one_floor_is_looked_at():
    """The floor has more of them than bodies in one place are compared with."""
    bodies = tuple(at(cube(name=f"c{k}"), 0.3 * k, 0, 0.0) for k in range(-15, 15))
    assert codes(on_floor(*bodies)) == ["starts-inside"] * 30


def test_every_pair_of_many_bodies_is_looked_at():
    rng = np.random.default_rng(2)
    places = rng.uniform(0.0, 0.8, (40, 3))
    config = WorldConfig(bodies=tuple(at(cube(name=f"c{k}"), *p) for k, p in enumerate(places)))
    solids = [Solids(InitialState(entry, config.physics)) for entry in config.bodies]
    pairs = (
        overlap_warning(config.physics, a, b, "starts", "x") for a, b in combinations(solids, 2)
    )
    expected = [found.message for found in pairs if found is not None]
    found = bodies_start_apart(config.physics, [solid.start for solid in solids])
    assert [d.message.rpartition(";")[0] for d in found] == [
        message.rpartition(";")[0] for message in expected
    ]
    assert len(expected) > 5


def test_a_body_rises_as_slowly_as_told():
    config = on_floor(at(cube(), 0, 0, SIDE / 2 - 0.02))
    assert "at 0.01 m/s, which takes 2 s" in message(config)
    half_way = simulated(config, 1.0).bodies["cube"].motion.p[0, 2]
    assert_allclose(half_way, SIDE / 2 - 0.01, atol=5e-4)


def test_a_velocity_without_limit_throws_the_body_out():
    config = on_floor(at(cube(), 0, 0, SIDE / 2 - 0.02), limit_correcting_velocity=False)
    assert f"up to {0.4 * 0.02 / 1e-3:.3g} m/s" in message(config)


def test_the_face_of_a_scaled_box_in_a_turned_cylinder_is_found():
    T = np.diag([0.5, 2.0, 1.0, 1.0])
    pin = thing(Box(np.full(3, SIDE)), name="pin", T=T)  # 5 cm x 20 cm x 10 cm
    log = thing(Cylinder(0.2, 1.0), name="log", fixed=True)
    R = axis_angle_matrix(np.array([0.0, 0.0, 1.0]), pi / 2)  # its axis along X
    upper = WorldConfig(bodies=(at(log, 0, 0, 0, R=R), at(pin, 0, 0, 0.19 + SIDE / 2)))
    assert "starts 10 mm deep inside 'LOG'" in message(upper)
    touching = WorldConfig(bodies=(at(log, 0, 0, 0, R=R), at(pin, 0.525, 0, 0)))
    assert codes(touching) == ["nothing-below"]  # the pin stands beside the log
    end = WorldConfig(bodies=(at(log, 0, 0, 0, R=R), at(pin, 0.51, 0, 0)))
    assert "starts 15 mm deep inside 'LOG'" in message(end)


def test_what_cannot_move_may_overlap_and_the_misplaced_body_is_the_one_that_can():
    wall = thing(Box(np.ones(3)), name="wall", fixed=True)
    assert codes(on_floor(at(wall, 0, 0, 0))) == []
    both = WorldConfig(bodies=(at(cube(), 0, 0, 0.4), at(wall, 0, 0, 0)))
    assert message(both).startswith("body 'cube': link 'CUBE' starts")
    light, heavy = cube(1.0, "light"), cube(5.0, "heavy")
    weightless = PhysicsSettings(gravity=(0.0, 0.0, 0.0))
    for entries in permutations((at(light, 0, 0, 0), at(heavy, 0.06, 0, 0))):
        config = WorldConfig(physics=weightless, bodies=entries)
        assert message(config).startswith("body 'light'")
        assert "starts 40 mm deep inside 'HEAVY'" in message(config)


def test_a_mesh_has_no_inside_but_its_points_may_lie_in_a_primitive():
    empty = Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int32))
    assert codes(on_floor(at(thing(empty), 0, 0, -1))) == ["nothing-below"]
    bowl = thing(shape_mesh(Shape(Box(np.ones(3)), np.eye(4))), name="bowl", fixed=True)
    assert codes(WorldConfig(bodies=(at(bowl, 0, 0, 0), at(cube(), 0, 0, 0)))) == []


# Stacks.


def tower(*masses, gap=0.0):
    cubes = [cube(mass, f"c{i}") for i, mass in enumerate(masses)]
    return [at(c, 0, 0, SIDE / 2 + i * (SIDE + gap)) for i, c in enumerate(cubes)]


def fall(config):
    """Return how far the highest cube comes down in some seconds."""
    before = config.bodies[-1].placement.X_WL.p[2]
    return before - simulated(config, 3.0).bodies[config.bodies[-1].placement.name].motion.p[0, 2]


def test_world_holds_twenty_cubes():
    config = on_floor(*tower(*[1.0] * 20, gap=-1e-5))
    assert codes(config) == []
    assert fall(config) < 3e-3


@pytest.mark.parametrize(("ratio", "is_told"), [(100.0, False), (1000.0, True)])
def test_a_load_that_quick_lets_sink_in_is_told(ratio, is_told):
    config = on_floor(*tower(1.0, ratio), solver=Solver.QUICK)
    assert codes(config) == ["heavy-on-light"] * is_told
    assert (fall(config) > 0.01) == is_told
    exact = config.with_physics(solver=Solver.WORLD)
    assert codes(exact) == []
    assert fall(exact) < 1e-3


# Speed.


def test_what_may_skip_its_contacts_is_told_with_a_step_that_is_short_enough():
    wall = thing(Box(np.array([0.02, 5.0, 5.0])), name="wall", fixed=True)
    shot = {"v": np.array([300.0, 0.0, 0.0])}
    weightless = PhysicsSettings(gravity=(0.0, 0.0, 0.0))
    bodies = at(wall, 0.995, 0, 0), at(cube(), 0, 0, 0, **shot)
    config = WorldConfig(physics=weightless, bodies=bodies)
    assert codes(config) == ["fast-start"]
    assert "starts at 300 m/s and moves 300 mm per step, but is only 100 mm thick" in message(
        config
    )
    advised = float(message(config).split("time_step: ")[1])
    assert codes(config.with_physics(time_step=advised)) == []
    assert simulated(config, 0.02).bodies["cube"].motion.p[0, 0] > 2.0  # right through
    fast = at(cube(), 0, 0, 0, v=np.array([1e5, 0.0, 0.0]))
    mad = WorldConfig(physics=weightless, bodies=(fast,))
    assert "use a lower velocity" in message(mad)
    slow = WorldConfig(
        physics=weightless, bodies=(at(cube(), 0, 0, 0, v=np.array([10.0, 0.0, 0.0])),)
    )
    assert codes(slow) == []


# What has nothing below it.


def falls(*entries, **physics):
    """Return what is warned of as ``nothing-below``, by the name of the body."""
    found = advise(WorldConfig(physics=PhysicsSettings(**physics), bodies=entries))
    return [d.message.split("'")[1] for d in found if d.code == "nothing-below"]


def test_a_free_body_without_anything_below_it_is_told_before_it_falls():
    floor = at(FLOOR, 0, 0, 0, name="floor", fixed=True)
    alone = at(cube(), 0, 0, 1)
    assert falls(alone) == ["cube"]
    assert "nothing is below this free body" in message(WorldConfig(bodies=(alone,)))
    assert falls(alone, floor) == falls(replace_fixed(alone)) == []
    assert falls(alone, gravity=(0.0, 0.0, 0.0)) == falls(alone, gravity=(0.0, 0.0, 9.8)) == []
    far = np.array([100.0, 0.0, 1.0])  # from a floor of 20 m
    assert falls(floor, at(cube(), *far)) == ["cube"]
    assert (
        simulated(WorldConfig(bodies=(floor, at(cube(), *far))), 1.0).bodies["cube"].motion.p[0, 2]
        < -3.0
    )


def replace_fixed(entry):
    return replace(entry, placement=replace(entry.placement, fixed=True))


def test_what_stands_on_something_that_falls_falls_with_it():
    pile = [at(cube(name=f"c{i}"), 0, 0, 0.1 * i) for i in (2, 0, 1)]
    assert falls(*pile) == ["c0", "c1", "c2"]
    table = at(thing(Box(np.array([0.1, 0.1, 0.02])), name="table", fixed=True), 0, 0, -0.1)
    assert falls(*pile, table) == []
    assert falls(pile[0], at(cube(name="beside"), 0.2, 0, 0), table) == ["beside"]


def test_a_free_body_without_collision_shapes_falls_through_every_floor():
    ghost = replace(cube(), links=(replace(cube().links[0], collision=()),))
    assert "without collision shapes" in message(on_floor(at(ghost, 0, 0, 1)))
