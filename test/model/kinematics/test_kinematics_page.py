"""What the page on kinematics promises."""

import re

import numpy as np
from paths import ROOT

from hrp_model.kinematics import BodyState, JointPath

PAGE = (ROOT / "docs" / "kinematics.md").read_text(encoding="utf-8")


def test_its_examples_run(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    names = {}
    exec(compile(code, "docs/kinematics.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "out of reach" not in printed
    assert "RLEG_KNEE" in printed
    assert names["J"].shape == (6, 6)
    assert names["reach"].shape == (1000, 3)
    np.testing.assert_allclose(names["force"][2], names["state"].total_mass * 9.80665)


def test_it_names_every_function():
    for kind in (BodyState, JointPath):
        functions = [
            name for name in vars(kind) if name.startswith(("calc_", "num_", "joint", "link"))
        ]
        assert len(functions) >= 4
        assert [name for name in functions if f"`{name}" not in PAGE] == []
