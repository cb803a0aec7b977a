"""Show a moving world with many joints in a page; report the frames per second and the cost.

The world has a humanoid with a scanner and a camera in its room and two arms, 33 joints that all
move. A separate process receives what a browser would, over loopback, but draws nothing. Rounds
with and without it alternate in one run in real time. Printed are medians over the rounds: the
frames and kilobytes per second that arrived, the processor time of a step in the stepping thread
with and without the page, and of the whole process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from math import sin
from pathlib import Path
from tempfile import TemporaryDirectory

from hrp_model.view.viewer import Viewer
from hrp_sim import Simulation
from hrp_sim.run.run import Consumer, Run
from hrp_sim.sensors import Reading
from hrp_sim.view.run_viewer import RunViewer
from scripts.program import ROOT

from .children import child

ARM = f"model: {ROOT / 'models' / 'arm' / 'arm.body'}, control: hold, position"
WORLD = f"""
physics: {{ time_step: 0.001, solver: world }}
bodies:
  - model: {ROOT / "models" / "room.body"}
  - {{ name: humanoid, model: {ROOT / "models" / "humanoid" / "humanoid.wrl"}, control: hold }}
  - {{ name: left, {ARM}: [ 0.5, 1.0, 0 ] }}
  - {{ name: right, {ARM}: [ 0.5, -1.0, 0 ] }}
"""
CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [3.0, 0.0, 1.0],
    "fov": 0.8, "near": 0.1, "far": 100.0, "image_height": 800, "image_width": 1280,
    "look_at": [0.0, 0.0, 1.0], "up_direction": [0.0, 0.0, 1.0],
}  # fmt: skip
PATIENCE = 30.0  # [s]
Figures = Mapping[str, float]


def receive(port: int) -> None:
    """Receive what a page is sent: from one line of input to the next, then print how much."""
    import msgspec
    import viser
    import zstandard
    from websockets.sync.client import connect

    address, protocol = f"ws://127.0.0.1:{port}", f"viser-v{viser.__version__}"
    lines = iter(sys.stdin)
    while next(lines, ""):
        clocks: set[str] = set()
        sizes: list[int] = []
        is_open = threading.Event()
        with connect(address, subprotocols=[protocol], max_size=None, compression=None) as socket:
            socket.send(msgspec.msgpack.encode(CAMERA))

            def read(socket=socket, clocks=clocks, sizes=sizes, is_open=is_open) -> None:
                decompress = zstandard.ZstdDecompressor().decompress
                for data in socket:
                    sizes.append(len(data))
                    inner = decompress(data[16 : 16 + int.from_bytes(data[8:16], "little")])
                    for message in msgspec.msgpack.decode(inner)["messages"]:
                        content = str(message.get("updates", {}).get("content", ""))
                        if "data-clock" in content:
                            clocks.add(content)
                            is_open.set()

            threading.Thread(target=read, daemon=True).start()
            is_open.wait(PATIENCE)
            clocks.clear()
            sizes.clear()
            start = time.monotonic()
            print('"open"', flush=True)
            next(lines, "")
            seconds = time.monotonic() - start
            found = {"frames": len(clocks) / seconds, "kilobytes": sum(sizes) / 1e3 / seconds}
        print(json.dumps(found), flush=True)


@contextmanager
def shown_run(off: list[str]) -> Iterator[tuple[Viewer, RunViewer, Callable[[float], Figures]]]:
    """Yield a page, what shows a run in it, and what measures the run for some seconds."""
    with TemporaryDirectory() as folder, Viewer(0) as viewer:
        world = Path(folder) / "world.yaml"
        world.write_text(WORLD)
        simulation = Simulation(world, defer_images=True)
        links = {k: s.body.moving_links for k, s in simulation.bodies.items()}
        moving = {k: [link.joint.name for link in some] for k, some in links.items() if some}
        print(sum(map(len, moving.values())), "joints")
        steps = 0

        class Moving(Consumer):
            """Moves the joints, and lets all sensors be read."""

            def wants(self, simulation: Simulation, sensor: str) -> bool:  # noqa: ARG002
                return True

            def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
                return 0

            def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:  # noqa: ARG002
                nonlocal steps
                steps += 1
                for name, names in moving.items() if steps % 50 == 0 else ():
                    simulation.command(name, dict.fromkeys(names, 0.05 * sin(time_ns * 3e-9)))

        def interval(seconds: float) -> Figures:
            """Return processor times per step over an interval, in [us], and the speed."""
            begin = *runner.call(lambda: (time.thread_time(), steps)), time.process_time()
            time.sleep(seconds)
            end = *runner.call(lambda: (time.thread_time(), steps)), time.process_time()
            thread, taken, process = (b - a for a, b in zip(begin, end, strict=True))
            each = {"stepping": 1e6 * thread / taken, "process": 1e6 * process / taken}
            return {**each, "factor": taken * 1e-3 / seconds}

        runner = Run(simulation, [Moving()])
        view = RunViewer(viewer, runner)
        for name in off:
            view._sensors._displays[name].switch.value = False
        thread = threading.Thread(target=runner.run)
        with closing(simulation), runner:
            thread.start()
            yield viewer, view, interval
            runner.stop()
            thread.join()
            view.close("")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("--seconds", type=float, default=3.0, help="of each run; default: 3")
    parser.add_argument("--rounds", type=int, default=12, help="default: 12")
    parser.add_argument("--off", nargs="*", default=[], help="displays to switch off")
    parser.add_argument("--receive", type=int, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Run the world with and without a receiver, and print the medians; or be the receiver."""
    if options.receive:
        receive(options.receive)
        return 0
    results: list[tuple[Figures, Figures, Figures]] = []
    with shown_run(options.off) as (viewer, view, interval):
        program = str(Path(__file__).parent), "view", "--receive", str(viewer.port)
        with child(*program) as receiver:
            interval(options.seconds)  # warm up
            for _ in range(options.rounds):
                without = interval(options.seconds)
                receiver.tell("open")
                receiver.answer()
                shown = interval(options.seconds)
                receiver.tell("close")
                results.append((without, shown, receiver.answer()))
                deadline = time.monotonic() + PATIENCE
                while view._is_watched and time.monotonic() < deadline:
                    time.sleep(0.02)
    for name, index in (("without page", 0), ("with page", 1)):
        row = {k: statistics.median(r[index][k] for r in results) for k in results[0][0]}
        print(
            f"{name:13s} stepping thread {row['stepping']:.1f} us a step, process "
            f"{row['process']:.1f} us a step, real-time factor {row['factor']:.3f}"
        )
    slower = statistics.median(
        shown["stepping"] / without["stepping"] for without, shown, _ in results
    )
    print(f"stepping thread slowed by {100.0 * (slower - 1.0):.1f}%")
    arrived = {k: statistics.median(r[2][k] for r in results) for k in ("frames", "kilobytes")}
    print(f"{arrived['frames']:.1f} frames/s, {arrived['kilobytes']:.0f} kB/s")
    return 0
