"""What the page on kinematics promises."""

import re

import numpy as np
from paths import ROOT

from hrp_model.kinematics import BodyState, JointPath

PAGE = (ROOT / "docs" / "kinematics.md").read_text(encoding="utf-8")


def test_its_example_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(compile(code, "docs/kinematics.md", "exec"), names)
    assert "out of reach" not in capsys.readouterr().out
    assert names["J"].shape == (6, 6)
    assert names["reach"].shape == (1000, 3)
    np.testing.assert_allclose(names["force"][2], names["state"].total_mass * 9.80665)


def test_it_names_every_function():
    for kind in (BodyState, JointPath):
        functions = [name for name in vars(kind) if name.startswith(("calc_", "num_", "joint"))]
        assert len(functions) >= 4
        assert [name for name in functions if f"`{name}" not in PAGE] == []
