"""The example learns, and equal seeds give equal results on any executor."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from paths import ROOT

from hrp_sim import InlineExecutor

pytest.importorskip("gymnasium")

EXAMPLE = ROOT / "examples" / "gym" / "cart_pole.py"


@pytest.fixture(scope="module")
def cart_pole():
    spec = importlib.util.spec_from_file_location("cart_pole", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_returns_improve_and_processes_print_what_one_process_prints(cart_pole, capsys):
    _, curve = cart_pole.learn(InlineExecutor(), seed=3, generations=2)
    (first, _), (second, _) = curve
    assert second > 1.2 * first
    lines = capsys.readouterr().out.splitlines()
    command = [sys.executable, EXAMPLE, "--seed", "3", "--generations", "1", "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines()[0] == lines[0]


def test_a_pole_that_nobody_balances_falls(cart_pole):
    env = cart_pole.make_env()
    lengths = [cart_pole.episode(env, np.zeros(4), seed) for seed in range(5)]
    env.close()
    assert max(lengths) < 100
