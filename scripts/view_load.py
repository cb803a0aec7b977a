#!/usr/bin/env python3
"""Show a moving world with many joints in a page; report the frames per second and the cost.

python scripts/view_load.py [--seconds 3] [--rounds 12] [--off NAME ...]

The world has a humanoid with a scanner and a camera in its room and two arms, 33 joints that all
move. A separate process receives what a browser would, over loopback, but draws nothing. Rounds
with and without it alternate in one run in real time. The script prints medians over the rounds:
the frames per second that arrived, kilobytes per second, the processor time of a step in the
stepping thread with and without the page, and of the whole process. ``--off`` switches displays
off, such as head_camera.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from math import sin
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

ROOT = Path(__file__).resolve().parents[1]
WORLD = f"""
physics: {{ time_step: 0.001, solver: world }}
bodies:
  - model: {ROOT / "models" / "room.body"}
  - {{ name: humanoid, model: {ROOT / "models" / "humanoid" / "humanoid.wrl"}, control: hold }}
  - {{ name: left, model: {ROOT / "models" / "arm" / "arm.body"}, control: hold,
       position: [ 0.5, 1.0, 0 ] }}
  - {{ name: right, model: {ROOT / "models" / "arm" / "arm.body"}, control: hold,
       position: [ 0.5, -1.0, 0 ] }}
"""
_PATIENCE = 30.0  # [s]


def receive(port: int) -> None:
    """Receive what a page is sent; for each line of input print what arrived since the last."""
    import msgspec
    import viser
    import zstandard
    from websockets.sync.client import connect

    camera = {
        "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [3.0, 0.0, 1.0],
        "fov": 0.8, "near": 0.1, "far": 100.0, "image_height": 800, "image_width": 1280,
        "look_at": [0.0, 0.0, 1.0], "up_direction": [0.0, 0.0, 1.0],
    }  # fmt: skip
    lines = iter(sys.stdin)
    while next(lines, ""):
        address, protocol = f"ws://127.0.0.1:{port}", f"viser-v{viser.__version__}"
        clocks: set[str] = set()
        size, start = 0, time.monotonic()
        is_open = threading.Event()
        with connect(address, subprotocols=[protocol], max_size=None, compression=None) as socket:
            socket.send(msgspec.msgpack.encode(camera))

            def read(socket=socket, clocks=clocks, is_open=is_open) -> None:
                nonlocal size
                decompress = zstandard.ZstdDecompressor().decompress
                for data in socket:
                    size += len(data)
                    inner = decompress(data[16 : 16 + int.from_bytes(data[8:16], "little")])
                    for message in msgspec.msgpack.decode(inner)["messages"]:
                        content = str(message.get("updates", {}).get("content", ""))
                        if "data-clock" in content:
                            clocks.add(content)
                            is_open.set()

            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            is_open.wait(_PATIENCE)
            clocks.clear()
            size, start = 0, time.monotonic()
            print("open", flush=True)
            next(lines, "")
            seconds = time.monotonic() - start
            found = {"frames": len(clocks) / seconds, "kilobytes": size / 1e3 / seconds}
        print(json.dumps(found), flush=True)


def measure(seconds: float, rounds: int, off: list[str]) -> None:
    """Run the world with and without a receiver; print the medians."""
    from hrp_model.view.viewer import Viewer
    from hrp_sim import Simulation
    from hrp_sim.running.distribution import Distribution
    from hrp_sim.running.runner import Runner
    from hrp_sim.view.run_viewer import RunViewer

    with TemporaryDirectory() as folder, Viewer(0) as viewer:
        world = Path(folder) / "world.yaml"
        world.write_text(WORLD)
        simulation = Simulation(world, defer_images=True)
        distribution = Distribution(simulation, read_all=True)
        moving = [(k, s) for k, s in simulation.bodies.items() if s.body.moving_links]
        print(sum(len(s.body.moving_links) for _, s in moving), "joints")
        steps = 0

        def on_step(time_ns: int, readings: object) -> None:
            nonlocal steps
            steps += 1
            distribution.publish(time_ns, readings)  # type: ignore[arg-type]
            if steps % 50 == 0:
                for name, simulated in moving:
                    names = [link.joint.name for link in simulated.body.moving_links]
                    simulation.command(name, dict.fromkeys(names, 0.05 * sin(time_ns * 3e-9)))

        runner = Runner(simulation, on_step)
        distribution.serve(runner)
        view = RunViewer(viewer, runner)
        distribution.add(view)
        for name in off:
            view._sensors._displays[name].switch.value = False  # type: ignore[union-attr]
        thread = threading.Thread(target=runner.run)
        thread.start()
        command = [
            sys.executable,
            str(ROOT / "scripts" / "view_load.py"),
            "--receive",
            str(viewer.port),
        ]
        receiver = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert receiver.stdin is not None
        assert receiver.stdout is not None

        def interval() -> dict[str, float]:
            """Return processor times per step over an interval, in [us]."""
            begin = *runner.call(lambda: (time.thread_time(), steps)), time.process_time()
            time.sleep(seconds)
            end = *runner.call(lambda: (time.thread_time(), steps)), time.process_time()
            taken = end[1] - begin[1]
            return {
                "stepping": 1e6 * (end[0] - begin[0]) / taken,
                "process": 1e6 * (end[2] - begin[2]) / taken,
                "factor": taken * 1e-3 / seconds,
            }

        results = []
        interval()  # warm up
        for _ in range(rounds):
            without = interval()
            receiver.stdin.write("open\n")
            receiver.stdin.flush()
            receiver.stdout.readline()
            shown = interval()
            receiver.stdin.write("close\n")
            receiver.stdin.flush()
            arrived = json.loads(receiver.stdout.readline())
            deadline = time.monotonic() + _PATIENCE
            while view._is_watched and time.monotonic() < deadline:
                time.sleep(0.02)
            results.append((without, shown, arrived))
        receiver.stdin.close()
        receiver.wait()
        runner.stop()
        thread.join()
        view.close("")
        distribution.close()
        simulation.close()
    _report(results)


def _report(results: list[tuple[dict[str, float], dict[str, float], dict[str, float]]]) -> None:
    def median(values: list[float]) -> float:
        return statistics.median(values)

    for name, index in (("without page", 0), ("with page", 1)):
        row = {k: median([r[index][k] for r in results]) for k in results[0][0]}
        print(
            f"{name:13s} stepping thread {row['stepping']:.1f} us a step, process "
            f"{row['process']:.1f} us a step, real-time factor {row['factor']:.3f}"
        )
    slower = median([shown["stepping"] / without["stepping"] for without, shown, _ in results])
    print(f"stepping thread slowed by {100.0 * (slower - 1.0):.1f}%")
    print(f"{median([r[2]['frames'] for r in results]):.1f} frames/s, ", end="")
    print(f"{median([r[2]['kilobytes'] for r in results]):.0f} kB/s")


def main() -> int:
    """Run the script; return its exit status."""
    parser = argparse.ArgumentParser(description="Measure the page of a running simulation.")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each run")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--off", nargs="*", default=[], help="displays to switch off")
    parser.add_argument("--receive", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.receive:
        receive(options.receive)
    else:
        measure(options.seconds, options.rounds, options.off)
    return 0


if __name__ == "__main__":
    sys.exit(main())
