"""Measure how much processor time a recording takes.

Two simulations of the humanoid in its room run in one process, as fast as possible: one is
recorded, the other is not. They take turns in slices of a simulated second, so that other programs
slow down both. Without ROS, the one without recording reads its sensors. With --ros, each publishes
all topics to a listener in another process. The camera is off, unless --camera is given: without
ROS its images are rendered for the recording only.

Printed are the processor time of the process for a simulated second, including the threads that
compress the recording and that send messages, and the median of the ratios of all pairs of slices.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hrp_model import Diagnostics
from hrp_sim import Simulation
from hrp_sim.engine.schedule import NS_PER_S
from hrp_sim.run.run import Consumer, Run
from hrp_sim.topics.run_recording import RunRecording
from hrp_sim.topics.world import recorded_world
from hrp_sim.world.load import load_world

from .children import HERE, child

WORLD = "humanoid_in_room"
CAMERA = "head_camera"
SETTLING = 0.3  # [s] of wall time, in which the threads finish a slice
DOMAINS = 81, 82
DISCOVERY = 3.0  # [s]


class AllSensors(Consumer):
    """Wants all sensors, without their images."""

    def wants(self, simulation: Simulation, sensor: str) -> bool:  # noqa: ARG002
        """Return True."""
        return True


def alone(stack: ExitStack, path: Path | None) -> Run:
    """Return a run without ROS, in which all sensors are read."""
    quiet = Diagnostics.silent()
    world = load_world(WORLD, quiet)
    simulation = stack.enter_context(
        closing(Simulation(world, defer_images=True, diagnostics=quiet))
    )
    run = stack.enter_context(Run(simulation, [AllSensors()]))
    if path is not None:
        recording = stack.enter_context(closing(recording_of(path)))
        run.add(recorded_world(recording, simulation, quiet, sys.exit))
    return run


def in_ros(stack: ExitStack, path: Path | None, domain: int) -> Run:
    """Return a run with ROS and a listener."""
    from hrp_sim.ros.sim_node import RosSession

    make = None if path is None else partial(recording_of, path)
    session = RosSession({"world": WORLD, "describe": True}, [], domain, make_recording=make)
    stack.callback(session.close)
    there = HERE | {"ROS_DOMAIN_ID": str(domain)}
    listener = ("-m", "hrp_msgs.topics.listen")
    stack.enter_context(child(*listener, environment=there, answers=False))
    run = stack.enter_context(Run(session.simulation))
    session.serve(run)
    return run


def recording_of(path: Path) -> RunRecording:
    """Return a recording whose problems end the program."""
    return RunRecording(path, warn=sys.exit, on_error=sys.exit)


def slice_of(run: Run) -> float:
    """Simulate a second; return the processor time that the process took, in [s]."""
    before = time.process_time()
    run.until(run.simulation.state.time_ns + NS_PER_S)
    time.sleep(SETTLING)
    return time.process_time() - before


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("--ros", action="store_true", help="with ROS and listeners")
    parser.add_argument("--camera", action="store_true", help="with the images of the camera")
    parser.add_argument("--slices", type=int, default=20, help="number of pairs; default: 20")


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    os.environ.update(HERE)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        make = [partial(in_ros, domain=d) for d in DOMAINS] if options.ros else [alone, alone]
        paths = None, Path(folder) / "run.mcap"
        runs = [maker(stack, path) for maker, path in zip(make, paths, strict=True)]
        time.sleep(DISCOVERY if options.ros else 0.0)
        for each in runs:
            each.simulation.set_enabled(CAMERA, options.camera)
            slice_of(each)  # until all is warm
        times: list[tuple[float, float]] = []
        for number in range(options.slices):
            first = number % 2
            pair = {k: slice_of(runs[k]) for k in (first, 1 - first)}
            times.append((pair[0], pair[1]))
    plain, recorded = (1e3 * statistics.median(x) for x in zip(*times, strict=True))
    share = statistics.median(b / a for a, b in times) - 1.0
    print(
        f"without recording {plain:.0f} ms, with {recorded:.0f} ms a simulated second: {share:+.1%}"
    )
    return 0
