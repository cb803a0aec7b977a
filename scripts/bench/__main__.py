"""Measure speed: ``python scripts/bench COMMAND``."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In place of this folder, whose modules are those of a package.
sys.path[:1] = [str(ROOT), str(ROOT / "test"), str(ROOT / "test" / "support")]

from scripts.program import run_program  # noqa: E402

COMMANDS = {
    "all": "all of them that write tables of the documentation, one after the other",
    "environments": "steps per second of the environments of hrp_sim.lab.gym",
    "models": "every model of a folder, alone on a floor, beside MuJoCo",
    "recording": "processor time that a recording takes",
    "ros": "lost messages, and what publishing costs",
    "size": "time of a step over the size of a world, for each solver",
    "start": "what short commands cost, beside the import of numpy",
    "view": "frames per second of the page of a run, and what they cost",
}

if __name__ == "__main__":
    sys.exit(run_program("bench", COMMANDS, None))
