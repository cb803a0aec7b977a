"""Published robots, read and computed as an independent system does.

Lengths, angles and masses have to agree to 1e-9, dynamics to 1e-8, single-precision meshes
and colours to 1e-6. ``reference_deviations`` lists all that differs, and why.
"""

import numpy as np
import pytest
import reference_data
from each_case import check_each, some_or_all
from model.reference_deviations import (
    DEVIATIONS,
    NO_DYNAMICS,
)
from paths import needs_shared
from reference_compare import compare
from reference_dynamics import check_dynamics

from hrp_model import load_body
from hrp_model.body import ExtraJointType, JointType
from hrp_model.diagnostics import Diagnostics
from hrp_model.kinematics import BodyState

FILES = reference_data.model_files()
# What the reference refuses to load.
REFUSED = {
    "openhrp3/closed-link-sample.json",
    "openhrp3/crawler.json",
    "quirks/v08_inline_child.wrl.json",
}


def read(file):
    """Return a model's body, which must be read without an error."""
    diagnostics = Diagnostics.silent()
    body = load_body(FILES[file], diagnostics)
    assert not diagnostics.has_errors, diagnostics.found
    return body


def report(differences):
    return "\n".join(str(difference)[:300] for difference in differences[:10])


@needs_shared
@some_or_all("files", sorted(FILES.keys() - REFUSED), 20)
def test_a_published_model_agrees_with_the_reference(files):
    check_each(files, check_file)


def check_file(file):
    body, reference = read(file), reference_data.load(file)
    found = compare(body, reference).differences
    for deviation in DEVIATIONS.get(file, ()):
        explained = [difference for difference in found if deviation.explains(difference)]
        assert explained, f"{deviation.leaves} agrees, or in another way:\n{report(found)}"
        found = [difference for difference in found if difference not in explained]
    assert not found, report(found)
    if file not in NO_DYNAMICS:
        check_dynamics(body, reference)


@needs_shared
def test_every_deviation_is_of_a_model_that_there_is():
    assert DEVIATIONS.keys() <= FILES.keys()
    assert not any(reference_data.load(file)["loaded"] for file in REFUSED)


@needs_shared
@pytest.mark.parametrize("file", sorted(NO_DYNAMICS))
def test_an_axis_of_any_length_turns_as_a_unit_vector_does(file):
    """In the reference it deforms the link; at q = 0 only its mass matrix tells."""
    reference, body = reference_data.load(file), read(file)
    scale = np.ones(7 - 6 * body.is_root_fixed)
    scale[-1] = np.linalg.norm(reference["links"][1]["axis"])
    theirs = np.array(reference["poses"][0]["mass_matrix"])
    assert reference["poses"][0]["q_by_link_index"] == [0, 0]
    M = BodyState(body).calc_mass_matrix()
    np.testing.assert_allclose(M * np.outer(scale, scale), theirs, rtol=0.0, atol=1e-9)


@needs_shared
def test_a_crawler_that_the_reference_refuses_has_tracks():
    body = read("openhrp3/crawler.json")
    types = [link.joint.type for link in body.links]
    assert types == [JointType.FREE, JointType.TRACK, JointType.TRACK]


@needs_shared
def test_a_loop_that_the_reference_refuses_is_closed():
    (loop,) = read("openhrp3/closed-link-sample.json").extra_joints
    assert (loop.type, loop.links) == (ExtraJointType.XY, ("J1", "J3"))
    assert loop.axis.tolist() == [0.0, 0.0, 1.0]
    assert (loop.X_AJ.p.tolist(), loop.X_BJ.p.tolist()) == ([0.2, 0.0, 0.0], [0.0, 0.1, 0.0])


@needs_shared
def test_a_scene_that_the_reference_refuses_is_one_fixed_link():
    assert read("quirks/v08_inline_child.wrl.json").is_static
