"""What the page on kinematics promises."""

from paths import ROOT

from hrp_model.kinematics import BodyState, JointPath

PAGE = (ROOT / "docs" / "kinematics.md").read_text(encoding="utf-8")


def test_it_names_every_function():
    for kind in (BodyState, JointPath):
        functions = [
            name for name in vars(kind) if name.startswith(("calc_", "num_", "joint", "link"))
        ]
        assert len(functions) >= 4
        assert [name for name in functions if f"`{name}" not in PAGE] == []
