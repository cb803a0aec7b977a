"""What commands import: starting a program costs more than many commands compute."""

import subprocess
import sys

import pytest
from paths import MODELS, PYTHONPATH

# Neither a check of a model nor a run needs these, and --version and --help not those either.
FOR_FEW = {
    *("scipy", "trimesh", "PIL", "yaml", "viser", "matplotlib", "moderngl", "mujoco", "pinocchio"),
    *("asyncio", "http", "email", "multiprocessing", "importlib.metadata"),
    *("subprocess", "xml.etree.ElementTree", "pyexpat", "numpy.random", "tomllib", "csv"),
    *("hrp_model.readers.urdf", "hrp_sim.world.projects.choreonoid", "hrp_model.collision.hull"),
}
FOR_MODELS = {"numpy", "rich", "json", "inspect", "dataclasses", "logging", "hashlib", "socket"}
ARM = str(MODELS / "arm" / "arm.body")
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
    assert imported & (FOR_FEW | FOR_MODELS) == set()
    assert len(imported) < 70


@pytest.mark.parametrize(
    ("words", "not_needed", "most"),
    [
        (("hrp-model", "check", ARM), FOR_FEW | {"rich", "hashlib"}, 215),
        (("hrp-sim", "run", "arm", "--duration", "0.01"), FOR_FEW | {"rich", "statistics"}, 345),
    ],
)
def test_short_commands_import_what_they_need(words, not_needed, most, interpreter):
    imported = modules(COMMAND, *words) - interpreter
    assert imported & not_needed == set()
    assert len(imported) < most


@pytest.mark.parametrize("package", ["hrp_model", "hrp_sim"])
def test_public_names_are_listed_before_they_are_imported(package):
    code = f"import {package} as p; print(set(p.__all__) - set(dir(p)))"
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert listed.stdout.strip() == "set()"
