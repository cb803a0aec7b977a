"""What commands import: starting a program costs more than many commands compute."""

import subprocess
import sys

import pytest
from paths import PYTHONPATH

# Of these, a short command imports none.
HEAVY = {
    *("numpy", "scipy", "trimesh", "PIL", "rich", "yaml", "viser", "matplotlib", "moderngl"),
    *("asyncio", "http", "email", "inspect", "dataclasses", "logging", "multiprocessing"),
}
LOADED = "import sys; print(*sys.modules)"
COMMAND = """
import sys
from hrp_ros import programs
sys.argv = sys.argv[1:]
program = getattr(programs, sys.argv[0].replace("-", "_"))
sys.stdout, out = sys.stderr, sys.stdout
program()
print(*sys.modules, file=out)
"""


def modules(code, *words):
    command = [sys.executable, "-c", code, *words]
    environment = {"PYTHONPATH": PYTHONPATH, "PATH": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def interpreter():
    """Modules of an interpreter that runs nothing, which an environment may extend."""
    return modules(LOADED)


@pytest.mark.parametrize("words", [("hrp-sim", "--version"), ("hrp-model", "--help")])
def test_version_and_help_import_next_to_nothing(words, interpreter):
    imported = modules(COMMAND, *words) - interpreter
    assert imported & HEAVY == set()
    assert len(imported) < 70
