"""Publish all sensor data of a humanoid to another process; report lost messages and the cost.

The humanoid is in its room, with joint states, an IMU and two wrenches at 500 Hz, a scan at 40 Hz,
images at 30 Hz, odometry, transforms and a clock. A separate process subscribes to all topics,
takes what has arrived 50 times a second, so that it costs little itself, and detects lost messages
by their stamps. Each round consists of these runs:

real time   published and received, in real time
physics     as fast as possible, without sensors
sensors     with all readings and images, without ROS
unheard     a node of ROS without any subscriber
received    the same, with all topics published and received

Printed are medians over the rounds, and medians of the ratios within each round: the real-time
factor, its ratio to the runs without sensors and without a subscriber, the wall time of a step, the
processor time of a step in the stepping thread and in the whole process, the longest step, and the
lost time, which was not caught up. The exit status is 1 if a message was lost, unless faster than
real time a newer one replaced it: of the clock and images DDS keeps the last 1 and 5.

With --page docs/data/publishing.csv is written.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from load_listener import RATES, TYPES

from hrp_sim import Simulation, load_world
from hrp_sim.render import Parts
from hrp_sim.run.run import Consumer, Run
from scripts.data_tables import Table, write_tables
from scripts.program import ROOT

from .children import child

WORLD = f"""
physics: {{ time_step: 0.001, solver: world }}
bodies:
  - model: {ROOT / "models" / "room.body"}
  - name: humanoid
    model: {ROOT / "models" / "humanoid" / "humanoid.wrl"}
    sensors: {{ scanner: {{ rate: 40 }} }}
    control: hold
"""
RUNS = {"real time": 1.0, "physics": 0.0, "sensors": 0.0, "unheard": 0.0, "received": 0.0}
HEARD = ("real time", "received")
REPLACED = {"/clock", "/head_camera/image_raw", "/head_camera/camera_info"}
BASES = ("physics", "unheard")
HEADER = [
    *("run", "real-time factor", "of physics", "of unheard", "stepping thread [us]"),
    *("process [us]", "messages", "lost"),
]
PATIENCE = 60.0  # [s]
Published = Callable[[], dict[str, int]]
Join = Callable[[Run], None]  # adds the consumers of a run


def simulate(kind: str, world: Path, seconds: float) -> None:
    """Run the world once in this process; print its speed and the number of messages."""
    clocks = time.monotonic, time.thread_time, time.process_time
    with ExitStack() as stack:
        make = _alone if kind in ("physics", "sensors") else _in_ros
        simulation, join, published = make(kind, world, stack)
        runner = Run(simulation, real_time_factor=RUNS[kind], duration=seconds)
        join(runner)
        began = [clock() for clock in clocks]
        runner.run()
        wall, thread, process = (clock() - b for clock, b in zip(clocks, began, strict=True))
        steps = round(seconds / simulation.engine.settings.time_step)
        times = runner.pace.take_step_times()
        outcome = {
            "factor": seconds / wall,
            "step": times.mean * 1e6,
            "thread": thread / steps * 1e6,
            "process": process / steps * 1e6,
            "longest": times.longest * 1e3,
            "behind": runner.pace.lost,
            "published": published(),
        }
        print(json.dumps(outcome), flush=True)
        sys.stdin.read()  # messages on their way arrive only while their publisher exists


class Images(Consumer):
    """Wants all sensors, and the colours of images, which it drops."""

    def wants(self, simulation: Simulation, sensor: str) -> bool:  # noqa: ARG002
        """Return True."""
        return True

    def wanted_parts(self, camera: str) -> Parts:  # noqa: ARG002
        """Return colours."""
        return Parts(color=True, depth=False)


def _alone(kind: str, world: Path, stack: ExitStack) -> tuple[Simulation, Join, Published]:
    """Return a simulation without ROS; its images are rendered and dropped."""
    simulation = stack.enter_context(closing(Simulation(load_world(world), defer_images=True)))
    consumers = [Images()] if kind == "sensors" else []

    def join(run: Run) -> None:
        for consumer in consumers:
            run.add(consumer)
        stack.callback(run.close)

    return simulation, join, dict


def _in_ros(kind: str, world: Path, stack: ExitStack) -> tuple[Simulation, Join, Published]:
    """Return a simulation with ROS, once all relevant topics have the subscribers of its kind."""
    from hrp_sim.ros.sim_node import RosSession

    session = RosSession({"world": str(world)}, ["ros_load"])
    stack.callback(session.close)
    topics = {topic.name: topic for topic in session.node.topics}
    deadline = time.monotonic() + PATIENCE
    while kind in HEARD and not all(topics[name].has_subscribers() for name in TYPES):
        if time.monotonic() > deadline:
            raise TimeoutError("some of the topics have no subscriber")
        time.sleep(0.01)

    def published() -> dict[str, int]:
        return {name: topics[name].count for name in TYPES}

    return session.simulation, session.serve, published


def measure(kind: str, world: Path, seconds: float) -> dict[str, Any]:
    """Run the world once in new processes; return its speed and the received messages."""
    with ExitStack() as stack:
        listener = None
        if kind in HEARD:
            script = str(ROOT / "test" / "support" / "load_listener.py")
            listener = stack.enter_context(child(script))
        words = ["--simulate", kind, "--world", str(world), "--seconds", str(seconds)]
        simulator = stack.enter_context(child(str(Path(__file__).parent), "ros", *words))
        outcome: dict[str, Any] = simulator.answer()
        if listener is not None:
            listener.tell(json.dumps(outcome["published"]))
            outcome["received"] = listener.answer()
        return outcome


def lost(outcome: Mapping[str, Any]) -> Counter[str]:
    """Return the number of lost messages of each topic: unpublished or not received."""
    found: Counter[str] = Counter()
    for topic, stamps in outcome.get("received", {}).items():
        unreceived = outcome["published"][topic] - stamps["count"]
        found[topic] = max(unreceived, stamps["gaps"] if topic in RATES else 0)
    return +found


def report(rounds: Sequence[Mapping[str, Mapping[str, Any]]]) -> bool:
    """Print the results of the rounds; return whether no message was lost."""

    def median(kind: str, key: str, digits: int) -> str:
        return f"{statistics.median(r[kind][key] for r in rounds):.{digits}f}"

    digits = {"step": 1, "thread": 1, "process": 1, "longest": 1, "behind": 2}
    columns = ["factor", "of physics", "of unheard", "us/step", "thread", "process"]
    print(f"{'':10}", *(f"{name:>10}" for name in (*columns, "longest ms", "behind s")))
    for kind in RUNS:
        ratios = _ratios(rounds, kind)
        cells = [median(kind, "factor", 3)]
        cells += ["" if kind == "real time" else f"{ratio:.3f}" for ratio in ratios]
        cells += [
            f"{statistics.median(r[kind][k] for r in rounds):.{n}f}" for k, n in digits.items()
        ]
        print(f"{kind:10}", *(f"{cell:>10}" for cell in cells))
    everything = True
    for kind in HEARD:
        count, missed = _messages(rounds, kind)
        print(f"{kind}: {count} messages, lost: {_named(missed)}")
        everything &= missed.keys() <= (REPLACED if kind == "received" else set())
    return everything


def _ratios(rounds: Sequence[Mapping[str, Mapping[str, Any]]], kind: str) -> list[float]:
    """Return the speed of a run relative to each of ``BASES``."""
    return [
        statistics.median(r[kind]["factor"] / r[base]["factor"] for r in rounds) for base in BASES
    ]


def _messages(
    rounds: Sequence[Mapping[str, Mapping[str, Any]]], kind: str
) -> tuple[int, Counter[str]]:
    """Return the number of published messages, and of lost ones by topic."""
    count = sum(sum(r[kind]["published"].values()) for r in rounds)
    return count, sum((lost(r[kind]) for r in rounds), Counter[str]())


def _named(lost: Mapping[str, int]) -> str:
    """Return the numbers of lost messages by topic."""
    return ", ".join(f"{topic} {count}" for topic, count in lost.items()) or "none"


def table(rounds: Sequence[Mapping[str, Mapping[str, Any]]]) -> Table:
    """Return the table of the documentation."""
    rows = []
    for kind in RUNS:
        factor, thread, process = (
            statistics.median(r[kind][key] for r in rounds)
            for key in ("factor", "thread", "process")
        )
        ratios = ["" if kind == "real time" else f"{x:.2f}" for x in _ratios(rounds, kind)]
        counts = ["", ""]
        if kind in HEARD:
            count, missed = _messages(rounds, kind)
            counts = [str(count), _named(missed)]
        rows.append([kind, f"{factor:.2f}", *ratios, f"{thread:.0f}", f"{process:.0f}", *counts])
    return HEADER, rows


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run; default: 10")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds; default: 5")
    parser.add_argument("--cores", type=int, default=2, help="of all processes; default: 2")
    parser.add_argument("--page", action="store_true", help="write docs/data/publishing.csv")
    parser.add_argument("--simulate", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--world", type=Path, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Measure in other processes, or run the world once in this one."""
    if options.simulate:
        simulate(options.simulate, options.world, options.seconds)
        return 0
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    rounds: list[dict[str, dict[str, Any]]] = []
    with TemporaryDirectory() as folder:
        world = Path(folder) / "load.yaml"
        world.write_text(WORLD, encoding="utf-8")
        for k in range(options.rounds):
            order = list(RUNS) if k % 2 == 0 else list(reversed(RUNS))
            rounds.append({kind: measure(kind, world, options.seconds) for kind in order})
            print(f"round {k + 1} of {options.rounds}", file=sys.stderr)
    if options.page:
        about = f"medians of {options.rounds} rounds of {options.seconds:g} simulated seconds"
        write_tables({"publishing": table(rounds)}, rounds=f"{about}, other programs beside")
    return 0 if report(rounds) else 1
