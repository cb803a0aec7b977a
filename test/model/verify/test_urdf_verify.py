"""The verification of a URDF passes what is right, and says what it could not compare."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from paths import MODELS
from urdf_tools import wheel
from verify_samples import RED, WEDGE, crane, report_of, row, silent, written

from hrp_model import load_body
from hrp_model.body import Body, ExtraJoint, ExtraJointType, Joint, JointType, Link, Range
from hrp_model.cli.main import main
from hrp_model.frames import Base
from hrp_model.geometry import Box, Mesh, Shape
from hrp_model.rigid import Pose
from hrp_model.urdf import UrdfOptions, convert
from hrp_model.verify import LIBRARIES, Outcome, verify

for _module in ("pinocchio", "mujoco"):
    pytest.importorskip(_module, reason=f"{_module} reads URDFs independently of us")


def changed(body, name, **to):
    """Return a body one of whose links is changed."""
    links = (replace(x, **to) if x.name == name else x for x in body.links)
    return replace(body, links=tuple(links))


def loads(report):
    return row(report, "MuJoCo", "loads")


def test_what_is_right_passes_with_every_library(tmp_path):
    report = report_of(crane(), tmp_path)
    assert report.passed, report
    assert {x.library for x in report.rows} == {"URDF", *LIBRARIES}
    compared = {x.quantity: x for x in report.rows_of("pinocchio") if x.difference is not None}
    assert compared["poses of links"].count == 2 * 5 * 5  # rotations and positions
    assert compared["poses of device frames"].count == 2 * 4 * 5
    assert compared["mass matrix"].difference < 1e-13
    assert 0 < compared["visual meshes"].difference < 1e-6
    assert not [x for x in report.rows if x.outcome is Outcome.NOT_APPLICABLE and not x.reason]


@pytest.mark.parametrize(
    "options",
    [
        UrdfOptions(base=Base.LINK, frame_prefix="left/"),
        UrdfOptions(base=Base.FOOTPRINT),
        UrdfOptions(mujoco_meshes="meshes"),
    ],
    ids=["base_link and prefix", "base_footprint", "mujoco"],
)
def test_options_change_names_and_the_root_only(options, tmp_path):
    body = crane()
    report = report_of(body, tmp_path, options)
    assert report.passed, report
    if options.base is not Base.NONE:
        assert row(report, "MuJoCo", "poses of the base").outcome is Outcome.PASSED
        other = verify(body, tmp_path / "robot.urdf", UrdfOptions())
        assert "links and their parents" in {x.quantity for x in other.failures}


@pytest.mark.parametrize("model", ["humanoid/humanoid.wrl", "arm/arm.body", "rover/rover.body"])
def test_our_own_robots_are_what_their_urdf_says(model, tmp_path):
    report = report_of(load_body(MODELS / model, silent()), tmp_path, postures=1)
    assert report.passed, report
    assert not [x for x in report.rows if "refused" in x.reason]


def test_rotors_are_compared_where_an_srdf_tells_of_them(tmp_path):
    body = crane()
    srdf = tmp_path / "robot.srdf"
    rotor = '<rotor_params><joint name="BOOM_JOINT" mass="%s" gear_ratio="1"/></rotor_params>'
    for inertia, good in (("0.3", True), ("0.4", False)):
        srdf.write_text(f'<robot name="crane">{rotor % inertia}</robot>')
        report = report_of(body, tmp_path, srdf=srdf, libraries=["pinocchio"])
        found = row(report, "pinocchio", "mass matrix with rotors")
        assert (found.outcome is Outcome.PASSED) is good, found
        assert good or "BOOM_JOINT" in found.where


def test_a_package_is_found_by_its_manifest_whatever_its_folder_is_called(tmp_path):
    folder = tmp_path / "other name"
    made = convert(
        crane(), folder / "meshes", mesh_uri="package://crane_description/meshes",
        diagnostics=silent(),
    )  # fmt: skip
    (folder / "urdf").mkdir()
    (folder / "package.xml").write_text("<package><name>crane_description</name></package>")
    path = folder / "urdf" / "crane.urdf"
    path.write_text(made.urdf)
    assert verify(crane(), path).passed
    (folder / "package.xml").unlink()
    assert not verify(crane(), path).passed
    (tmp_path / "crane_description").symlink_to(folder)
    assert verify(crane(), path, packages=[tmp_path]).passed


def test_a_model_without_mass_is_compared_but_for_masses(tmp_path):
    report = report_of(wheel(position=Range(-1, 1)), tmp_path)
    assert report.passed, report
    found = row(report, "pinocchio", "centre of mass")
    assert (found.outcome, found.reason) == (Outcome.NOT_APPLICABLE, "the model has no mass")
    assert row(report, "pinocchio", "poses of links").outcome is Outcome.PASSED
    assert "without mass" in row(report, "MuJoCo", "mass matrix").reason


def test_mended_limits_are_told(tmp_path):
    boom = crane().link("BOOM")
    body = changed(crane(), "BOOM", joint=replace(boom.joint, position=Range(2.0, -1.0)))
    report = report_of(body, tmp_path)
    assert report.passed, report
    assert [x.quantity for x in report.rows_of("model")] == ["inverted-range"]


def test_limits_that_are_none_on_one_side_are_compared(tmp_path):
    boom = crane().link("BOOM")
    body = changed(crane(), "BOOM", joint=replace(boom.joint, position=Range(-inf, 1.0)))
    assert report_of(body, tmp_path).passed


FLAT, PLATE = Mesh(WEDGE.vertices, WEDGE.triangles[:1]), Box([1, 1, 0])
# Corners in a plane, up to the last digit, that has no axis of coordinates as its normal.
OBLIQUE = Mesh(
    np.array([(0.0, 0, 0), (0, -1.45, 0), (-0.4131553, -1.45, 0.4318183), (0, -2.9, 0),
              (-0.4131553, -2.9, 0.4318183), (-0.4131553, 0, 0.4318183)]) * 1e-3
    + (-0.0215868447, -0.0165, -0.0139318183),
    np.array([(0, 1, 2), (0, 2, 5), (1, 3, 4), (1, 4, 2)]),
)  # fmt: skip
FLOATING = Joint(type=JointType.FREE, name="BOOM_JOINT")
MUJOCO_REFUSES = {
    "an inertia of no body": (
        {"inertia": np.diag([1.0, 1.0, 3.0])},
        "A + B >= C",
        "impossible inertia",
    ),
    "a negative inertia": (
        {"inertia": np.diag([1.0, 2.0, -0.5])},
        "positive eigenvalues",
        "impossible inertia",
    ),
    "a flat shape": ({"collision": (Shape(FLAT),)}, "vertic", "flat mesh"),
    "a flat shape in an oblique plane": ({"collision": (Shape(OBLIQUE),)}, "qhull", "flat mesh"),
    "a plate without thickness": ({"collision": (Shape(PLATE),)}, "size 2", "flat shape"),
    "a floating link": ({"joint": FLOATING}, "free joint", "floating link"),
}


@pytest.mark.parametrize(
    ("change", "reason", "words"), MUJOCO_REFUSES.values(), ids=MUJOCO_REFUSES.keys()
)
def test_what_mujoco_refuses_is_told_and_the_rest_compared(change, reason, words, tmp_path, capfd):
    body = changed(crane(), "BOOM", **change)
    report = report_of(body, tmp_path)
    assert capfd.readouterr() == ("", "")
    assert report.passed, report
    assert loads(report).outcome is Outcome.REFUSED
    assert f"MuJoCo refuses the file as it is: {words}" in report.verdict
    assert reason in loads(report).reason
    for quantity in ("poses of links", "mass matrix", "mass and inertia of links"):
        assert row(report, "MuJoCo", quantity).outcome is Outcome.PASSED, quantity
    if "collision" in change:
        assert "shape 1 of link 'BOOM'" in row(report, "MuJoCo", "collision meshes").reason


def test_what_mujoco_changes_of_its_own_is_still_compared(tmp_path):
    """It gives links without mass that of their shapes, if no block tells it not to."""
    fixed = Joint(type=JointType.FIXED, name="HOOK_JOINT")
    zero = {"mass": 0.0, "inertia": np.zeros((3, 3)), "joint": fixed}
    body = changed(crane(), "HOOK", **zero)
    report = report_of(body, tmp_path)
    assert report.passed, report
    assert row(report, "MuJoCo", "total mass").outcome is Outcome.PASSED


@pytest.mark.parametrize("mass", [0.0, 1.0])
def test_a_moving_link_without_inertia_leaves_mujoco_the_kinematics(mass, tmp_path):
    body = changed(crane(), "TROLLEY", mass=mass, inertia=np.zeros((3, 3)))
    links = tuple(x for x in body.links if x.name != "HOOK")
    body = replace(body, links=links, devices=())
    report = report_of(body, tmp_path)
    assert report.passed, report
    assert "it moves without mass" in row(report, "MuJoCo", "mass matrix").reason
    assert row(report, "MuJoCo", "poses of links").outcome is Outcome.PASSED
    assert row(report, "pinocchio", "mass matrix").outcome is Outcome.PASSED
    report = report_of(body, tmp_path, UrdfOptions(mujoco_meshes="meshes"))
    assert report.passed, report
    for quantity in ("loads", "mass matrix", "total mass"):
        assert row(report, "MuJoCo", quantity).outcome is Outcome.PASSED, quantity


CONE = """\
format: ChoreonoidBody
format_version: 2.0
name: cone
links:
  - name: CONE
    joint_type: free
    mass: 1.0
    inertia: [ 0.2, 0, 0, 0, 0.2, 0, 0, 0, 0.2 ]
    elements: [ { type: Shape, geometry: { type: Cone, radius: 0.5, height: 1.0 } } ]
"""


@pytest.mark.parametrize("place", ["-o", "--package"])
def test_the_command_writes_what_mujoco_takes_as_it_is(place, tmp_path, capsys):
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "cone.body").write_text(CONE)
    out = tmp_path / "cone_description"
    target = out if place == "--package" else out / "urdf" / "cone.urdf"
    arguments = ["urdf", str(tmp_path / "cone.body"), "--mujoco", "--verify"]
    target.parent.mkdir(exist_ok=True, parents=True)
    assert main([*arguments, place, str(target)]) == 0
    assert "URDF against the model: passed" in capsys.readouterr().out
    (path,) = out.rglob("*.urdf")
    assert mujoco.MjModel.from_xml_path(str(path)).nmesh == 1


def test_the_mujoco_block_lets_it_take_the_file_as_it_is(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    inertia = np.diag([1.0, 1.0, 3.0])
    body = changed(crane(), "BOOM", inertia=inertia)
    body = changed(body, "HOOK", mass=0.0, inertia=np.zeros((3, 3)))
    path = written(body, tmp_path)
    with pytest.raises(ValueError, match="file:"):
        mujoco.MjModel.from_xml_path(str(path))
    path = written(body, tmp_path, UrdfOptions(mujoco_meshes="meshes"))
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.body_mass.sum() == pytest.approx(body.total_mass)
    assert {model.body(i).name for i in range(model.nbody)} >= {x.name for x in body.links}
    assert loads(verify(body, path)).outcome is Outcome.PASSED


def test_the_mujoco_block_lets_links_float_above_a_fixed_root(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    floor = Link(name="FLOOR", parent=None, joint=Joint(type=JointType.FIXED, name="FLOOR"))
    free = Joint(type=JointType.FREE, name="BOX")
    box = Link(name="BOX", parent="FLOOR", joint=free, mass=1.0, inertia=np.eye(3))
    path = written(Body(name="b", links=(floor, box)), tmp_path, UrdfOptions(mujoco_meshes="."))
    assert mujoco.MjModel.from_xml_path(str(path)).nv == 6


def parallelogram(crank):
    """Return four bars whose loop makes two of the joints follow the first."""

    def bar(name, parent, p):
        joint = Joint(type=JointType.REVOLUTE, name=name, axis=np.array([0.0, 1.0, 0.0]))
        shape = (Shape(Box([0.1, 0.1, 0.5]), material=RED),)
        mass = {"mass": 1.0, "inertia": np.eye(3)}
        return Link(name=name, parent=parent, joint=joint, X_PL=Pose(p=p), visual=shape, **mass)

    root = Link(name="BASE", parent=None, joint=Joint(type=JointType.FIXED, name="BASE"))
    links = (root, bar(crank, "BASE", [0, 0, 0]), bar("COUPLER", crank, [0, 0, 1]),
             bar("ROCKER", "BASE", [2, 0, 0]))  # fmt: skip
    pin = ExtraJoint(
        type=ExtraJointType.BALL, links=("COUPLER", "ROCKER"),
        X_AJ=Pose(p=[2, 0, 0]), X_BJ=Pose(p=[0, 0, 1]),
    )  # fmt: skip
    return Body(name="parallelogram", links=links, extra_joints=(pin,))


@pytest.mark.parametrize("leader", ["CRANK", "Z_CRANK"])
def test_joints_that_follow_others_are_compared(leader, tmp_path):
    """pinocchio itself wants leaders to come before their followers in the alphabet."""
    path = written(body := parallelogram(leader), tmp_path)
    report = verify(body, path)
    assert report.passed, report
    assert ("joints renamed" in row(report, "pinocchio", "mimic joints").reason) is (
        leader == "Z_CRANK"
    )
    assert row(report, "pinocchio", "mimic joints").count == 3 * 2, report
    text = path.read_text()
    assert 'multiplier="-1.0"' in text
    path.write_text(text.replace('multiplier="-1.0"', 'multiplier="-1.001"'))
    found = row(verify(body, path), "pinocchio", "mimic joints")
    assert found.outcome is Outcome.FAILED
    assert "multiplier of 'COUPLER'" in found.where


def test_a_matrix_that_is_no_rotation_to_the_last_digit_is_no_failure(tmp_path):
    """Its primitives can only stand as they would if it were one; a mesh stands exactly."""
    skewed = np.eye(4)
    skewed[0, 1] = 8e-7
    for geometry in (Box([1, 2, 3]), WEDGE):
        shape = (Shape(geometry, skewed, RED),)
        report = report_of(changed(crane(), "BOOM", visual=shape, collision=shape), tmp_path)
        assert report.passed, report
    assert row(report, "pinocchio", "visual meshes").difference < 2e-7


def test_equal_seeds_give_equal_reports(tmp_path):
    path = written(crane(), tmp_path)
    first, second = (verify(crane(), path, seed=3, libraries=["pinocchio"]) for _ in range(2))
    assert first == second


def test_the_shapes_of_a_link_are_compared_however_many_there_are(tmp_path):
    size = np.full(3, 0.1)
    boxes = []
    for k in range(250):  # more than pinocchio is given at once
        T = np.eye(4)
        T[0, 3] = 0.2 * k
        boxes.append(Shape(Box(size), T, material=RED))
    link = Link(name="A", parent=None, joint=Joint(type=JointType.FIXED, name="A"))
    body = Body(name="boxes", links=(replace(link, visual=tuple(boxes), collision=tuple(boxes)),))
    report = report_of(body, tmp_path)
    assert report.passed, report
    compared = {x.quantity: x for x in report.rows_of("pinocchio") if x.difference is not None}
    assert compared["visual primitives"].count == compared["collision primitives"].count >= 250
