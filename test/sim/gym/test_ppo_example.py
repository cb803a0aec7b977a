"""The example of PPO runs; how well it learns is measured, not tested."""

import importlib.util
import sys

import pytest
from paths import ROOT

pytest.importorskip("gymnasium")


@pytest.mark.slow
def test_it_learns_for_some_updates_and_plays_what_it_saved(monkeypatch, capsys, tmp_path):
    pytest.importorskip("skrl", reason="pip install 'hrp_ros[learn]'")
    spec = importlib.util.spec_from_file_location("ppo", ROOT / "examples/gym/ppo.py")
    ppo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ppo)
    monkeypatch.setattr(ppo, "EPISODES", 2)
    policy = str(tmp_path / "policy")
    started = ["ppo.py", "--env", "hrp_ros/CartPole-v0"]
    monkeypatch.setattr(sys, "argv", [*started, "--steps", "4096", "--save", policy])
    ppo.main()
    printed = capsys.readouterr().out
    assert "before: return" in printed
    after = printed[printed.index("after 4096 steps: return") :].split(": ", 1)[1]
    monkeypatch.setattr(sys, "argv", [*started, "--load", policy])
    ppo.main()
    assert after.strip() in capsys.readouterr().out
