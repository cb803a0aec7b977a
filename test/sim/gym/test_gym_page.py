"""The tables of docs/gym.md are complete."""

import pytest
from paths import ROOT

pytest.importorskip("gymnasium")

from hrp_sim.lab.gym.observations import QUANTITIES

PAGE = (ROOT / "docs" / "gym.md").read_text(encoding="utf-8")


def test_every_quantity_is_described():
    assert [name for name in QUANTITIES if f"`{name}`" not in PAGE] == []
