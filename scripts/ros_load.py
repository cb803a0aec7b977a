#!/usr/bin/env python3
"""Publish all sensor data of a humanoid to another process; report lost messages and the cost.

python scripts/ros_load.py [--seconds 10] [--rounds 5] [--cores 2]

The humanoid is in its room, with joint states, an IMU and two wrenches at 500 Hz, a scan at 40 Hz,
images at 30 Hz, odometry, transforms and a clock. A separate process subscribes to all topics, and
detects lost messages by their stamps. Each round consists of these runs:

real time   published and received, in real time
physics     as fast as possible, without sensors
sensors     with all readings and images, without ROS
received    the same, published and received

The script prints medians over the rounds, and medians of the ratios within each round: the
real-time factor, its ratio to the runs without sensors and without ROS, the wall time of a step,
the processor time of a step in the stepping thread and in the whole process, the longest step, and
the lost time, which was not caught up. The exit status is 1 if a message was lost.
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
RUNS = {"real time": 1.0, "physics": 0.0, "sensors": 0.0, "received": 0.0}
PATIENCE = 60.0  # [s]


def simulate(run: str, world: str, seconds: float) -> dict[str, Any]:
    """Run the world once in this process; return its speed and the number of messages."""
    from hrp_sim.physics.schedule import NEVER_NS
    from hrp_sim.running.runner import Runner

    with ExitStack() as stack:
        if run in ("physics", "sensors"):
            simulation, on_step = _alone(world, stack, reads=run == "sensors")
            published, on_step_due = dict, lambda: NEVER_NS
        else:
            simulation, on_step, published, on_step_due = _in_ros(world, stack)
        runner = Runner(
            simulation,
            on_step,
            real_time_factor=RUNS[run],
            duration=seconds,
            on_step_due=on_step_due,
        )
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
        outcome = {
            "factor": seconds / wall,
            "thread": thread / steps * 1e6,
            "process": process / steps * 1e6,
            "behind": runner.pace.lost,
            "step": times.mean * 1e6,
            "longest": times.longest * 1e3,
            "published": published(),
        }
        print(json.dumps(outcome), flush=True)
        sys.stdin.read()  # messages on their way arrive only while their publisher exists
        return outcome


def _alone(world: str, stack: ExitStack, *, reads: bool) -> tuple[Any, Any]:
    """Return a simulation without ROS, and a function that renders its images and drops them."""
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


def _in_ros(world: str, stack: ExitStack) -> tuple[Any, Any, Any, Any]:
    """Return a simulation with ROS, once all relevant topics have subscribers."""
    from hrp_sim.ros.sim_node import RosSession

    session = RosSession({"world": world}, ["ros_load"])
    stack.callback(session.close)
    topics = {topic.name: topic for topic in session.node.topics}
    deadline = time.monotonic() + PATIENCE
    while not all(topics[name].has_subscribers() for name in TYPES):
        if time.monotonic() > deadline:
            raise TimeoutError("some of the topics have no subscriber")
        time.sleep(0.01)

    def published() -> dict[str, int]:
        return {name: topics[name].count for name in TYPES}

    return session.simulation, session.publish, published, session.distribution.next_ns


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
    """Return the next output of a child process, one line of JSON."""
    assert process.stdout is not None
    if not (line := process.stdout.readline()):
        raise RuntimeError("a process has ended early")
    outcome: dict[str, Any] = json.loads(line)
    return outcome


def measure(run: str, world: str, seconds: float) -> dict[str, Any]:
    """Run the world once in new processes; return its speed and the received messages."""
    domain = {"ROS_DOMAIN_ID": str(1 + os.getpid() % 100)}
    domain["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    with ExitStack() as stack:
        listener = None
        if run in ("real time", "received"):
            script = str(Path(__file__).with_name("load_listener.py"))
            listener = stack.enter_context(_child(script, environment=domain))
        words = ["--simulate", run, "--world", world, "--seconds", str(seconds)]
        sim = stack.enter_context(_child(__file__, *words, environment=domain))
        outcome = _line(sim)
        if listener is not None:
            listener.stdin.write(json.dumps(outcome["published"]) + "\n")
            listener.stdin.close()
            outcome["received"] = _line(listener)
        return outcome


def lost(outcome: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of lost messages of each topic: unpublished or not received."""
    found = {}
    for topic, stamps in outcome.get("received", {}).items():
        unreceived = outcome["published"][topic] - stamps["count"]
        if count := max(unreceived, stamps["gaps"] if topic in RATES else 0):
            found[topic] = count
    return found


def report(rounds: Sequence[Mapping[str, Mapping[str, Any]]]) -> bool:
    """Print the results of the rounds; return whether no message was lost."""

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
    for run in ("real time", "received"):
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
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="simulation time of each run, in [s]"
    )
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds")
    parser.add_argument(
        "--cores", type=int, default=2, help="number of cores that all processes share"
    )
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
