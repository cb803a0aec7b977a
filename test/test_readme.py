"""What the README promises."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from paths import ROOT

import hrp_model.cli.main
import hrp_sim.cli.main

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
PHYSICS = re.findall(
    r"```python\n(.*?)```",
    (ROOT / "docs" / "physics.md").read_text(encoding="utf-8"),
    re.DOTALL,
)
COMMANDS = [
    line.partition("#")[0]
    for _, block in BLOCKS
    for line in block.splitlines()
    if line.startswith(("hrp-model", "hrp-sim"))
]


def test_the_python_of_the_page_about_physics_runs(monkeypatch, tmp_path):
    code, _ = PHYSICS
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, "physics.md", "exec"), names)
    assert names["sim"].state.time_ns == 300_000_000
    assert abs(names["pushed"] - names["quiet"]).max() > 1.0
    fell = 1.5 - names["sim"].bodies["block"].motion.p[0, 2]
    assert abs(fell - 9.80665 * 0.3**2 / 2) < 0.01


def test_the_processes_of_the_page_about_physics_run(tmp_path):
    _, code = PHYSICS
    (tmp_path / "models").symlink_to(ROOT / "models")
    (tmp_path / "pool.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "pool.py"], cwd=tmp_path, capture_output=True, check=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert json.loads(done.stdout) == pytest.approx([0.4, 0.6], abs=0.01)


def test_its_python_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    code, _ = [block for language, block in BLOCKS if language == "python"]
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert "LLEG_HIP_Y" in capsys.readouterr().out
    assert names["urdf"].startswith("<?xml")
    assert "joint_states" in names["readings"]


def test_its_sensors_measure_what_it_says(tmp_path, monkeypatch, capsys):
    pytest.importorskip("moderngl", reason="cameras need moderngl")
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    _, code = [block for language, block in BLOCKS if language == "python"]
    exec(compile(code, "README.md", "exec"), {})
    assert "(240, 320) (240, 320, 3)\n(16, 180, 3)" in capsys.readouterr().out
    assert (tmp_path / "color.png").stat().st_size > 0


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_are_understood(command):
    program, *arguments = shlex.split(command)
    parser = {"hrp-model": hrp_model.cli.main, "hrp-sim": hrp_sim.cli.main}[program]._parser()
    parser.parse_args(arguments)  # exits on what it does not understand


def test_its_files_exist():
    named = re.findall(r"(?:bash |[`(=])((?:scripts|models|docs)/[\w./-]+)", README)
    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).exists()] == []
