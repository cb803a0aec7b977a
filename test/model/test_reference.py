"""Published robots, read and computed as an independent system does: the honest table.

A model is in the table with what differs and why; everything else has to agree, lengths,
angles and masses to 1e-9, dynamics to 1e-8, single-precision meshes and colours to 1e-6.
"""

from dataclasses import dataclass
from math import inf

import pytest
import reference_data
from paths import SHARED, needs_shared
from reference_compare import compare
from reference_dynamics import check_dynamics

from hrp_model import load_body
from hrp_model.diagnostics import Severity


@dataclass(frozen=True)
class Deviation:
    """Leaves where we differ from the reference on purpose, and how.

    Attributes:
        leaves: Their paths.
        ours, theirs: Every number of those leaves, in the Body and in the reference.
        why: The line of the reference's README, "Where we deliberately differ".
    """

    leaves: tuple[str, ...]
    ours: float
    theirs: float
    why: str


def unlimited(*leaves):
    return Deviation(leaves, inf, -1.0, "limits of -1 taken literally | negative = unlimited")


@dataclass(frozen=True)
class Model:
    """A row of the table: the reference's file, the warnings to expect, the deviations."""

    file: str
    warnings: tuple[str, ...] = ()
    deviations: tuple[Deviation, ...] = ()

    def __str__(self):
        return self.file


TABLE = (
    Model(
        "openhrp3/sample1.json",
        deviations=(
            unlimited(
                "devices.gyrometer.w_max",
                "devices.lhsensor.F_max",
                "devices.rhsensor.F_max",
                "devices.lfsensor.F_max",
                "devices.rfsensor.F_max",
            ),
        ),
    ),
    Model("openhrp3/PA10__pa10.main.json"),
    Model("choreonoid/SR1__SR1.json"),
    Model("choreonoid/GR001__GR001.json", warnings=("trailing-text",)),
    Model("choreonoid/PA10__PA10.json"),
    Model("choreonoid/misc__floor.json"),
)

MODEL_FILES = {row["file"]: row["model_file"] for row in reference_data.index()}


@needs_shared
@pytest.mark.parametrize("model", TABLE, ids=str)
def test_a_published_model_agrees_with_the_reference(model, diagnostics):
    body = load_body(SHARED / MODEL_FILES[model.file], diagnostics)
    diagnostics.found[:] = [d for d in diagnostics.found if d.severity is not Severity.NOTE]
    for code in model.warnings:
        diagnostics.take(code)
    reference = reference_data.load(model.file)
    found = {d.path: d for d in compare(body, reference).differences}
    for deviation in model.deviations:
        for leaf in deviation.leaves:
            difference = found.pop(leaf, None)
            assert difference, f"{leaf} agrees by now: {deviation.why}"
            assert set(difference.ours) == {deviation.ours}, leaf
            assert set(difference.theirs) == {deviation.theirs}, leaf
    assert not found, "\n".join(map(str, found.values()))
    check_dynamics(body, reference)
