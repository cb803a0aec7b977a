"""Measure and draw what the documentation shows: ``python scripts/pages COMMAND``."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In place of this folder, whose modules are those of a package.
sys.path[:1] = [str(ROOT), str(ROOT / "test"), str(ROOT / "test" / "support")]

from scripts.program import run_program  # noqa: E402

COMMANDS = {
    "accuracy": "physics, friction, grippers and sensors beside closed forms and other libraries",
    "certificates": "certificates of the models in a folder",
    "collision": "time of collision detection of the models in folders",
    "gallery": "pictures of models, and of their URDFs by another renderer",
    "light": "models by films, cameras and pages, side by side",
    "models": "whether the models in a folder load, their diagnostics, the time to load",
    "parameters": "tables of the parameters of the nodes",
    "pictures": "pictures of pages, robots and runs in docs/pictures",
    "sensors": "tables of the topics, fields and options of sensors",
}

if __name__ == "__main__":
    sys.exit(run_program("pages", COMMANDS, None))
