#!/usr/bin/env python3
"""Publish all that a humanoid senses to another process; show what is lost, and what it costs.

python scripts/ros_load.py [--seconds 10] [--rounds 5] [--cores 2]

The humanoid stands in its room, with joint states, an IMU and two wrenches at 500 Hz, a scan at
40 Hz, images at 30 Hz, odometry, transforms and a clock. A process of its own hears all of it and
misses nothing that its stamps do not show. Each round takes, one after the other:

real time   published and heard, at the speed of the steady clock
physics     as fast as possible, without sensors
sensors     with all readings and images, which nobody hears of
heard       the same, published and heard

Printed are medians over the rounds, and of the ratios within each: the real-time factor, which
part that is of those without sensors and without ROS, the wall time of a step, the processor time
that a step takes the thread that steps and the whole process, the longest step, and the time that
was given up as lost. The exit status is 1 if a message was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from load_listener import RATES, TYPES

ROOT = Path(__file__).resolve().parents[1]
WORLD = f"""
physics: {{ time_step: 0.001, solver: world }}
bodies:
  - model: {ROOT / "models" / "room.body"}
  - name: humanoid
    model: {ROOT / "models" / "humanoid" / "humanoid.wrl"}
    sensors: {{ scanner: {{ rate: 40 }} }}
    control: hold
"""
RUNS = {"real time": 1.0, "physics": 0.0, "sensors": 0.0, "heard": 0.0}
PATIENCE = 60.0  # [s]


def simulate(run: str, world: str, seconds: float) -> dict[str, Any]:
    """Run the world once in this process; return how fast it went, and what was published."""
    from hrp_sim.running.runner import Runner

    with ExitStack() as stack:
        if run in ("physics", "sensors"):
            simulation, on_step = _alone(world, stack, reads=run == "sensors")
            published = dict
        else:
            simulation, on_step, published = _in_ros(world, stack)
        runner = Runner(simulation, on_step, real_time_factor=RUNS[run], duration=seconds)
        began = time.monotonic(), time.thread_time(), time.process_time()
        runner.run()
        wall, thread, process = (
            now - before
            for now, before in zip(
                (time.monotonic(), time.thread_time(), time.process_time()), began, strict=True
            )
        )
        steps = round(seconds / simulation.engine.settings.time_step)
        times = runner.pace.take_step_times()
        told = {
            "factor": seconds / wall,
            "thread": thread / steps * 1e6,
            "process": process / steps * 1e6,
            "behind": runner.pace.lost,
            "step": times.mean * 1e6,
            "longest": times.longest * 1e3,
            "published": published(),
        }
        print(json.dumps(told), flush=True)
        sys.stdin.read()  # what is on its way arrives as long as its publisher is there
        return told


def _alone(world: str, stack: ExitStack, *, reads: bool) -> tuple[Any, Any]:
    """Return a simulation without ROS, and what draws its images, which nobody sees."""
    from functools import partial

    from hrp_sim import Simulation, load_world
    from hrp_sim.render import Parts
    from hrp_sim.running.render_thread import RenderThread
    from hrp_sim.sensors import RenderRequest

    simulation = Simulation(load_world(Path(world)), defer_images=True)
    stack.callback(simulation.close)
    if not reads:
        simulation.wanted = lambda _: False
    render_thread = RenderThread(lambda *_: None)
    stack.callback(render_thread.close)
    colours = Parts(True, False)

    def on_step(_: int, readings: Mapping[str, Any]) -> None:
        for name, reading in readings.items():
            if isinstance(reading, RenderRequest):
                camera = simulation.sensors[name]
                render_thread.submit(name, partial(camera.render, reading, colours))

    return simulation, on_step


def _in_ros(world: str, stack: ExitStack) -> tuple[Any, Any, Any]:
    """Return a simulation with ROS around it once all that counts is listened to."""
    from hrp_sim.ros.sim_node import RosSession

    session = RosSession({"world": world}, ["ros_load"])
    stack.callback(session.close)
    topics = {topic.name: topic for topic in session.node.topics}
    deadline = time.monotonic() + PATIENCE
    while not all(topics[name].has_subscribers() for name in TYPES):
        if time.monotonic() > deadline:
            raise TimeoutError("nobody listens to some of the topics")
        time.sleep(0.01)

    def published() -> dict[str, int]:
        return {name: topics[name].count for name in TYPES}

    return session.simulation, session.publish, published


@contextmanager
def _child(*arguments: str, environment: Mapping[str, str]) -> Any:
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _line(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what a child tells next, which is one line of JSON."""
    assert process.stdout is not None
    if not (line := process.stdout.readline()):
        raise RuntimeError("a process has ended early")
    told: dict[str, Any] = json.loads(line)
    return told


def measure(run: str, world: str, seconds: float) -> dict[str, Any]:
    """Run the world once, each process anew; return how it went, and what was lost."""
    domain = {"ROS_DOMAIN_ID": str(1 + os.getpid() % 100)}
    domain["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    with ExitStack() as stack:
        listener = None
        if run in ("real time", "heard"):
            script = str(Path(__file__).with_name("load_listener.py"))
            listener = stack.enter_context(_child(script, environment=domain))
        words = ["--simulate", run, "--world", world, "--seconds", str(seconds)]
        sim = stack.enter_context(_child(__file__, *words, environment=domain))
        told = _line(sim)
        if listener is not None:
            listener.stdin.write(json.dumps(told["published"]) + "\n")
            listener.stdin.close()
            told["heard"] = _line(listener)
        return told


def lost(told: Mapping[str, Any]) -> dict[str, int]:
    """Return how many messages of each topic were published and not heard, or never published."""
    found = {}
    for topic, stamps in told.get("heard", {}).items():
        unheard = told["published"][topic] - stamps["count"]
        if count := max(unheard, stamps["gaps"] if topic in RATES else 0):
            found[topic] = count
    return found


def report(rounds: Sequence[Mapping[str, Mapping[str, Any]]]) -> bool:
    """Print what the rounds were like; return whether nothing was lost in any."""

    def median(run: str, key: str) -> float:
        return statistics.median(r[run][key] for r in rounds)

    print(
        f"{'':10} {'factor':>8} {'of physics':>10} {'of sensors':>10} {'us/step':>8} "
        f"{'thread':>8} {'process':>8} {'longest ms':>10} {'behind s':>8}"
    )
    for run in RUNS:
        ratios = [
            statistics.median(r[run]["factor"] / r[base]["factor"] for r in rounds)
            for base in ("physics", "sensors")
        ]
        shown = ["" if run == "real time" else f"{ratio:.3f}" for ratio in ratios]
        print(
            f"{run:10} {median(run, 'factor'):8.3f} {shown[0]:>10} {shown[1]:>10} "
            f"{median(run, 'step'):8.1f} {median(run, 'thread'):8.1f} "
            f"{median(run, 'process'):8.1f} "
            f"{median(run, 'longest'):10.1f} {median(run, 'behind'):8.2f}"
        )
    everything = True
    for run in ("real time", "heard"):
        count = sum(sum(r[run]["published"].values()) for r in rounds)
        missed: dict[str, int] = {}
        for r in rounds:
            for topic, n in lost(r[run]).items():
                missed[topic] = missed.get(topic, 0) + n
        named = ", ".join(f"{topic} {n}" for topic, n in missed.items()) or "none lost"
        print(f"{run}: {count} messages; {named}")
        everything &= not missed
    return everything


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated, of each run")
    parser.add_argument("--rounds", type=int, default=5, help="of runs of each sort")
    parser.add_argument("--cores", type=int, default=2, help="that all processes share")
    parser.add_argument("--simulate", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--world", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.simulate:
        simulate(options.simulate, options.world, options.seconds)
        return 0
    return _orchestrate(options)


def _orchestrate(options: argparse.Namespace) -> int:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    rounds: list[dict[str, dict[str, Any]]] = []
    with TemporaryDirectory() as folder:
        world = Path(folder) / "load.yaml"
        world.write_text(WORLD, encoding="utf-8")
        for k in range(options.rounds):
            order = list(RUNS) if k % 2 == 0 else list(reversed(RUNS))
            rounds.append({run: measure(run, str(world), options.seconds) for run in order})
            print(f"round {k + 1} of {options.rounds}", file=sys.stderr)
    return 0 if report(rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
