"""Meshes of many triangles that touch everywhere: steps end on request, and never with an error."""

import subprocess
import sys

import numpy as np
import pytest
import trimesh
from paths import ROOT
from sim.physics.scenes import REVOLUTE, at, child, lone, placed, root, world

from hrp_model.body import Body
from hrp_model.geometry import Mesh
from hrp_sim.engine.engine import Placement
from hrp_sim.engine.ode import _core

# An interrupt during a step, then while a body is added whose links touch. Each takes a minute.
INTERRUPTED = """
import sys
sys.path[:0] = {paths}
from threading import Event, Thread
from sim.hostile import test_hostile_meshes as meshes
from hrp_sim.engine.engine import PhysicsError, StepInterrupted
soup = meshes.soup(20_000)
engine, *_ = meshes.world(*meshes.pair(soup), convex_meshes=False, self_collision=True)
ended = Event()
def interrupt():
    while not ended.wait(0.1):
        engine.interrupt()
thread = Thread(target=interrupt)
thread.start()
for work in (engine.step, lambda: engine.add_body(meshes.crossed_links(soup))):
    try:
        work()
    except (StepInterrupted, PhysicsError) as error:
        print(type(error).__name__)
ended.set()
thread.join()
"""


def soup(count, seed=0):
    """Random triangles in a unit cube."""
    vertices = np.random.default_rng(seed).random((3 * count, 3))
    return Mesh(vertices, np.arange(3 * count).reshape(-1, 3))


def pair(mesh, other=None, offset=0.0):
    return [
        Placement(name=name, body=lone(placed(shape), name=name), X_WL=at(x=x))
        for name, shape, x in (("a", mesh, 0.0), ("b", other or mesh, offset))
    ]


def crossed_links(mesh):
    shapes = {"collision": (placed(mesh),)}
    upper, lower = child("UPPER", "BASE", REVOLUTE), child("LOWER", "UPPER", REVOLUTE, **shapes)
    links = (root(free=True, **shapes), upper, lower)
    return Placement(name="crossed", body=Body(name="crossed", links=links), X_WL=at())


def test_an_interrupt_ends_the_search_for_contacts_of_two_meshes():
    code = INTERRUPTED.format(paths=[str(ROOT / "test"), str(ROOT / "test" / "support"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.split() == ["StepInterrupted", "PhysicsError"], done.stderr


def contacts(engine):
    engine.record_contacts = True
    engine.step()
    return engine.contact_points()


def test_meshes_of_which_ode_asserts_get_contacts_and_no_warning(caplog):
    """ODE's assertion fails in pairs like these, with as many contacts in few places."""
    for seed in range(3):
        engine, *_ = world(*pair(soup(200, seed)), convex_meshes=False)
        found = contacts(engine)
        engine.close()
        assert len(found) > 0
        assert np.all((found.position > 0.0) & (found.position < 1.0))
    assert not caplog.records


@pytest.mark.parametrize("counts", [(1, 1), (1, 3), (129, 1)])
def test_meshes_of_one_triangle_collide(counts):
    """ODE crashes on them."""
    soups = [soup(count) for count in counts]
    engine, *_ = world(*pair(*soups), convex_meshes=False)
    engine.step()
    engine.close()


def test_contacts_of_fine_meshes_lie_on_their_surfaces():
    """Of two unit spheres whose centres are 0.1 m apart, within the height of a triangle's arc."""
    ball = trimesh.creation.icosphere(5)
    mesh = Mesh(ball.vertices, ball.faces.astype(np.int32))
    engine, *_ = world(*pair(mesh, offset=0.1), convex_meshes=False)
    points = contacts(engine).position
    engine.close()
    distances = np.linalg.norm(points[:, None] - [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]], axis=2)
    depth = 1.0 - distances
    assert len(points) > 0
    assert np.all(depth > -1e-3)
    assert np.all(depth.min(axis=1) < 1e-3)


class FailingWorld:
    """A world whose ODE fails to find the contacts of the first links of two bodies."""

    def __init__(self, core):
        self._core = core

    def __getattr__(self, name):
        return getattr(self._core, name)

    def step(self, count):
        assert self._core.step(count) is None
        return _core.FAULT_NONE, -1, 0

    def read_failed_pairs(self):
        return [(0, 0, 1, 0)]


def test_links_whose_contacts_ode_cannot_find_are_named_once(caplog):
    engine, *_ = world(*pair(soup(1)))
    engine._world = FailingWorld(engine._world)
    engine.step(2)
    engine.step()
    engine.close()
    (record,) = caplog.records
    assert "link 'BASE' of body 'a' and link 'BASE' of body 'b'" in record.getMessage()
