"""The command ``hrp-sim``: simulate a world or a model, and measure this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hrp_model import ModelError

from .engine import PhysicsError, Solver

GOOD, PROBLEM, WRONG_USE = 0, 1, 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hrp-sim", description="Simulate OpenHRP and Choreonoid robots with ODE."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="simulate a world file, or a model alone on a floor")
    run.add_argument("world", help="world file (.yaml) or model (.wrl, .body): path or URI")
    run.add_argument(
        "--duration", type=_positive, metavar="S", help="end after S simulated seconds"
    )
    run.add_argument("--engine", choices=["ode"], default="ode", help="physics engine")
    run.add_argument("--solver", choices=[s.value for s in Solver], help="default: the world's")
    run.add_argument(
        "--rtf",
        type=_not_negative,
        metavar="F",
        help="simulated per real second; 0 = as fast as possible (default: 1 with ROS, else 0)",
    )
    run.add_argument("--trace", type=Path, metavar="FILE", help="write the motion as JSON lines")
    run.add_argument("--every", type=_positive, metavar="S", help="time between lines of --trace")
    run.add_argument("--seed", type=int, metavar="N", help="of the engine's random order")
    run.add_argument(
        "--ros", action=argparse.BooleanOptionalAction, default=False, help="publish in ROS 2"
    )
    run.add_argument(
        "--listen",
        action="store_true",
        help="show what a second process hears of the topics, and fail if it misses any",
    )
    bench = commands.add_parser("bench", help="measure the speed of this machine, as ratios")
    bench.add_argument("model", type=Path, nargs="?", help="default: the package's humanoid")
    bench.add_argument("--solver", choices=[s.value for s in Solver], default=Solver.WORLD.value)
    bench.add_argument(
        "--duration", type=_positive, default=2.0, metavar="S", help="simulated, a run"
    )
    bench.add_argument("--runs", type=int, default=5, metavar="N", help="interleaved runs of each")
    return parser


def _positive(text: str) -> float:
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be more than 0, not {text}")
    return value


def _not_negative(text: str) -> float:
    return 0.0 if float(text) == 0.0 else _positive(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 1 for a problem in model or world, 2 for wrong use."""
    options = _parser().parse_args(argv)
    try:
        if options.command == "bench":
            from .bench import bench

            return bench(options.model, options.solver, options.duration, options.runs)
        from .run import run

        return run(options)
    except ModelError as error:  # its lines say "error" themselves
        print(error, file=sys.stderr)
        return PROBLEM
    except (PhysicsError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return PROBLEM


if __name__ == "__main__":
    sys.exit(main())
