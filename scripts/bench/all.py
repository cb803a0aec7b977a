"""Measure all times of the documentation, one part after the other.

With --page the tables of docs/data are written, else printed. FOLDER has the published models;
without it only those of this package are measured. All takes a quarter of an hour on a quiet
machine, most of it the parts compare, models and collision.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.comparison.scenes import SCENE_NAMES

from scripts.program import ROOT, add_models

BENCH = str(ROOT / "test" / "bench")
# Models of the folder that are compared with other programs, limp and with servos that hold.
COMPARED = ("SR1/SR1.body", "PA10/PA10.body")
COMPARED_IN = Path("choreonoid__choreonoid", "share", "model")


def parts(options: argparse.Namespace) -> Mapping[str, Sequence[str]]:
    """Return the arguments of Python for each part."""
    here, folder = str(Path(__file__).parent), options.folder
    models = [str(folder)] if folder else []
    listed = ["--list", str(options.list)] if options.list else []
    published = [folder / COMPARED_IN / name for name in COMPARED] if folder else []
    compared = [str(path) for path in published if path.is_file()]
    scenes = [word for name in SCENE_NAMES for word in ("--scene", name)]
    holding = ["--holding"] if compared else []
    runs = ["--duration", "0.4", "--runs", "2"]
    page = ["--page"] if options.page else []
    found = {
        "environments": [here, "environments", *page],
        "kinematics": [f"{BENCH}/bench_kinematics.py", *page],
        "size": [here, "size", "--seconds", "1", *page],
        "start": [here, "start", *page],
        "ros": [here, "ros", *page],
        "compare": [f"{BENCH}/compare.py", *compared, *holding, *scenes, *runs, *page],
        "models": [here, "models", *models, *listed, "--seconds", "3", *page],
    }
    if options.page:
        pages, own = str(ROOT / "scripts" / "pages"), str(ROOT / "models")
        found["collision"] = [pages, "collision", own, *models]
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    add_models(parser, optional=True)
    parser.add_argument("--page", action="store_true", help="write docs/data")
    parser.add_argument("--only", nargs="+", metavar="PART", help="some of the parts")


def run(options: argparse.Namespace) -> int:
    """Measure; return whether a part failed."""
    failed = 0
    for name, arguments in parts(options).items():
        if options.only and name not in options.only:
            continue
        start = time.monotonic()
        status = subprocess.run([sys.executable, *arguments], check=False).returncode
        failed |= status != 0
        print(f"{name}: {time.monotonic() - start:.0f} s, exit status {status}", flush=True)
    return failed
