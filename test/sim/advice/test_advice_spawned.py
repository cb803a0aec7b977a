"""What is told of bodies that are spawned into others, where these are by then."""

from dataclasses import replace

import numpy as np
import pytest
from each_case import mostly_slow
from paths import MODELS

from hrp_model import Diagnostics, load_body
from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.geometry import Box, Shape
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.simulation import Simulation
from hrp_sim.world.advice import advise
from hrp_sim.world.config import BodyEntry, WorldConfig

WEIGHTLESS = PhysicsSettings(gravity=(0.0, 0.0, 0.0))
FLOOR = load_body(MODELS / "floor.body")
ARM = load_body(MODELS / "arm" / "arm.body")
SIDE = 0.1


def block(name, side=SIDE, fixed=False, mass=1.0):
    """A cube, as a body."""
    joint = Joint(type=JointType.FIXED if fixed else JointType.FREE, name=name)
    inertia = mass * side**2 / 6.0 * np.eye(3)
    link = Link(name=name.upper(), parent=None, joint=joint, mass=mass, inertia=inertia)
    shape = Shape(Box(np.full(3, side)), np.eye(4))
    return Body(name=name, links=(replace(link, collision=(shape,), visual=(shape,)),))


def at(body, *p, R=None, **placement):
    placement = {"name": body.name, "fixed": body.is_root_fixed, **placement}
    X_WL = Pose(np.eye(3) if R is None else R, np.array(p, dtype=np.float64))
    return BodyEntry(placement=Placement(body=body, X_WL=X_WL, **placement))


class World:
    """A simulation, and the warnings that it told."""

    def __init__(self, *entries, physics=WEIGHTLESS):
        self.told = []
        config = WorldConfig(physics=physics, bodies=entries)
        heard = Diagnostics(listener=self.told.append)
        self.simulation = Simulation(config, diagnostics=heard)
        self.simulation.wanted = lambda _: False

    def spawn(self, entry):
        """Spawn something; return what was told of it."""
        self.told.clear()
        self.simulation.spawn(entry)
        assert {d.code for d in self.told} <= {"starts-inside"}
        return [d.message for d in self.told]

    def run(self, seconds):
        for _ in range(round(seconds / self.simulation.engine.settings.time_step)):
            self.simulation.step()


@pytest.mark.parametrize("depth", [0.02, 0.004, -0.1])
def test_how_deep_a_body_is_spawned_into_the_floor_is_told(depth):
    world = World(at(FLOOR, 0, 0, 0, name="floor"))
    told = world.spawn(at(block("cube"), 1, 2, SIDE / 2 - depth))
    assert len(told) == (depth > 0.005)
    if told:
        assert told[0] == (
            "body 'cube': link 'CUBE' is 20 mm deep inside 'FLOOR' of body 'floor': contacts push "
            "it out at 0.01 m/s, which takes 2 s; spawn 'cube' elsewhere"
        )


def test_what_is_pushed_out_is_what_can_move_and_what_is_to_go_elsewhere_is_what_has_come():
    world = World(at(block("cube"), 0, 0, 0))
    (told,) = world.spawn(at(block("wall", 1.0, fixed=True), 0, 0, 0.5))
    assert told.startswith("body 'cube': link 'CUBE' is 50 mm deep inside 'WALL' of body 'wall'")
    assert told.endswith("spawn 'wall' elsewhere")


def test_bodies_count_where_they_are_and_not_where_they_were():
    world = World(at(block("flies"), 0, 0, 0, v=np.array([1.0, 0.0, 0.0])))
    world.run(0.5)
    assert world.spawn(at(block("behind"), 0, 0, 0)) == []
    (told,) = world.spawn(at(block("hit"), 0.5, 0.07, 0))
    assert "30 mm deep" in told
    world.simulation.remove("flies")
    assert world.spawn(at(block("after"), 0.5, -0.07, 0)) == []


def test_links_count_where_their_joints_have_taken_them():
    """The arm points up, until its second joint has turned by 90 degrees: then forward."""
    world = World(at(ARM, 0, 0, 0, name="arm"))
    high, ahead = at(block("high"), 0, 0, 1.0), at(block("ahead"), 0.7, 0, 0.3)
    assert world.spawn(ahead) == []
    assert len(world.spawn(high)) == 1
    world.simulation.remove("high")
    world.simulation.remove("ahead")
    q = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0])
    world.simulation.move(at(ARM, 0, 0, 0, name="arm", q=q).placement)
    assert world.spawn(high) == []
    assert len(world.spawn(ahead)) == 1


@pytest.mark.parametrize("seed", mostly_slow(range(5), 1))
def test_among_many_all_are_found_that_a_world_which_starts_so_would_tell_of(seed):
    rng = np.random.default_rng(seed)
    turns = [axis_angle_matrix(u / np.linalg.norm(u), 1.0) for u in rng.normal(size=(60, 3))]
    places = rng.uniform(-0.4, 0.4, (60, 3))
    # Of two that can move the lighter one is told of first.
    cubes = [block(f"c{k}", mass=1.0 - 0.01 * k) for k in range(60)]
    entries = [at(cubes[k], *places[k], R=turns[k]) for k in range(60)]
    bodies = (at(FLOOR, 0, 0, -0.3, name="floor"), *entries)
    expected = advise(WorldConfig(physics=WEIGHTLESS, bodies=bodies))
    expected = [d.message for d in expected if d.code == "starts-inside"]
    world = World(bodies[0])
    found = [told for entry in entries for told in world.spawn(entry)]
    assert len(found) > 20
    facts = [told.split(": contacts")[0].replace(" is ", " starts ") for told in found]
    assert sorted(facts) == sorted(told.split(": contacts")[0] for told in expected)


def test_bodies_without_shapes_are_inside_of_nothing():
    whole = block("ghost")
    ghost = replace(whole, links=(replace(whole.root, collision=()),))
    assert World(at(ghost, 0, 0, 0)).spawn(at(ARM, 0, 0, 0, name="arm")) == []
    assert World(at(ARM, 0, 0, 0, name="arm")).spawn(at(ghost, 0, 0, 0)) == []
    assert World().spawn(at(block("alone"), 0, 0, 0)) == []


def test_of_a_body_that_the_world_does_not_take_nothing_is_told():
    world = World(at(block("first"), 0, 0, 0))
    with pytest.raises(ValueError, match="the sensor 'eye'"):
        world.spawn(replace(at(block("second"), 0, 0, 0), sensors={"eye": {}}))
    assert world.told == []
