"""Holders take hold of what is in their reach, let go, and say why when they cannot."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sim.handling.lifters import SIZE, box, entry, lifter
from sim.physics.scenes import REVOLUTE, Z, at, child, floor, placed, root

from hrp_model.body import Body
from hrp_model.devices import Attachment, HoldCondition
from hrp_model.geometry import Box, Mesh, Sphere
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_sim import Simulation
from hrp_sim.control.handling import GripError
from hrp_sim.control.handling.holders import distance_to_link
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Placement, Solver
from hrp_sim.world.config import BodyEntry, WorldConfig

SOLVERS = pytest.mark.parametrize("solver", list(Solver))


def simulated(*entries, **settings):
    """Return a simulation of these bodies above a floor."""
    world = WorldConfig(
        physics=PhysicsSettings(**settings),
        bodies=(BodyEntry(placement=floor()), *entries),
    )
    return Simulation(world)


def lifting(solver=Solver.WORLD, height=1.0, **holder):
    """A lifter whose cup is 2 cm above a box on the floor."""
    hand = at(z=0.27)
    return simulated(entry(lifter(**holder), hand, fixed=True), entry(box(), at(z=0.1)),
                     solver=solver)  # fmt: skip


def z(sim, body="box"):
    return float(sim.bodies[body].motion.p[0, 2])


@SOLVERS
def test_a_box_is_lifted_carried_and_dropped(solver):
    sim = lifting(solver)
    sim.run(0.1)
    changes = []
    sim.switched = lambda name, on: changes.append((name, on))
    assert sim.handling.hold("cup").bodies == ("lifter", "box")
    before = sim.bodies["box"].motion.p[0] - sim.bodies["lifter"].motion.p[1]
    for k in range(500):
        sim.command("lifter", {"HAND": 0.5 * (1.0 - np.cos(np.pi * k / 500.0))})
        sim.step()
    sim.run(0.5)
    assert z(sim) > 1.0
    now = sim.bodies["box"].motion.p[0] - sim.bodies["lifter"].motion.p[1]
    assert_allclose(now, before, atol=1e-4 if solver is Solver.QUICK else 1e-5)
    sim.handling.let_go("cup")
    sim.run(1.0)
    assert_allclose(z(sim), 0.1, atol=1e-3)
    assert changes == [("cup", True), ("cup", False)]


def test_a_holder_is_a_switch_too():
    sim = lifting()
    assert not sim.is_enabled("cup")
    sim.set_enabled("cup", True)
    sim.set_enabled("cup", True)
    assert sim.is_enabled("cup")
    assert sim.handling.held("cup").bodies[1] == "box"
    sim.set_enabled("cup", False)
    sim.set_enabled("cup", False)
    assert (sim.is_enabled("cup"), sim.handling.held("cup")) == (False, None)


def test_what_is_out_of_reach_is_named_with_its_distance():
    sim = lifting(max_distance=0.01)
    with pytest.raises(
        GripError, match=r"'lifter/cup' holds nothing: the nearest body 'box' is 0.02 m away, "
        r"its reach is 0.01 m"
    ):  # fmt: skip
        sim.handling.hold("cup")
    assert not sim.is_enabled("cup")
    sim.run(0.01)


def test_what_is_gripped_already_is_named_with_its_holder():
    sim = lifting()
    sim.spawn(entry(lifter("other", name="magnet"), at(0.11, 0.0, 0.27), fixed=True))
    sim.handling.hold("cup", target="box")
    with pytest.raises(GripError, match="'lifter/cup' holds 'box/BASE' already; let go"):
        sim.handling.hold("cup")
    with pytest.raises(
        GripError, match="'other/magnet' cannot hold 'box/BASE': 'lifter/cup' holds it"
    ):
        sim.handling.hold("magnet", target="box")
    sim.run(0.01)
    sim.handling.let_go("cup")
    sim.handling.hold("magnet", target="box")


def test_the_nearest_body_is_held_unless_a_target_is_given():
    sim = lifting(max_distance=0.3)
    sim.spawn(entry(box("far"), at(0.25, 0.0, 0.1)))
    assert sim.handling.hold("cup").bodies[1] == "box"
    sim.handling.let_go("cup")
    assert sim.handling.hold("cup", target="far").bodies[1] == "far"
    sim.handling.let_go("cup")
    with pytest.raises(KeyError, match="no body 'fra'"):
        sim.handling.hold("cup", target="fra")


def test_by_name_only_the_target_of_the_device_is_held():
    sim = lifting(condition=HoldCondition.NAME, target="far", max_distance=0.3)
    with pytest.raises(GripError, match="no other body that it fits can move"):
        sim.handling.hold("cup")
    sim.spawn(entry(box("far"), at(0.25, 0.0, 0.1)))
    assert sim.handling.hold("cup").bodies[1] == "far"


def test_by_collision_only_what_touches_is_held():
    sim = lifting(condition=HoldCondition.COLLISION)
    sim.run(0.01)
    with pytest.raises(GripError, match="no body that it fits touches its link"):
        sim.handling.hold("cup")
    sim.command("lifter", {"HAND": -0.03})
    sim.run(0.5)
    assert sim.handling.hold("cup").bodies[1] == "box"


def test_an_attachment_says_which_holders_fit():
    flange = Attachment(name="flange", link="BASE", category="tool", X_LS=at(z=0.1))
    bodies = entry(box("box", flange), at(z=0.1))
    for categories, fits in (((), True), (("tool", "x"), True), (("x",), False)):
        arm = entry(lifter(categories=categories), at(z=0.27), fixed=True)
        sim = simulated(arm, bodies)
        if fits:
            sim.handling.hold("cup")
        else:
            with pytest.raises(GripError, match="no other body that it fits"):
                sim.handling.hold("cup")


def test_links_that_cannot_move_are_not_held():
    sim = simulated(
        entry(lifter(max_distance=5.0), at(z=0.27), fixed=True), entry(box(), at(z=0.1), fixed=True)
    )
    with pytest.raises(GripError, match="can move"):
        sim.handling.hold("cup")


def test_a_door_on_a_fixed_frame_is_held_by_its_moving_link():
    shape = placed(Box(SIZE))
    door = Body(
        name="door",
        links=(root(collision=(shape,)), child("LEAF", "BASE", REVOLUTE, Z, collision=(shape,))),
    )
    sim = simulated(entry(lifter(), at(z=0.27), fixed=True), entry(door, at(z=0.1), fixed=True))
    joint = sim.handling.hold("cup")
    assert (joint.bodies[1], joint.links[1]) == ("door", 1)


@pytest.mark.parametrize("act", ["move", "remove", "reset"])
def test_a_grip_ends_when_its_body_is_moved_or_removed_and_at_a_reset(act):
    sim = lifting()
    sim.handling.hold("cup")
    changes = []
    sim.switched = lambda name, on: changes.append((name, on))
    if act == "move":
        sim.move(Placement(name="box", body=sim.bodies["box"].body, X_WL=at(2.0, 0.0, 0.1)))
    elif act == "remove":
        sim.remove("box")
    else:
        sim.reset()
    assert changes == [("cup", False)]
    assert sim.handling.held("cup") is None
    sim.run(0.1)


def test_a_holder_that_is_on_in_its_model_holds_from_the_start_and_after_a_reset():
    sim = lifting(on=True)
    assert sim.handling.held("cup").bodies[1] == "box"
    sim.handling.let_go("cup")
    sim.reset()
    assert sim.is_enabled("cup")
    assert sim.handling.held("cup").bodies[1] == "box"


def test_a_holder_that_is_on_with_nothing_in_reach_goes_off_with_a_warning(caplog):
    sim = lifting(on=True, max_distance=1e-3)
    assert not sim.is_enabled("cup")
    assert "holds nothing" in caplog.text


def test_an_unknown_holder_lists_the_known_ones():
    sim = lifting()
    with pytest.raises(KeyError, match=r"no holder or conveyor 'cop'; there is .*'cup'"):
        sim.handling.hold("cop")
    with pytest.raises(PhysicsError, match="'cup' is a holder, not a conveyor"):
        sim.handling.set_speed("cup", 1.0)


@pytest.mark.parametrize(
    ("geometry", "point", "distance"),
    [
        (Box(SIZE), [0.3, 0.0, 0.0], 0.2),
        (Box(SIZE), [0.0, 0.02, 0.0], 0.0),
        (Box(SIZE), [0.4, 0.5, 0.1], 0.5),
        (Sphere(0.1), [0.0, 0.0, -0.3], 0.2),
        (Sphere(0.1), [0.01, 0.0, 0.0], 0.0),
        (Mesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]])),
         [0.2, 0.2, -0.3], 0.3),
        (Mesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]])),
         [-3.0, -4.0, 0.0], 5.0),
    ],
)  # fmt: skip
def test_distances_to_shapes(geometry, point, distance):
    R = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.7)
    link = root(collision=(placed(geometry, Pose(R, np.array([0.1, 0.2, 0.3]))),))
    found = distance_to_link(link, R @ np.array(point) + [0.1, 0.2, 0.3])
    assert_allclose(found, distance, atol=1e-3 if isinstance(geometry, Sphere) else 1e-12)


def test_a_link_without_shapes_is_infinitely_far():
    assert distance_to_link(root(), np.zeros(3)) == np.inf
