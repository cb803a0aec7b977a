"""A link that is pulled: the force of the spring, its effect, and drags as a page sends them."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser")

from run_page_tools import RunPage, node
from sim.physics.scenes import at, box_inertia, child, root

from hrp_model import JointType
from hrp_model.body import Body
from hrp_model.view.robot import Scale
from hrp_model.view.viewer import Viewer
from hrp_sim import BodyEntry, Simulation, WorldConfig
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.view.scene import Pull, Pulling, spring_force

W = 6.0  # [rad/s], of the spring
STEP = 0.001
SIZE = np.array([0.2, 0.3, 0.4])


def free_body(mass=3.0, own_mass=1.0):
    base = root("BASE", free=True, mass=mass - own_mass, inertia=box_inertia(mass, SIZE))
    hand = child("HAND", "BASE", JointType.FIXED, X_PL=at(x=0.5), mass=own_mass)
    return Body(name="thing", links=(base, hand))


def space(body):
    physics = PhysicsSettings(gravity=(0.0, 0.0, 0.0), time_step=STEP)
    placement = Placement(name="thing", body=body, X_WL=at(z=1.0))
    return Simulation(WorldConfig(physics=physics, bodies=(BodyEntry(placement=placement),)))


def test_the_force_is_that_of_a_damped_spring_at_the_grabbed_point():
    rng = np.random.default_rng(3)
    with space(free_body(mass=3.0)) as simulation:
        simulated = simulation.bodies["thing"]
        motion = simulated.motion
        motion.v[1], motion.w[1] = rng.normal(size=3), rng.normal(size=3)
        point = rng.normal(size=3)
        target = motion.p[1] + motion.R[1] @ point + 0.2 * rng.normal(size=3)
        force = spring_force(Pull(simulated, 1, point, target), motion, STEP)
        x = motion.p[1] + motion.R[1] @ point
        v = motion.v[1] + np.cross(motion.w[1], motion.R[1] @ point)
        k, d = 3.0 * W**2, 3.0 * W  # half of the critical damping
        np.testing.assert_allclose(force, k * (target - x) - d * v, atol=1e-12)


def test_the_force_is_limited_and_a_light_link_is_damped_less():
    body = free_body(mass=3.0, own_mass=0.01)
    with space(body) as simulation:
        simulated = simulation.bodies["thing"]
        motion = simulated.motion
        far = Pull(simulated, 1, np.zeros(3), motion.p[1] + [100.0, 0.0, 0.0])
        np.testing.assert_allclose(spring_force(far, motion, STEP), [3.0 * 40.0, 0.0, 0.0])
        motion.v[1] = [0.0, 2.0, 0.0]
        here = Pull(simulated, 1, np.zeros(3), motion.p[1].copy())
        damping = 0.01 / (10.0 * STEP)
        np.testing.assert_allclose(spring_force(here, motion, STEP), [0.0, -2.0 * damping, 0.0])


def test_a_link_follows_the_mouse_until_it_is_let_go():
    with Viewer(0) as viewer, space(free_body()) as simulation:
        pulling = Pulling(viewer, Scale())
        simulated = simulation.bodies["thing"]
        motion = simulated.motion
        point = np.array([0.0, 0.05, 0.0])
        target = motion.p[1] + point + [0.3, 0.2, 0.4]
        pulling.present = Pull(simulated, 1, point, target)
        for _ in range(4000):
            pulling.apply(simulation)
            simulation.step()
        grabbed = motion.p[1] + motion.R[1] @ point
        np.testing.assert_allclose(grabbed, target, atol=0.02)
        far = target + np.array([5.0, 0.0, 0.0])
        pulling.present = Pull(simulated, 1, point, far)
        pulling.apply(simulation)
        simulation.step()
        pulling.stop()
        simulation.step()
        v = simulated.motion.v.copy()
        simulation.step()  # without a force nothing accelerates on the whole
        momentum = 2.0 * (motion.v[0] - v[0]) + 1.0 * (motion.v[1] - v[1])
        np.testing.assert_allclose(momentum, 0.0, atol=1e-3)


def test_a_body_that_is_removed_is_not_pulled_any_more():
    with Viewer(0) as viewer, space(free_body()) as simulation:
        pulling = Pulling(viewer, Scale())
        pulling.present = Pull(simulation.bodies["thing"], 1, np.zeros(3), np.ones(3))
        simulation.remove("thing")
        pulling.apply(simulation)
        assert pulling.present is None
        simulation.step()


def test_the_heaviest_body_can_be_pulled():
    with space(free_body(mass=1e14, own_mass=1e13)) as simulation:
        simulated = simulation.bodies["thing"]
        pull = Pull(simulated, 1, np.zeros(3), np.full(3, 1e5))
        force = spring_force(pull, simulated.motion, STEP)
        simulation.push("thing", "HAND", force, np.zeros(3), STEP, pull.point)
        simulation.step()
        assert simulated.motion.v[1, 0] > 0.0


@pytest.fixture(scope="module")
def run():
    with RunPage("arm", viewer=Viewer(0)) as made:
        yield made


def drag(run, phase, end, client=1):
    """Let the page of a client drag the link TOOL."""
    (entry,) = node(run.viewer, "_TOOL/visual")._impl.drag_cb
    assert (entry.button, entry.modifier) == ("left", "cmd/ctrl")
    event = SimpleNamespace(
        phase=phase, start_position=(0.0, 0.0, 1.0), end_position=end, client_id=client
    )
    with pytest.raises(StopIteration):  # it is a coroutine that waits for nothing
        entry.callback(event).send(None)


@pytest.mark.parametrize("far", [np.nan, np.inf, 1e300])
def test_impossible_positions_of_a_mouse_are_ignored(run, far):
    pulling = run.run_viewer.pulling
    drag(run, "start", (0.0, 0.0, far))
    assert pulling.present is None
    drag(run, "start", (0.0, 0.0, 1.0))
    drag(run, "update", (0.0, 0.0, far))
    np.testing.assert_array_equal(pulling.present.target, [0.0, 0.0, 1.0])
    drag(run, "update", (0.0, 0.0, 1.5))
    np.testing.assert_array_equal(pulling.present.target, [0.0, 0.0, 1.5])
    drag(run, "end", (0.0, 0.0, 1.5))
    assert pulling.present is None


def test_the_last_browser_that_grabs_a_link_pulls_it_until_it_goes(run):
    pulling = run.run_viewer.pulling
    drag(run, "start", (0.0, 0.0, 1.0), client=1)
    drag(run, "start", (0.0, 0.0, 1.1), client=2)
    drag(run, "update", (0.0, 0.0, 7.0), client=1)
    drag(run, "end", (0.0, 0.0, 7.0), client=1)
    np.testing.assert_array_equal(pulling.present.target, [0.0, 0.0, 1.1])
    pulling.release(1)
    assert pulling.present is not None
    pulling.release(2)
    assert pulling.present is None
