"""The example learns."""

import importlib.util

import numpy as np
import pytest
from paths import ROOT

from hrp_sim import InlineExecutor

pytest.importorskip("gymnasium")


@pytest.fixture(scope="module")
def cart_pole():
    spec = importlib.util.spec_from_file_location("cart_pole", ROOT / "examples/gym/cart_pole.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_returns_improve_and_equal_seeds_give_equal_results(cart_pole, capsys, monkeypatch):
    monkeypatch.setattr(cart_pole, "POLICIES", 20)
    _, curve = cart_pole.learn(InlineExecutor(), seed=3, generations=3)
    means = [mean for mean, _ in curve]
    assert means[-1] > 1.5 * means[0]
    assert cart_pole.learn(InlineExecutor(), seed=3, generations=1)[1] == curve[:1]
    assert capsys.readouterr().out.count("generation") == 4


def test_a_pole_that_nobody_balances_falls(cart_pole):
    env = cart_pole.make_env()
    lengths = [cart_pole.episode(env, np.zeros(4), seed) for seed in range(5)]
    env.close()
    assert max(lengths) < 100
