"""The same robot in several notations is the same Body.

A pair says how far its halves agree; whatever it does not mention has to agree. What it
says to differ has to differ, so that the table stays true. HRP-4C and Tank are not here:
only one of their two notations is at hand, of Tank an older robot of another mass.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pytest
from each_case import all_cases
from paths import SHARED

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics
from hrp_model.kinematics import BodyState
from hrp_model.shapes.measure import bounding_box
from hrp_model.shapes.tessellate import shape_mesh

EXACT = 1e-9


@dataclass(frozen=True)
class Pair:
    """Two files of one robot.

    Attributes:
        first, second: The files.
        links: How many links they share.
        position: Largest distance of a shared link's two places, in [m].
        orientation: Largest difference of two entries of its rotation matrices.
        renamed: Links of the first that have another name in the second.
        rounded: Properties that agree only so far.
        differs: Properties that do not agree, and why.
        devices: Names of devices that both have.
    """

    first: str
    second: str
    links: int
    position: float = EXACT
    orientation: float = EXACT
    renamed: Mapping[str, str] = field(default_factory=dict)
    rounded: Mapping[str, float] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()

    def __str__(self):
        return f"{self.first} = {self.second}"


_OLD = "fkanehiro__choreonoid/"
_NEW = "choreonoid__choreonoid/share/model/"
_HRP = "fkanehiro__openhrp3/sample/model/"
_SR1_SENSORS = (
    "WaistAccelSensor",
    "WaistGyro",
    "LeftAnkleForceSensor",
    "RightAnkleForceSensor",
)

PAIRS = (
    Pair(
        f"{_OLD}share/model/SR1/SR1.wrl",
        f"{_NEW}SR1/SR1.body",
        30,
        differs={
            "position range": "the .wrl has none",
            "extent": "the .wrl has its cameras, and their shapes, look 30 degrees down",
        },
        devices=_SR1_SENSORS,
    ),
    Pair(
        f"{_OLD}share/model/SR1/SR1.yaml",
        f"{_NEW}SR1/SR1.body",
        30,
        differs={"position range": "as above", "extent": "as above"},
        devices=_SR1_SENSORS,
    ),
    Pair(
        f"{_HRP}sample1.wrl",
        f"{_NEW}SR1/SR1.body",
        30,
        position=0.01 + EXACT,  # the height of the root at the start
        differs={
            "position range": "the arms' and the waist's are others",
            "velocity range": "the .body has none",
            "rotor inertia": "only the .wrl has motors",
            "mass": "shared out otherwise within the arms",
            "centre of mass": "likewise",
            "inertia": "likewise",
            "extent": "other hands and cameras",
        },
    ),
    Pair(
        f"{_OLD}share/model/GR001/GR001.wrl",
        f"{_NEW}GR001/GR001.body",
        21,
        rounded={"position range": 1e-3},
        differs={"rotor inertia": "only the .wrl has motors"},
    ),
    Pair(
        f"{_OLD}share/model/PA10/PA10.wrl",
        f"{_NEW}PA10/PA10.body",
        10,
        rounded={"position range": 1e-8},
    ),
    Pair(
        f"{_HRP}PA10/pa10.main.wrl",
        f"{_NEW}PA10/PA10.body",
        10,
        differs={
            "position range": "the fingers' only",
            "velocity range": "the .wrl has none",
            "inertia": "the fingers' only",
        },
    ),
    *(
        Pair(
            file,
            f"{_NEW}misc/ClosedLinkSample.body",
            4,
            position=3.8e-5,  # its angles are written to four digits
            orientation=2.1e-4,
            rounded={"extent": 1e-3},
        )
        for file in (
            f"{_OLD}share/model/misc/ClosedLinkSample.wrl",
            f"{_HRP}closed-link-sample.wrl",
        )
    ),
    Pair(f"{_OLD}share/model/misc/crawler.wrl", f"{_NEW}misc/crawler.body", 3),
    Pair(
        f"{_HRP}crawler.wrl",
        f"{_NEW}misc/crawler.body",
        3,
        differs={"extent": "another superstructure"},
    ),
    Pair(
        f"{_OLD}share/model/misc/conveyor.wrl",
        f"{_NEW}misc/conveyor.body",
        2,
        renamed={"BELT": "TRACK"},
        differs={"axis": "the belt runs the other way"},
    ),
    Pair(
        f"{_OLD}share/model/misc/box1.wrl",
        f"{_NEW}misc/box1.body",
        1,
        renamed={"WAIST": "box"},
    ),
    Pair(f"{_OLD}share/model/misc/slope.wrl", f"{_NEW}misc/slope.body", 1),
    Pair(f"{_OLD}share/model/misc/ellipsoid1.wrl", f"{_NEW}misc/ellipsoid1.body", 1),
    Pair(f"{_OLD}sample/SpringModel/SpringModel.wrl", f"{_NEW}misc/SpringModel.body", 2),
)


@lru_cache(maxsize=4)
def body_of(file):
    path = SHARED / "models" / file
    if not path.is_file():
        pytest.skip(f"'{file}' is not beside this checkout")
    return load_body(path, Diagnostics.silent())


def shared_links(pair):
    """Return the links that both bodies of a pair have, the first one's and the second's."""
    first, second = body_of(pair.first), body_of(pair.second)
    others = {link.name: link for link in second.links}
    names = [(link, pair.renamed.get(link.name, link.name)) for link in first.links]
    return [(link, others[name]) for link, name in names if name in others]


def poses_of(body, names, q):
    """Return p and R of links, with joints by link name at the positions ``q``."""
    state = BodyState(body)
    state.q[:] = [q.get(link.name, 0.0) for link in body.moving_links]
    state.calc_forward_kinematics()
    rows = [body.link_index(name) for name in names]
    return state.p[rows], state.R[rows]


def extent(link):
    boxes = [bounding_box(shape_mesh(shape)) for shape in link.visual]
    boxes = [box for box in boxes if box is not None]
    if not boxes:
        return np.empty((2, 0))
    lower, upper = zip(*boxes, strict=True)
    return np.array([np.min(lower, axis=0), np.max(upper, axis=0)])


PROPERTIES = {
    "joint id": lambda link: [-1 if link.joint.id is None else link.joint.id],
    "axis": lambda link: link.joint.axis,
    "initial position": lambda link: [link.joint.initial],
    "position range": lambda link: link.joint.position,
    "velocity range": lambda link: link.joint.velocity,
    "effort range": lambda link: link.joint.effort,
    "rotor inertia": lambda link: [link.joint.equivalent_rotor_inertia],
    "mass": lambda link: [link.mass],
    "centre of mass": lambda link: link.center_of_mass,
    "inertia": lambda link: link.inertia,
    "extent": extent,
}


def distance(a, b):
    """Return the largest difference; equal infinities do not differ."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, np.abs(a - b)).max(initial=0.0)


@all_cases("pair", PAIRS)
def test_the_links_are_the_same(pair):
    links = shared_links(pair)
    assert len(links) == len(body_of(pair.first).links) == len(body_of(pair.second).links)
    assert len(links) == pair.links
    for a, b in links:
        assert a.joint.type is b.joint.type, a.name
        assert pair.renamed.get(a.parent, a.parent) == b.parent
    for name, value in PROPERTIES.items():
        worst = max(distance(value(a), value(b)) for a, b in links)
        tolerance = pair.rounded.get(name, 1e-6 if name == "extent" else EXACT)
        assert (worst > tolerance) == (name in pair.differs), f"{name}: {worst:g}"
    masses = (body_of(file).total_mass for file in (pair.first, pair.second))
    np.testing.assert_allclose(*masses, rtol=0.0, atol=EXACT)


@all_cases("pair", PAIRS)
def test_the_links_are_in_the_same_places_in_any_posture(pair):
    rng = np.random.default_rng(2)
    names = [(a.name, b.name) for a, b in shared_links(pair)]
    firsts, seconds = zip(*names, strict=True)
    for amplitude in (0.0, 1.0, 1.0, 1.0):
        q = amplitude * rng.uniform(-1.0, 1.0, len(names))
        p, R = poses_of(body_of(pair.first), firsts, dict(zip(firsts, q, strict=True)))
        p_, R_ = poses_of(body_of(pair.second), seconds, dict(zip(seconds, q, strict=True)))
        np.testing.assert_allclose(p, p_, rtol=0.0, atol=pair.position)
        np.testing.assert_allclose(R, R_, rtol=0.0, atol=pair.orientation)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.devices], ids=str)
def test_the_devices_are_the_same(pair):
    bodies = [body_of(pair.first), body_of(pair.second)]
    for name in pair.devices:
        a, b = (next(d for d in body.devices if d.name == name) for body in bodies)
        assert (type(a), a.id, a.link) == (type(b), b.id, b.link)
        np.testing.assert_allclose(a.X_LS.p, b.X_LS.p, rtol=0.0, atol=EXACT)
        np.testing.assert_allclose(a.X_LS.R, b.X_LS.R, rtol=0.0, atol=EXACT)


@pytest.mark.parametrize(
    ("file", "type_name"),
    [
        (f"{_HRP}closed-link-sample.wrl", "xy"),
        (f"{_OLD}share/model/misc/ClosedLinkSample.wrl", "piston"),
        (f"{_NEW}misc/ClosedLinkSample.body", "hinge"),
    ],
)
def test_a_loop_is_closed_in_the_same_place_by_three_kinds_of_joint(file, type_name):
    (loop,) = body_of(file).extra_joints
    assert (loop.type.value, loop.links) == (type_name, ("J1", "J3"))
    np.testing.assert_allclose(loop.X_AJ.p, [0.2, 0.0, 0.0], rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(loop.X_BJ.p, [0.0, 0.1, 0.0], rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(loop.axis, [0.0, 0.0, 1.0], rtol=0.0, atol=EXACT)
