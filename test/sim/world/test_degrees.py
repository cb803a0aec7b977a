"""Angles of a world file that somebody wrote in degrees."""

import pytest

from hrp_model import Diagnostics
from hrp_sim.world.load import load_world

MODEL = """\
format: ChoreonoidBody
format_version: 2.0
name: Arm
links:
  - { name: BASE, joint_type: fixed, mass: 1 }
  - { name: J1, parent: BASE, joint_type: revolute, joint_id: 0, joint_axis: Z, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1], joint_range: [ -100, 100 ] }
  - { name: J2, parent: J1, joint_type: prismatic, joint_id: 1, joint_axis: X, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1], joint_range: [ -1, 1 ] }
  - { name: J3, parent: J2, joint_type: revolute, joint_id: 2, joint_axis: Z, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1] }
"""


@pytest.fixture
def warnings(tmp_path):
    """Return the warnings about a body with these keys, as "line:column: message"."""
    (tmp_path / "arm.body").write_text(MODEL)
    path = tmp_path / "world.yaml"

    def read(keys):
        path.write_text(f"bodies:\n- model: arm.body\n  {keys}\n")
        diagnostics = Diagnostics.silent()
        load_world(path, diagnostics)
        assert {d.code for d in diagnostics.found} <= {"maybe-degrees"}
        return [f"{d.at}: {d.message}".removeprefix(f"{path}:") for d in diagnostics.found]

    return read


def test_a_position_that_fits_in_degrees_only_is_told_in_radians(warnings):
    assert warnings("joints: { J1: 90 }") == [
        "3:17: joint 'J1' at 90 rad is outside its limits, -1.745 to 1.745 rad; if degrees were "
        "meant: 90 degrees are 1.5708 rad"
    ]


@pytest.mark.parametrize(
    "joints",
    [
        "J1: 1.57",  # fits
        "J1: 1.8",  # a little too far; degrees would be 0.03 rad
        "J1: 120",  # in neither unit
        "J2: 30",  # [m]
        "J3: 90",  # turns without end
    ],
)
def test_other_positions_are_taken_as_they_are(warnings, joints):
    assert warnings(f"joints: {{ {joints} }}") == []


def test_rotations_of_several_turns_are_told_in_radians(warnings):
    assert warnings("rpy: [ 0, 0, -90 ]") == [
        "3:8: 'rpy' has -90 rad, which is 14.3 turns; if degrees were meant: -90 degrees are "
        "-1.5708 rad"
    ]
    assert "'rotation' has 45 rad" in warnings("rotation: [ 0, 0, 2, 45 ]")[0]
    assert warnings("rpy: [ 6.28, -3.14, 0 ]") == warnings("rotation: [ 0, 9, 0, 1 ]") == []
