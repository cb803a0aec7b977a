"""The humanoid is written in both notations: it must be one robot."""

from dataclasses import fields

import numpy as np
import pytest
from paths import MODELS

from hrp_model import Pose, load_body
from hrp_model.geometry import Box

EXACT = 1e-12
# What each file says in its own words. VRML names a shape only to use it again.
NOTATION = {"info", "at", "Shape.name"}


@pytest.fixture(scope="module")
def vrml():
    return load_body(MODELS / "humanoid" / "humanoid.wrl")


@pytest.fixture(scope="module")
def choreonoid():
    return load_body(MODELS / "humanoid" / "humanoid.body")


def assert_equal(a, b, what):
    """Compare two values of any kind that a Body holds, numbers to 1e-12."""
    assert type(a) is type(b), what
    if isinstance(a, Pose):
        assert_equal(a.matrix(), b.matrix(), what)
    elif isinstance(a, float | np.ndarray):
        np.testing.assert_allclose(a, b, rtol=EXACT, atol=EXACT, err_msg=what)
    elif isinstance(a, tuple):
        assert len(a) == len(b), what
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_equal(x, y, f"{what}[{i}]")
    elif hasattr(a, "__dataclass_fields__"):
        for name in (f.name for f in fields(a)):
            if not NOTATION & {name, f"{type(a).__name__}.{name}"}:
                assert_equal(getattr(a, name), getattr(b, name), f"{what}.{name}")
    else:
        assert a == b, what


def test_the_bodies_have_the_same_name_and_links(vrml, choreonoid):
    assert vrml.name == choreonoid.name == "Humanoid"
    assert [x.name for x in vrml.links] == [x.name for x in choreonoid.links]
    assert [x.parent for x in vrml.links] == [x.parent for x in choreonoid.links]
    assert len(vrml.moving_links) == 21


def test_every_link_is_the_same(vrml, choreonoid):
    for a, b in zip(vrml.links, choreonoid.links, strict=True):
        assert_equal(a, b, a.name)


def test_every_device_is_the_same(vrml, choreonoid):
    assert [x.name for x in vrml.devices] == [x.name for x in choreonoid.devices]
    for a, b in zip(vrml.devices, choreonoid.devices, strict=True):
        assert_equal(a, b, a.name)


def test_the_same_links_may_touch(vrml, choreonoid):
    assert vrml.self_collision_disabled == choreonoid.self_collision_disabled
    assert vrml.extra_joints == choreonoid.extra_joints == ()


def test_a_difference_in_the_thirteenth_place_counts_as_none_but_not_in_the_eleventh():
    assert_equal(Box(np.ones(3)), Box(np.ones(3) + 1e-13), "box")
    with pytest.raises(AssertionError, match=r"box\.size"):
        assert_equal(Box(np.ones(3)), Box(np.ones(3) + 1e-11), "box")
