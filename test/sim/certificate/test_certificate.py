"""A certificate says equal of what is right, and names the place or the cause of what is not."""

import random
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from each_case import mostly_slow
from paths import MODELS, SHARED, needs_shared
from sim.certificate.certified import certified_after, rows_of
from sim.physics.scenes import FIXED, FREE, PRISMATIC, REVOLUTE, X, Y, Z, at, child, root
from verify_samples import crane, main_models, silent

from hrp_model import load_body
from hrp_model.body import Body, Mimic, Range
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.verify import Outcome, Report
from hrp_model.verify.report import Differences
from hrp_sim.lab.certificate import LIBRARIES, Certificate, certify
from hrp_sim.lab.certificate.engine_rows import ENGINE

for _module in ("pinocchio", "mujoco"):
    pytest.importorskip(_module, reason=f"{_module} reads URDFs independently of us")

ALL = (ENGINE, *LIBRARIES)
OURS = "arm/arm.body", "humanoid/humanoid.wrl", "rover/rover.body"
EQUAL = "equal in ODE, pinocchio and MuJoCo"
BOOM, JOINT = "link[@name='BOOM']/inertial", "joint[@name='BOOM_JOINT']"
PUBLISHED = main_models()
SAMPLED = random.Random(4).sample(PUBLISHED, min(5, len(PUBLISHED)))


@pytest.mark.parametrize("model", mostly_slow(OURS, 1))
def test_our_own_robots_are_equal(model):
    certificate = certify(load_body(MODELS / model, silent()), states=10)
    assert certificate.verdict == EQUAL
    assert certificate.is_equal
    assert certificate.engines == ALL
    assert certificate.causes == ()


def test_what_was_compared_is_in_the_rows():
    rows = rows_of(certify(crane(), states=5), ENGINE)
    compared = {name for name, row in rows.items() if row.outcome is Outcome.PASSED}
    assert compared == {"accelerations", "gravity torques", "momentum", "free motion of 1 s"}
    assert rows["accelerations"].count == 5 * (6 + 3)
    assert rows["accelerations"].tolerance == 1e-6
    assert "times that of half the step" in rows["free motion of 1 s"].reason


def scaled(path, attribute, factor):
    """Return a change of a number of the URDF."""

    def change(robot):
        element = robot.find(path)
        element.set(attribute, repr(float(element.get(attribute)) * factor))

    return change


def setting(path, attribute, value):
    return lambda robot: robot.find(path).set(attribute, value)


def flip_axis(robot):
    axis = robot.find(f"{JOINT}/axis")
    axis.set("xyz", " ".join(repr(-float(x)) for x in axis.get("xyz").split()))


INERTIALS = "mass and inertia of links"


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (scaled(f"{BOOM}/mass", "value", 1.01), f"{INERTIALS}: mass of link 'BOOM'"),
        (setting(f"{BOOM}/origin", "rpy", "0.1 0 0"), f"{INERTIALS}: inertia of link 'BOOM'"),
        (flip_axis, "poses of links: 'BOOM' at posture random 1"),
        (scaled(f"{JOINT}/dynamics", "damping", 1.01), "damping of joint 'BOOM_JOINT'"),
        (setting(f"{JOINT}/origin", "xyz", "0 0 0"), "poses of links: 'BOOM' at posture zero"),
    ],
    ids=["mass", "inertia", "axis", "damping", "origin"],
)
def test_a_falsified_urdf_is_unequal_at_the_right_place(change, cause, tmp_path):
    certificate = certified_after(change, crane(), tmp_path)
    assert not certificate.is_equal
    assert certificate.verdict.startswith("unequal: ")
    assert any(cause in text for text in certificate.causes), certificate.causes
    assert len(certificate.causes) <= 2, certificate.causes
    for library in LIBRARIES:
        assert rows_of(certificate, library)["accelerations"].outcome is Outcome.FAILED
    assert rows_of(certificate, ENGINE)["accelerations"].outcome is Outcome.PASSED


def test_the_model_itself_is_compared_with_the_engine(monkeypatch):
    """Not only the URDF: a mass that the engine gets wrong by 1e-4 is found."""
    from hrp_sim.lab.certificate import engine_rows

    body = crane()

    def heavier(simulated):
        links = (
            replace(x, mass=x.mass * 1.0001) if x.name == "TROLLEY" else x for x in simulated.links
        )
        return replace(simulated, links=tuple(links))

    original = engine_rows.accelerations
    monkeypatch.setattr(engine_rows, "accelerations", lambda b, *rest: original(heavier(b), *rest))
    certificate = certify(body, states=5)
    assert not certificate.is_equal
    row = rows_of(certificate, ENGINE)["accelerations"]
    assert row.outcome is Outcome.FAILED
    assert 1e-6 < row.difference < 1e-3


def robot(*links, name="robot"):
    return Body(name=name, links=links)


def test_links_that_float_are_bodies_of_their_own():
    body = robot(
        root(),
        child("ARM", "BASE", REVOLUTE, X),
        child("LOOSE", "BASE", FREE, X_PL=at(z=2.0)),
        child("FINGER", "LOOSE", PRISMATIC, Y),
    )
    certificate = certify(body, states=5)
    assert certificate.is_equal, certificate.verdict
    assert list(certificate.parts) == ["BASE", "LOOSE"]
    notes = {row.quantity: row.reason for row in certificate.parts["BASE"].rows_of("model")}
    assert notes["floating links"] == "'LOOSE': compared as bodies of their own"
    with pytest.raises(ValueError, match="in parts only"):
        certify(body, MODELS / "any.urdf")


def test_the_cause_is_the_first_place_whatever_it_is_called():
    differences = Differences("MuJoCo", INERTIALS, 1e-9)
    differences.add(0.1, "mass of link 'A; first beyond the tolerance: B'")
    differences.add(0.2, "mass of link 'C'")
    row = differences.row()
    assert row.where.startswith("mass of link 'C'; first beyond the tolerance: mass of link 'A")
    causes = Certificate({"ROOT": Report((row,))}).causes
    assert causes == (f"{INERTIALS}: mass of link 'A; first beyond the tolerance: B'",)


def test_replaced_masses_are_proven_to_be_the_cause():
    body = robot(
        root(),
        child("ARM", "BASE", REVOLUTE, X),
        child("TIP", "ARM", REVOLUTE, X, X_PL=at(z=-0.5), inertia=np.diag([0.0, 1e-3, 1e-3]),
              center_of_mass=np.array([0.0, 0.0, -0.05]), mass=0.02),
    )  # fmt: skip
    certificate = certify(body, states=5)
    assert not certificate.is_equal
    assert "moments of inertia of 'TIP'" in certificate.causes[0]
    assert "a model with these moves alike" in certificate.causes[0]


def test_a_joint_that_moves_nothing_has_no_acceleration():
    body = robot(root(), child("ARM", "BASE", REVOLUTE, X, mass=0.0, inertia=np.zeros((3, 3))))
    certificate = certify(body, states=5)
    assert not certificate.is_equal
    assert "link 'ARM' moves without positive, finite inertia" in certificate.verdict


def test_an_inertia_without_sign_or_size_is_the_cause():
    negative = robot(root(), child("ARM", "BASE", REVOLUTE, X, inertia=np.diag([-0.1, 0.1, 0.1])))
    assert "'ARM' moves without positive, finite inertia" in certify(negative, states=5).verdict
    huge = {"mass": 1e300, "inertia": np.eye(3) * 1e300}
    heavy = robot(root(free=True, **huge), child("ARM", "BASE", REVOLUTE, X, **huge))
    assert "its mass must be below 1e+15 kg" in certify(heavy, states=5).verdict


def test_loops_are_left_open_and_mimic_joints_free():
    leader, follower = child("LEADER", "BASE", REVOLUTE, X), child("FOLLOWER", "BASE", REVOLUTE, Y)
    mimic = replace(follower.joint, mimic=Mimic("LEADER", -1.0))
    body = robot(root(), leader, replace(follower, joint=mimic))
    press = load_body(MODELS / "press" / "press.body", silent())
    for model, left_out in ((press, "closed loops"), (body, "mimic joints")):
        certificate = certify(model, states=5)
        assert certificate.is_equal, certificate.verdict
        (report,) = certificate.parts.values()
        assert left_out in {row.quantity for row in report.rows_of("model")}


def test_a_body_in_which_nothing_moves_is_equal():
    certificate = certify(robot(root(), child("TOP", "BASE", FIXED)), states=5)
    assert certificate.is_equal
    assert certificate.is_still
    assert certificate.verdict == "equal, as nothing in the model moves"


SLOW = {"friction": 1.0, "velocity": Range(-1e-3, 1e-3)}
LOCKED = {"friction": 50.0, "damping": 2.0, "position": Range(0.5, 0.5)}


@pytest.mark.parametrize(
    "links",
    [
        # Friction that stops a joint in a millisecond, and a joint that is locked by its range.
        (
            root(),
            child("ARM", "BASE", REVOLUTE, X, **LOCKED),
            child("SLIDE", "ARM", PRISMATIC, Z, X_PL=at(z=-0.5), friction=20.0),
        ),
        (
            root(),
            child("ARM", "BASE", REVOLUTE, X, **SLOW),
            child("LIFT", "ARM", PRISMATIC, Y, X_PL=at(z=-0.5), **SLOW),
        ),
        # A fixed root with mass, which MuJoCo takes for its own world.
        (root("world"), child("ARM", "world", REVOLUTE, X, X_PL=at(z=0.5))),
    ],
    ids=["locked", "slow", "called world"],
)
def test_friction_limits_and_names_are_no_obstacle(links):
    assert certify(robot(*links), states=5).verdict == EQUAL


@pytest.mark.parametrize("damping", [10.0, 1e5])
def test_damping_that_stops_a_joint_at_once_is_compared_in_the_free_motion(damping):
    body = robot(root(), child("ARM", "BASE", REVOLUTE, X, damping=damping))
    certificate = certify(body, states=5)
    assert certificate.verdict == EQUAL
    rows = rows_of(certificate, ENGINE)
    assert "without the damping of 'ARM'" in rows["accelerations"].reason
    assert rows["free motion of 1 s"].outcome is Outcome.PASSED


@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
@pytest.mark.parametrize("limits", [(-1e6, 1e6), (2000.0, 2001.0), (-2001.0, -2000.0)])
def test_limits_far_from_zero_are_no_obstacle(kind, limits):
    joint = child("ARM", "BASE", kind, X, position=Range(*limits))
    certificate = certify(robot(root(), joint), states=5)
    assert {"pinocchio", "MuJoCo"} <= set(certificate.engines)
    if limits[1] == 1e6 or kind is REVOLUTE:
        assert certificate.verdict == EQUAL


def test_a_missing_library_is_named(monkeypatch):
    import hrp_model.verify as verify
    import hrp_sim.lab.certificate.certificate as module

    for owner in (verify, module):
        monkeypatch.setattr(owner, "is_installed", lambda library: library != "MuJoCo")
    certificate = certify(crane(), states=5)
    assert certificate.is_equal
    assert certificate.verdict == (
        "equal in ODE and pinocchio; without MuJoCo, not installed: pip install 'hrp_ros[verify]'"
    )
    monkeypatch.setattr(module, "is_installed", lambda _: False)
    with pytest.raises(MissingLibraryError, match="pip install 'hrp_ros"):
        certify(crane(), states=5)


def test_a_urdf_that_is_no_xml_is_unequal(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text("<robot")
    assert "not valid XML" in certify(crane(), path, states=5).verdict
    ElementTree.ElementTree(ElementTree.Element("robot", name="empty")).write(path)
    assert not certify(crane(), path, states=5).is_equal


@needs_shared
@pytest.mark.parametrize("model", mostly_slow(SAMPLED, 1))
def test_published_models_are_equal_or_have_a_cause(model):
    certificate = certify(load_body(SHARED / "models" / model, silent()), states=5)
    assert certificate.is_equal or certificate.causes
