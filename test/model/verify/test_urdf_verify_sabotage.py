"""Whatever is wrong in a URDF, its verification finds it and names it."""

import pytest
from urdf_tools import file_of
from verify_samples import crane, row, sabotaged, written

from hrp_model.verify import LIBRARIES, Outcome, verify

for _module in ("pinocchio", "mujoco"):
    pytest.importorskip(_module, reason=f"{_module} reads URDFs independently of us")

BOOM, JOINT = "link[@name='BOOM']", "joint[@name='BOOM_JOINT']"
WAGON, TOWER = "link[@name='WAGON']/collision", "link[@name='TOWER']/collision"
LASER, OPTICAL = "joint[@name='LASER_joint']", "joint[@name='EYE_optical_frame_joint']"
ALL, BUT_MUJOCO = ("pinocchio", "MuJoCo"), ("pinocchio",)


def change(inside, tag, attribute, new):
    """Return a sabotage that changes one attribute of the first ``tag`` in an element."""

    def sabotage(root):
        element = next((root.find(inside) if inside else root).iter(tag))
        element.set(attribute, new(element.get(attribute)))

    return sabotage


def nudge(inside, tag, attribute):
    """Return a sabotage that changes the first number of an attribute by very little."""

    def nudged(text):
        first, *rest = text.split()
        return " ".join([repr(float(first) * (1.0 + 1e-7) or 1e-7), *rest])

    return change(inside, tag, attribute, nudged)


def setting(inside, tag, attribute, value):
    return change(inside, tag, attribute, lambda _: value)


INERTIALS, DAMPING = "mass and inertia of links", "damping and friction"
DEVICES, TOUCH = "poses of device frames", "collision primitives"
NUDGES = [
    (nudge(JOINT, "origin", "xyz"), "poses of links", "'BOOM'", ALL),
    (nudge(JOINT, "origin", "rpy"), "poses of links", "'BOOM'", ALL),
    (nudge(JOINT, "axis", "xyz"), "poses of links", "BOOM", ("pinocchio",)),
    (nudge(BOOM, "mass", "value"), INERTIALS, "mass of link 'BOOM'", ALL),
    (nudge(BOOM, "mass", "value"), "total mass", "robot", ALL),
    (nudge(BOOM, "inertia", "ixy"), INERTIALS, "inertia of link 'BOOM'", ALL),
    (nudge(BOOM, "inertia", "ixx"), "mass matrix", "posture", ("pinocchio", "MuJoCo")),
    (nudge(BOOM, "origin", "xyz"), INERTIALS, "centre of mass of link 'BOOM'", ALL),
    (nudge(BOOM, "origin", "xyz"), "centre of mass", "posture", ALL),
    (nudge(BOOM, "origin", "xyz"), "gravity torques", "joint", ("pinocchio", "MuJoCo")),
    (nudge(JOINT, "limit", "lower"), "position limits", "lower limit of joint 'BOOM_", ALL),
    (nudge(JOINT, "limit", "upper"), "position limits", "upper limit of joint 'BOOM_", ALL),
    (nudge(JOINT, "limit", "velocity"), "velocity limits", "'BOOM_JOINT'", BUT_MUJOCO),
    (nudge(JOINT, "limit", "effort"), "effort limits", "'BOOM_JOINT'", ALL),
    (nudge(JOINT, "dynamics", "damping"), DAMPING, "damping of joint 'BOOM_JOINT'", ALL),
    (nudge(JOINT, "dynamics", "friction"), DAMPING, "friction of joint 'BOOM_JOINT'", ALL),
    (nudge(LASER, "origin", "xyz"), DEVICES, "LASER", ALL),
    (nudge(OPTICAL, "origin", "rpy"), DEVICES, "EYE_optical_frame", ALL),
    (nudge("", "sphere", "radius"), "visual primitives", "'TROLLEY'", BUT_MUJOCO),
    (nudge(WAGON, "box", "size"), TOUCH, "collision box 1 of link 'WAGON'", ALL),
    (nudge(TOWER, "cylinder", "length"), TOUCH, "collision cylinder 1 of link 'TOWER'", ALL),
    (nudge(TOWER, "origin", "xyz"), TOUCH, "collision cylinder 1 of link 'TOWER'", ALL),
]


def numbered(cases):
    return [f"{number} {quantity}" for number, (_, quantity, _, _) in enumerate(cases)]


@pytest.mark.parametrize(("sabotage", "quantity", "of", "libraries"), NUDGES, ids=numbered(NUDGES))
def test_a_nudge_of_one_number_is_found(sabotage, quantity, of, libraries, tmp_path):
    report = sabotaged(tmp_path, sabotage)
    assert not report.passed
    for library in libraries:
        found = row(report, library, quantity)
        assert found.outcome is Outcome.FAILED, found
        assert 1e-9 < found.difference < 1e-5, found
        assert of in found.where, found


SEEN, TOUCHED = f"{BOOM}/visual", f"{BOOM}/collision"
TYPES, TREE = "joint names and types", "links and their parents"
BLUNT = [
    (setting(SEEN, "mesh", "scale", "1 1 1.0001"),
     "visual meshes", "visual mesh 1 of link 'BOOM'", BUT_MUJOCO),
    (setting(TOUCHED, "mesh", "scale", "1 -1 1"),
     "collision meshes", "collision mesh 1 of link 'BOOM'", ALL),
    (setting("material", "color", "rgba", "1.0 0.2 0.10001 1.0"),
     "colours", "visual", BUT_MUJOCO),
    (lambda root: root.find(BOOM).remove(root.find(SEEN)),
     "visual meshes", "link 'BOOM' has 0 visual shapes, not 1", BUT_MUJOCO),
    (setting(JOINT, "joint", "type", "continuous"),
     TYPES, "'BOOM_JOINT' is continuous, not revolute", BUT_MUJOCO),
    (setting(JOINT, "joint", "type", "fixed"), TYPES, "BOOM_JOINT", ALL),
    (setting(JOINT, "joint", "name", "HINGE"), TYPES, "'BOOM_JOINT' is called 'HINGE'", ALL),
    (setting("joint[@name='HOOK_JOINT']", "parent", "link", "BOOM"),
     TREE, "the parent of link 'HOOK' is 'BOOM'", ALL),
    (lambda root: root.find(BOOM).remove(root.find(f"{BOOM}/inertial")),
     INERTIALS, "BOOM", BUT_MUJOCO),
]  # fmt: skip


@pytest.mark.parametrize(("sabotage", "quantity", "of", "libraries"), BLUNT, ids=numbered(BLUNT))
def test_a_blunt_change_is_found(sabotage, quantity, of, libraries, tmp_path):
    report = sabotaged(tmp_path, sabotage)
    assert not report.passed
    for library in libraries:
        found = row(report, library, quantity)
        assert found.outcome is Outcome.FAILED, found
        assert of in found.where, found


def test_a_loss_that_a_library_stumbles_over_is_a_failure(tmp_path):
    """Not a peculiarity of the library, as it would be if the model were like that."""

    def no_mass(root):
        root.find(BOOM).remove(root.find(f"{BOOM}/inertial"))

    found = row(sabotaged(tmp_path, no_mass), "MuJoCo", "loads")
    assert found.outcome is Outcome.FAILED
    assert "mass and inertia of moving bodies" in found.reason
    flat = setting(WAGON, "box", "size", "1 2 0")
    found = row(sabotaged(tmp_path, flat), "MuJoCo", "collision meshes")
    assert found.outcome is Outcome.FAILED
    assert "shape 1 of link 'WAGON' is left out" in found.where


@pytest.mark.filterwarnings("error")
def test_a_loss_of_all_masses_is_a_failure_and_no_warning(tmp_path):
    def no_masses(root):
        for link in root.findall("link"):
            for inertial in link.findall("inertial"):
                link.remove(inertial)

    report = sabotaged(tmp_path, no_masses)
    for library in BUT_MUJOCO:
        for quantity in ("total mass", "centre of mass"):
            assert row(report, library, quantity).outcome is Outcome.FAILED

    def zero_masses(root):
        for mass in root.iter("mass"):
            mass.set("value", "0")

    report = sabotaged(tmp_path, zero_masses)
    for library in BUT_MUJOCO:
        assert row(report, library, "total mass").outcome is Outcome.FAILED


def test_a_mesh_that_is_gone_is_found(tmp_path):
    path = written(crane(), tmp_path)
    for mesh in (tmp_path / "meshes").iterdir():
        mesh.unlink()
    report = verify(crane(), path)
    assert not report.passed
    assert "cannot be read" in row(report, "URDF", "mesh files").where
    assert {found.library for found in report.failures} >= {"URDF", *ALL}


def test_a_mesh_of_other_content_is_found(tmp_path):
    path = written(crane(), tmp_path)
    wedge, other = sorted((tmp_path / "meshes").glob("*.stl"))[0], b"no mesh"
    wedge.write_bytes(other)
    report = verify(crane(), path)
    failed = {found.library for found in report.failures}
    assert failed >= set(ALL), report


def test_a_file_that_is_no_urdf_fails_and_says_why(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text("<robot name='crane'><link")
    report = verify(crane(), path)
    assert not report.passed
    assert "not valid XML" in report.failures[0].reason
    path.write_text("<robot name='crane'/>")
    report = verify(crane(), path)
    assert not report.passed
    assert {found.library for found in report.failures} == set(LIBRARIES)
    with pytest.raises(OSError, match="absent"):
        verify(crane(), tmp_path / "absent.urdf")


def test_what_the_model_says_of_another_body_is_found(tmp_path):
    """The URDF of one model is none of a second."""
    path = written(crane(), tmp_path)
    assert file_of(path.as_uri()) == path
    body = crane()
    links = [link for link in body.links if link.name != "HOOK"]
    other = type(body)(name="crane", links=tuple(links))
    report = verify(other, path)
    assert {found.quantity for found in report.failures} >= {TREE, INERTIALS, "total mass"}
