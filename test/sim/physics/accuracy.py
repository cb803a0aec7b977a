"""Accuracy of the physics: motions beside MuJoCo and closed forms.

MuJoCo integrates by Runge-Kutta at 0.1 ms, in minimal coordinates. No row contains a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from paths import MODELS
from sim.physics.bodies import chain, top
from sim.physics.measures import G, energy, momentum, separation
from sim.physics.mujoco_peer import free_motion
from sim.physics.scenes import at as placed_at
from sim.physics.scenes import box_inertia, fixed, floor, lone, moving, placed, world

from hrp_model import Body, load_body
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_sim import Simulation, load_world
from hrp_sim.engine.engine import Placement, Solver

HEADER = [
    *("free motion of 1 s, joint error [rad, m]", "solver", "1 ms", "0.5 ms", "0.25 ms", "order"),
    *("energy at 1 ms [J]", "gap at 1 ms [m]"),
]
STEPS = 1000, 2000, 4000
X, Z = np.eye(3)[0], np.eye(3)[2]
WEIGHTLESS = (0.0, 0.0, 0.0)
Q, DQ = np.array([0.3, -0.5, 0.1, 0.4, -0.2]), np.array([1.0, -2.0, 0.5, 1.5, -1.0])
V, W = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.5])
# Ratio of the speeds of a sphere that rolls and of one that only slides.
ROLLING = 5.0 / 7.0


@dataclass(frozen=True)
class Motion:
    """A free motion of one second.

    Attributes:
        name: The moving body.
        placement: Its initial state.
        gravity: In [m/s^2].
    """

    name: str
    placement: Placement
    gravity: tuple[float, float, float] = (0.0, 0.0, -G)


def motions() -> Iterator[Motion]:
    """Yield the free motions of the table."""
    arm = load_body(MODELS / "arm" / "arm.body")
    start = np.linspace(0.3, -0.3, len(arm.moving_links))
    yield Motion("models/arm released, with its rotors", fixed(without_contacts(arm), q=start))
    yield Motion("branched chain, a slider, no rotors", fixed(chain(rotors=False), q=Q, dq=DQ))
    yield Motion("the same with rotors", fixed(chain(), q=Q, dq=DQ))
    tumbling = moving(chain(free=True, rotors=False), q=Q, dq=DQ, v=V, w=W)
    yield Motion("the chain tumbling freely", tumbling, WEIGHTLESS)


def without_contacts(body: Body) -> Body:
    """Return a body without self-collision."""
    return replace(body, links=tuple(replace(link, collision=()) for link in body.links))


def exact(motion: Motion) -> np.ndarray:
    """Return the joint positions after a second according to MuJoCo."""
    start = motion.placement
    root = None if start.fixed else (start.v, start.w)
    dq = np.zeros(len(start.initial_q)) if start.dq is None else start.dq
    q, _ = free_motion(start.body, 1.0, q=start.initial_q, dq=dq, root=root, gravity=motion.gravity)
    return q


def free_row(motion: Motion, solver: Solver) -> list[str]:
    """Return a row: errors at three steps, their order, the energy's drift, the joints' gap."""
    target, errors, drift, apart = exact(motion), [], 0.0, 0.0
    for steps in STEPS:
        engine, simulated = world(
            motion.placement,
            time_step=1.0 / steps,
            solver=solver,
            gravity=motion.gravity,
            joint_limits=False,
        )
        before = energy(simulated, -motion.gravity[2])
        engine.step(steps)
        errors.append(float(np.abs(simulated.motion.q - target).max()))
        if steps == STEPS[0]:
            drift = energy(simulated, -motion.gravity[2]) - before
            apart = separation(simulated)
        engine.close()
    order = np.log2(errors[0] / errors[-1]) / 2.0
    cells = [f"{error:.2e}" for error in errors]
    return [motion.name, solver.value, *cells, f"{order:.2f}", f"{drift:.1e}", f"{apart:.1e}"]


def momentum_kept(solver: Solver) -> str:
    """Share of its angular momentum that a tumbling chain loses in a second."""
    tumbling = moving(chain(free=True, rotors=False), q=Q, dq=DQ, v=V, w=W)
    engine, simulated = world(tumbling, gravity=WEIGHTLESS, solver=solver)
    _, before = momentum(simulated)
    engine.step(1000)
    _, after = momentum(simulated)
    return f"{np.linalg.norm(after - before) / np.linalg.norm(before):.1e}"


def block_on_slope(solver: Solver) -> str:
    """Relative error of the acceleration of a block on an oblique slope."""
    angle, mu, size = 0.6, 0.5, np.array([0.3, 0.3, 0.05])
    down = np.array([np.cos(0.7), np.sin(0.7), 0.0])
    R = axis_angle_matrix(np.cross(Z, down), angle)
    block = lone(placed(Box(size)), inertia=box_inertia(1.0, size))
    engine, thing, _ = world(
        moving(block, Pose(R, R @ [0.0, 0.0, 0.0249])), floor(R=R), friction=mu, solver=solver
    )
    engine.step(100)
    before = thing.motion.v[0].copy()
    engine.step(500)
    expected = G * (np.sin(angle) - mu * np.cos(angle)) * (R @ down)
    error = np.linalg.norm((thing.motion.v[0] - before) / 0.5 - expected)
    return f"{error / np.linalg.norm(expected):.0e}"


def rolling_ball(solver: Solver) -> str:
    """Relative error of the speed of a ball that was pushed and rolls."""
    ball = lone(placed(Sphere(0.1)), inertia=np.eye(3) * 0.4 * 0.01)
    engine, thing, _ = world(
        moving(ball, placed_at(z=0.0999), v=X), floor(), friction=0.3, solver=solver
    )
    engine.step(1000)
    return f"{abs(thing.motion.v[0, 0] / ROLLING - 1.0):.1e}"


def _top(solver: Solver) -> tuple[float, float]:
    mass, length, across, along, rate, tilt = 1.0, 0.1, 0.002, 0.004, 2.0, 0.6
    about_tip = across + mass * length**2
    spin = (about_tip * rate**2 * np.cos(tilt) + mass * G * length) / (along * rate)
    start = fixed(
        top(mass=mass, length=length, across=across, along=along),
        q=np.array([0.0, tilt, 0.0]),
        dq=np.array([rate, 0.0, spin - rate * np.cos(tilt)]),
    )
    engine, simulated = world(start, solver=solver)
    engine.step(1000)
    return simulated.motion.q[0] / rate - 1.0, simulated.motion.q[1] - tilt


def top_rate(solver: Solver) -> str:
    """Relative error of the precession of a top that spins at 128 rad/s."""
    return f"{abs(_top(solver)[0]):.1e}"


def top_lean(solver: Solver) -> str:
    """Tilt of the top after a second, from 0."""
    return f"{abs(_top(solver)[1]):.1e} rad"


def stack(solver: Solver) -> str:
    """Largest error of the height of ten stacked cubes within ten seconds."""
    size = np.full(3, 0.2)
    cube = lone(placed(Box(size)), inertia=box_inertia(1.0, size))
    places = [moving(cube, placed_at(z=0.2 * k + 0.1), name=f"cube{k}") for k in range(10)]
    engine, *cubes = world(*places, floor(), solver=solver)
    worst = 0.0
    for _ in range(100):
        engine.step(100)
        heights = [c.motion.p[0, 2] - 0.2 * k - 0.1 for k, c in enumerate(cubes[:10])]
        worst = max(worst, float(np.abs(heights).max()))
    return f"{worst * 1e3:.1f} mm"


def humanoid(solver: Solver, seconds: int = 5, iterations: int = 50) -> str:
    """Drift of the root of the humanoid while it holds its posture."""
    config = load_world(MODELS / "humanoid" / "humanoid.body")
    physics = replace(config.physics, solver=solver, iterations=iterations)
    simulation = Simulation(replace(config, physics=physics))
    simulation.wanted = lambda _name: False
    (robot,) = (b for b in simulation.bodies.values() if b.body.moving_links)
    start = robot.motion.p[0].copy()
    simulation.run(seconds)
    drift = float(np.abs(robot.motion.p[0] - start).max()) * 1e3
    return "it falls" if drift > 100.0 else f"{drift:.2g} mm"


@dataclass(frozen=True)
class Check:
    """A row of the second table: a quantity, and how it is measured for each solver."""

    what: str
    measure: Callable[[Solver], str]
    is_quick: bool = True


CHECKS = (
    Check("angular momentum that the tumbling chain loses in 1 s", momentum_kept),
    Check("acceleration of a block on an oblique slope, relative error", block_on_slope),
    Check("speed of a ball pushed until it rolls, from 5/7 v0", rolling_ball),
    Check("precession of a top at 128 rad/s, relative error in 1 s", top_rate),
    Check("tilt of this top after 1 s, from 0", top_lean),
    Check("ten cubes stacked, worst height in 10 s", stack, is_quick=False),
    Check("humanoid in hold, drift of its root in 5 s", humanoid, is_quick=False),
    Check("the same with 150 iterations", partial(humanoid, iterations=150), is_quick=False),
    Check(
        "humanoid in hold, drift in 60 s (quick: 150 iterations)",
        lambda s: humanoid(s, 60, 150 if s is Solver.QUICK else 50),
        is_quick=False,
    ),
)


def check_row(check: Check) -> list[str]:
    """Return a row of the second table."""
    return [check.what, *(check.measure(solver) for solver in Solver)]
