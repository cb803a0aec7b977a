"""The film of the humanoid at the top of the README; scripts/pictures.py makes it."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sin
from pathlib import Path

from hrp_sim import Simulation
from hrp_sim.video import (
    Extents,
    FixedView,
    Format,
    Frame,
    StudioRenderer,
    Viewpoint,
    film_frames,
    poses_of,
    writing_film,
)

PERIOD = 6.0  # [s], after which the film of the humanoid repeats
COMMAND_PERIOD = 0.01  # [s]


def humanoid(path: Path) -> None:
    """The humanoid greets, and bends its knees, in the room; the film repeats seamlessly."""
    film = Format(path, (640, 400), 20.0)
    with Simulation("humanoid_in_room", defer_images=True) as sim:
        sim.wanted = lambda _: False
        bodies = {name: simulated.body for name, simulated in sim.bodies.items()}
        poses = poses_of(sim.state)
        view = FixedView(film.size, Viewpoint(46.0, 14.0, 3.6), Extents(bodies).points(poses))
        renderer = StudioRenderer(bodies, view, poses)
        with writing_film(film) as writer:
            film_frames(_greeting(sim, film.fps), renderer, writer)


def _greeting(sim: Simulation, fps: float) -> Iterator[Frame]:
    """Yield the frames of the second of two equal periods, when the start has died away."""
    time_step = sim.engine.settings.time_step
    every = round(COMMAND_PERIOD / time_step)
    for step in range(round(2.0 * PERIOD / time_step)):
        t = step * time_step
        if step % every == 0:
            sim.command("humanoid", _posture(t))
        if t >= PERIOD and (step - round(PERIOD / time_step)) % round(1.0 / fps / time_step) == 0:
            yield Frame(sim.state.time_ns, poses_of(sim.state))
        sim.step()


def _posture(t: float) -> dict[str, float]:
    """Return joint positions in [rad] at a time in [s]."""
    phase = 2.0 * pi * t / PERIOD
    down = 0.5 * (1.0 - _cosine(2.0 * phase))  # twice in a period
    raised = _smooth(0.5 - 1.1 * _cosine(phase))
    wave = raised * sin(8.0 * phase)
    bend = 0.5 * down
    legs = {
        f"{side}LEG_{joint}": angle
        for side in "LR"
        for joint, angle in (("HIP_P", -bend), ("KNEE", 2.0 * bend), ("ANKLE_P", -bend))
    }
    return {
        **legs,
        "CHEST": 0.15 * sin(phase),
        "NECK": 0.35 * sin(phase),
        "LARM_SHOULDER_P": -0.5 * down,
        "LARM_SHOULDER_R": 0.1 + 0.5 * down,
        "LARM_ELBOW": -0.9 * down - 0.2,
        "RARM_SHOULDER_P": -0.2 * raised,
        "RARM_SHOULDER_R": -0.1 - 2.3 * raised - 0.25 * wave,
        "RARM_ELBOW": -0.2 - 0.5 * raised,
    }


def _cosine(phase: float) -> float:
    return sin(phase + pi / 2.0)


def _smooth(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)
