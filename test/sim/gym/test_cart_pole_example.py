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


def test_returns_improve_and_equal_seeds_give_equal_results(cart_pole, capsys):
    _, curve = cart_pole.learn(InlineExecutor(), seed=3, generations=3)
    _, curve_again = cart_pole.learn(InlineExecutor(), seed=3, generations=2)
    means = [mean for mean, _ in curve]
    assert means == sorted(means)
    assert means[-1] > 2.0 * means[0]
    assert curve_again == curve[:2]  # the second generation comes from the best of the first
    assert capsys.readouterr().out.count("generation") == 5


def test_processes_print_what_one_process_prints(cart_pole, capsys):
    policy, _ = cart_pole.learn(InlineExecutor(), seed=5, generations=1)
    lines = capsys.readouterr().out
    command = [sys.executable, EXAMPLE, "--seed", "5", "--generations", "1", "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.startswith(lines)
    assert str(policy.round(2).tolist()) in done.stdout


def test_a_pole_that_nobody_balances_falls(cart_pole):
    env = cart_pole.make_env()
    lengths = [cart_pole.episode(env, np.zeros(4), seed) for seed in range(5)]
    env.close()
    assert max(lengths) < 100
