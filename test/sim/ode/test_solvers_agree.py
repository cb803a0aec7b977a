"""From the same state the solvers `world` and `dense` take the same step, up to rounding.

`dense` is ODE's own dWorldStep. Motion is compared always, forces where they are unique: of
redundant contacts only the sum for each pair of links. States are random, but the same in
every run. A step in which ODE's solver gives up is no reference.

ODE bounds friction by normal forces that it computes before there is any friction. They depend
on which other contacts are predicted to stick and which efforts are bounded, so where some
contacts slide and others stick, the step is unique without prediction only.
"""

import numpy as np
import pytest
from paths import MODELS
from sim.ode.agreement import (
    assert_agree,
    differences,
    make_world,
    step_from,
)
from sim.physics.scenes import (
    REVOLUTE,
    G,
    X,
    at,
    box_inertia,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
)

from hrp_model import load_body
from hrp_model.body import Body
from hrp_model.geometry import Box, Sphere
from hrp_sim import Simulation, load_world
from hrp_sim.engine.engine import Solver

WORLD, DENSE = Solver.WORLD, Solver.__members__.get("DENSE")
pytestmark = pytest.mark.skipif(DENSE is None, reason="there is no solver 'dense'")
predicted_or_not = pytest.mark.parametrize("predict", [True, False])
SIZE = np.array([0.3, 0.2, 0.1])
BRICK = lone(placed(Box(SIZE)), name="brick", inertia=box_inertia(1.0, SIZE))
BALL = lone(placed(Sphere(0.1)), name="ball", inertia=np.eye(3) * 0.004)
# One corner, so that the force of every contact is unique.
SKID = lone(placed(Sphere(0.05), at(0.1, 0.02, -0.05)), name="skid", inertia=np.eye(3) * 0.02)


def both(placements, drive=lambda _engine: None, **settings):
    """Return two engines of equal worlds, with the solvers `dense` and `world`."""
    return [make_world(placements, solver, drive, **settings) for solver in (DENSE, WORLD)]


def assert_steps_agree(engines, *, each=False, **tolerances):
    """Step both from the state of the first; return the step of the first."""
    saved = engines[0].save()
    dense, ours = (step_from(saved, engine, each=each) for engine in engines)
    assert not ours.messages
    if not dense.messages:
        assert_agree(ours, dense, **tolerances)
    return dense


def close(engines):
    for engine in engines:
        engine.close()


def test_a_second_of_an_arm_that_is_driven():
    body = load_body(MODELS / "arm" / "arm.body")
    engines = both([fixed(body)], self_collision=False)
    assert_runs_agree(engines, 1e-9)
    close(engines)


def assert_runs_agree(engines, tolerance, amplitude=0.2):
    """Drive joints to and fro for a second; compare positions and rates along the way."""
    names = [n for n, s in engines[0].state.bodies.items() if len(s.motion.q)]
    rng = np.random.default_rng(7)
    swing = {
        n: amplitude * rng.uniform(-1.0, 1.0, len(engines[0].state.bodies[n].motion.q))
        for n in names
    }
    start = {n: engines[0].state.bodies[n].motion.q.copy() for n in names}
    for k in range(100):
        for engine in engines:
            for name in names:
                drive = engine.state.bodies[name].drive
                drive.kp[:], drive.kd[:] = 500.0, 5.0
                drive.q[:] = start[name] + swing[name] * np.sin(2e-2 * np.pi * k)
            engine.step(10)
        one, other = (list(e.state.bodies.values()) for e in engines[:2])
        for ours, theirs in zip(one, other, strict=True):
            for quantity in ("p", "q", "dq"):
                a, b = (getattr(body.motion, quantity) for body in (ours, theirs))
                np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance, err_msg=quantity)


def standing_humanoids(**settings):
    """Return two worlds in which the humanoid holds its posture."""
    config = load_world(MODELS / "humanoid" / "humanoid.body")
    simulation = Simulation(config)
    drives = {name: body.drive for name, body in simulation.bodies.items()}
    simulation.step()

    def drive(engine):
        for name, body in engine.state.bodies.items():
            for gain in ("q", "dq", "kp", "kd", "effort"):
                getattr(body.drive, gain)[:] = getattr(drives[name], gain)

    engines = both([entry.placement for entry in config.bodies], drive, **settings)
    simulation.close()
    return engines


def test_a_difference_is_noticed():
    """Half a per cent of friction is seen where something slides."""
    sliding = moving(BRICK, at(z=SIZE[2] / 2.0), v=X)
    engines = [
        make_world([floor(), sliding], solver, friction=friction)
        for solver, friction in ((DENSE, 0.4), (WORLD, 0.402))
    ]
    saved = engines[0].save()
    found = differences(*(step_from(saved, engine) for engine in engines))
    assert found["a"] > 1e-3
    assert found["contact force"] > 1e-3
    close(engines)


def test_a_chain_of_thousands_of_links_falls():
    """Without a root that is fixed, all links fall alike."""
    links = [root("B0", free=True)]
    links += [child(f"B{k}", f"B{k - 1}", REVOLUTE, X, X_PL=at(z=0.01)) for k in range(1, 2500)]
    engine = make_world([moving(Body(name="chain", links=tuple(links)))], WORLD)
    engine.step(2)
    motion = engine.state.bodies["chain"].motion
    fall = np.broadcast_to([0.0, 0.0, -2 * G * engine.settings.time_step], motion.v.shape)
    np.testing.assert_allclose(motion.v, fall, atol=1e-9)
    np.testing.assert_allclose(motion.dq, 0.0, atol=1e-9)
