"""Named poses of world files: every key, and every mistake with its place."""

from math import pi

import numpy as np
import pytest

from hrp_model import Diagnostics, ModelError
from hrp_model.rigid import axis_angle_matrix, rpy_matrix
from hrp_sim.world.load import load_world_text

POSES = """\
bodies: []
named_poses:
  - name: dock
    position: [ 2, 0.5, 0.3 ]
    rpy: [ 0, 0, 1.5 ]
    description: at the charger
    tags: [ spawn, parking ]
    bounds: { lower: [ -1, -2, 0 ], upper: [ 1, 2, 3 ] }
  - { name: far, rotation: [ 0, 0, 2, 0.5 ] }
"""


def test_all_keys_are_read(diagnostics):
    dock, far = load_world_text(POSES, diagnostics).named_poses
    assert (dock.name, dock.description) == ("dock", "at the charger")
    assert dock.tags == ("spawn", "parking")
    np.testing.assert_array_equal(dock.X_WP.p, [2.0, 0.5, 0.3])
    np.testing.assert_allclose(dock.X_WP.R, rpy_matrix(0.0, 0.0, 1.5))
    np.testing.assert_array_equal(dock.bounds, [[-1.0, -2.0, 0.0], [1.0, 2.0, 3.0]])
    assert (far.description, far.tags, far.bounds) == ("", (), None)
    np.testing.assert_allclose(far.X_WP.R, axis_angle_matrix(np.array([0.0, 0.0, 1.0]), 0.5))


def test_degrees_are_suspected(diagnostics):
    load_world_text("bodies: []\nnamed_poses: [ { name: a, rpy: [ 0, 0, 90 ] } ]", diagnostics)
    warning = diagnostics.take("maybe-degrees")
    assert f"{pi / 2:.5g} rad" in warning.message


@pytest.mark.parametrize(
    ("pose", "problem"),
    [
        ("dock", "3:5: wrong-type: a named pose must be a mapping with 'name' and further keys"),
        ("{ rpy: [ 0, 0, 1 ] }", "3:5: missing-name: a named pose needs a name"),
        ("{ name: a }\n  - { name: a }", "4:13: duplicate-name: two poses are named 'a'"),
        ("{ name: a, position: [ 1, 2 ] }", "wrong-count: 3 numbers are needed here, not 2"),
        ("{ name: a, position: [ 1, 2, 1e7 ] }", "out-of-range: the position must be within 1e+06"),
        ("{ name: a, rpy: [ 0, 0, 1 ], rotation: [ 0, 0, 1, 1 ] }", "two-rotations"),
        ("{ name: a, rotation: [ 0, 0, 0, 1 ] }", "zero-axis"),
        ("{ name: a, tags: [ [ spawn ] ] }", "wrong-type: a tag must be a text"),
        ("{ name: a, bounds: { upper: [ 1, 1, 1 ] } }", "bad-bounds: bounds need 'lower' and"),
        ("{ name: a, bounds: { lower: [ 0, 2, 0 ], upper: [ 1, 1, 1 ] } }", "bad-bounds"),
    ],
)
def test_mistakes_are_errors_with_their_places(pose, problem):
    with pytest.raises(ModelError) as caught:
        load_world_text(f"bodies: []\nnamed_poses:\n  - {pose}\n", Diagnostics.silent())
    (found,) = caught.value.diagnostics
    assert problem in f"{str(found.at).removeprefix('text:')}: {found.code}: {found.message}"


def test_an_unknown_key_is_a_warning(diagnostics):
    load_world_text("bodies: []\nnamed_poses: [ { name: a, positoin: [ 0, 0, 0 ] } ]", diagnostics)
    warning = diagnostics.take("unknown-key")
    assert "Did you mean 'position'?" in warning.message
