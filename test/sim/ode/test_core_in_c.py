"""The C core by itself, without Python: a program beside its sources, see core_tests.c."""

import shutil
import subprocess
from pathlib import Path

import pytest
from paths import ROOT

CORE = ROOT / "hrp_sim" / "engine" / "ode" / "core"
OF_PYTHON = ("module.c", "module_bodies.c", "object.c", "arrays.c")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("core") / "core_tests"
    sources = [p for p in sorted(CORE.glob("*.c")) if p.name not in OF_PYTHON]
    flags = ["-std=c11", "-O0", "-Wall", "-Wextra", f"-I{CORE}", "-o", made]
    tests = Path(__file__).with_name("core_tests.c")
    command = [compiler, *flags, tests, *sources, "-lode", "-lm", "-lpthread"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    return made


NAMES = ["rows", "factor", "line_search", "patch", "friction", "contact_set", "sweep", "tree"]


@pytest.mark.parametrize("name", NAMES)
def test_it_does_what_plain_methods_do(program, name):
    run = subprocess.run([program, name], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout[:2000]) == (0, "")


def test_files_call_each_other_in_one_direction():
    """A source includes the headers of the functions that it calls."""
    called = {}
    for path in CORE.glob("*.c"):
        lines = path.read_text(encoding="utf-8").splitlines()
        headers = {x.split('"')[1].removesuffix(".h") for x in lines if x.startswith('#include "')}
        called[path.stem] = headers - {path.stem}
    while leaves := {name for name, others in called.items() if not others & called.keys()}:
        called = {name: others for name, others in called.items() if name not in leaves}
    assert not called
