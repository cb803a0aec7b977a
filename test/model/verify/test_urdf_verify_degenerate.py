"""Models at the limits of what numbers and programs can tell pass the verification."""

import numpy as np
import pytest
from urdf_tools import random_pose
from verify_samples import report_of, row, silent, verify, written

from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.geometry import Mesh, Shape
from hrp_model.kinematics import BodyState
from hrp_model.rigid import Pose
from hrp_model.urdf import UrdfOptions, convert
from hrp_model.verify import Outcome

for _module in ("pinocchio", "mujoco"):
    pytest.importorskip(_module, reason=f"{_module} reads URDFs independently of us")

REVOLUTE, FIXED = JointType.REVOLUTE, JointType.FIXED
ZERO = np.zeros((3, 3))


def joined(name, parent, kind, p=(0.0, 0.0, 0.0), mass=0.0, inertia=ZERO):
    joint = Joint(type=kind, name=name, axis=np.array([0.0, 1.0, 0.0]))
    center = np.array([0.01, 0.0, 0.02])
    return Link(
        name=name, parent=parent, joint=joint, X_PL=Pose(p=np.array(p)),
        mass=mass, center_of_mass=center, inertia=inertia,
    )  # fmt: skip


def on_a_base(kind, mass, inertia, base=(0.0, ZERO)):
    links = joined("BASE", None, FIXED, (0, 0, 0), *base), joined("PART", "BASE", kind)
    part = joined("PART", "BASE", kind, (0.1, 0.2, 0.3), mass, np.array(inertia))
    return Body(name="b", links=(links[0], part))


def flat_body(rng, mass, size):
    """Return the inertia of a flat plate, a + b = c but for rounding, in axes of its own."""
    a, b = rng.uniform(0.1, 1.0, 2) * mass * size**2
    R = random_pose(rng).R
    return R @ np.diag([a, b, a + b]) @ R.T


def assert_all_is_compared(report):
    assert report.passed, report
    for quantity in ("poses of links", "mass and inertia of links", "mass matrix"):
        assert row(report, "MuJoCo", quantity).outcome is Outcome.PASSED, report


@pytest.mark.parametrize("moment", [2e-35, 3e-15, 0.7], ids=str)
def test_a_thin_rod_passes_however_small_its_inertia(moment, tmp_path, monkeypatch):
    """A body on one line has no inertia about it, and a small one about the others."""
    monkeypatch.chdir(tmp_path)
    body = on_a_base(REVOLUTE, 1.0, np.diag([0.0, moment, moment]))
    assert_all_is_compared(report_of(body, tmp_path))
    assert not list(tmp_path.glob("*.TXT"))  # MuJoCo's log of warnings


@pytest.mark.parametrize("seed", range(5))
def test_flat_bodies_pass_whatever_their_last_digits_are(seed, tmp_path):
    rng = np.random.default_rng(seed)
    body = on_a_base(REVOLUTE, 600.0, flat_body(rng, 600.0, rng.uniform(0.01, 10.0)))
    assert_all_is_compared(report_of(body, tmp_path))


def test_a_heavy_fixed_part_whose_moments_are_rounded_passes(tmp_path):
    inertia = [[286.00000000000006, 0, -391.82], [0, 822.7934000000001, 0],
               [-391.82, 0, 536.7934000000001]]  # fmt: skip
    report = report_of(on_a_base(FIXED, 600.0, inertia), tmp_path)
    assert report.passed, report


def test_mujoco_takes_flat_bodies_with_its_block(tmp_path):
    """Its own check of a + b >= c is left to the last digits; the block takes it off."""
    mujoco = pytest.importorskip("mujoco")
    for seed in range(8):
        rng = np.random.default_rng(seed)
        body = on_a_base(REVOLUTE, 2.0, flat_body(rng, 2.0, 1.0))
        mujoco.MjModel.from_xml_path(str(written(body, tmp_path, UrdfOptions(mujoco_meshes="."))))


@pytest.mark.parametrize(
    ("mass", "inertia"),
    [
        (0.0, np.eye(3)), (0.0, np.diag([1.0, 1.0, 3.0])), (0.0, np.diag([0.0, 1e-35, 1e-35])),
        (1e-20, np.eye(3)),
    ],
    ids=["no mass", "no mass, no triangle", "next to nothing", "a mass beyond MuJoCo"],
)  # fmt: skip
def test_moving_links_with_inertia_but_no_mass_pass(mass, inertia, tmp_path):
    body = on_a_base(REVOLUTE, mass, inertia, base=(2.0, np.eye(3)))
    report = report_of(body, tmp_path)
    assert report.passed, report
    assert row(report, "pinocchio", "mass matrix").outcome is Outcome.PASSED


def test_a_fixed_base_with_the_only_mass_has_a_centre_for_every_library(tmp_path):
    body = on_a_base(REVOLUTE, 0.0, ZERO, base=(200.0, np.eye(3)))
    report = report_of(body, tmp_path)
    assert report.passed, report
    assert row(report, "pinocchio", "centre of mass").outcome is Outcome.PASSED


def hand():
    """Return a palm with fingers of massless links of identity inertia, joints behind them."""
    small, one = np.diag([1e-5, 1.2e-5, 1.1e-5]), np.eye(3)
    links = [joined("PALM", None, JointType.FREE, (0, 0, 0), 0.5, 1e-3 * one)]
    for f in "012":
        y = 0.03 * int(f)
        links += [
            joined(f"MOUNT{f}", "PALM", FIXED, (0.05, y, 0.0), 0.0, one),
            joined(f"SENSOR{f}", "PALM", FIXED, (0.07, y, 0.0), 0.0, one),
            joined(f"NEAR{f}", f"MOUNT{f}", REVOLUTE, (0.02, 0.0, 0.0), 0.02, small),
            joined(f"PAD{f}", f"NEAR{f}", FIXED, (0.01, 0.01, 0.0), 0.0, one),
            joined(f"GEAR{f}", f"NEAR{f}", REVOLUTE, (0.02, 0.0, 0.0), 0.0, one),
            joined(f"FAR{f}", f"GEAR{f}", REVOLUTE, (0.03, 0.0, 0.0), 0.02, small),
        ]
    return Body(name="hand", links=tuple(links))


def inertia_about_joint(body, name):
    """Return the inertia about a joint along y at zero posture, link by link by Steiner's rule."""
    by_name = {link.name: link for link in body.links}
    total = 0.0
    for link in body.links:
        chain = [link]
        while chain[-1].parent is not None and chain[-1].name != name:
            chain.append(by_name[chain[-1].parent])
        if chain[-1].name == name:
            x, _, z = link.center_of_mass + sum((x.X_PL.p for x in chain[:-1]), np.zeros(3))
            total += link.inertia[1, 1] + link.mass * (x**2 + z**2)
    return total


def test_the_inertia_of_massless_links_counts_in_what_they_are_fixed_to(tmp_path):
    body = hand()
    state = BodyState(body)
    state.calc_forward_kinematics()
    M = state.calc_mass_matrix()
    for i, link in enumerate(body.moving_links):
        assert M[6 + i, 6 + i] == pytest.approx(inertia_about_joint(body, link.name), rel=1e-12)
    report = report_of(body, tmp_path)
    assert report.passed, report
    for quantity in ("mass and inertia of links", "mass matrix"):
        assert row(report, "pinocchio", quantity).outcome is Outcome.PASSED


def test_the_inertia_of_a_massless_link_that_is_lost_is_found(tmp_path):
    path = written(hand(), tmp_path)
    inertia = '<inertia ixx="1.0" ixy="0.0" ixz="0.0" iyy="1.0" iyz="0.0" izz="1.0" />'
    lines = path.read_text()
    assert lines.count(inertia) == 3 * 4
    first, rest = lines.split('<link name="PAD1">')
    for other, of in ((inertia.replace("1.0", "0.0"), "lost"),
                      (inertia.replace("1.0", "1.0000001"), "nudged")):  # fmt: skip
        path.write_text(f'{first}<link name="PAD1">{rest.replace(inertia, other, 1)}')
        report = verify(hand(), path)
        found = row(report, "pinocchio", "mass and inertia of links")
        assert found.outcome is Outcome.FAILED, of
        assert "'PAD1'" in found.where


FAR = np.array([22.67516, 18.6429, 12.24186])
SOLID = Mesh(FAR + np.array([[0, 0, 0], [0, -0.11, 0.05], [0, -0.11, 0], [-0.09, 0, 0.05]]),
             [[0, 1, 2], [0, 3, 1], [1, 3, 2], [0, 2, 3]])  # fmt: skip


def far_mesh(distance):
    """Return a body with a small mesh far from its own origin, and placed by a translation back."""
    T = np.eye(4)
    T[:3, 3] = -distance * FAR + [0.05, 0.2, -0.17]
    mesh = Mesh(SOLID.vertices + (distance - 1.0) * FAR, SOLID.triangles)
    shape = (Shape(mesh, T),)
    root = joined("ROOT", None, FIXED)
    link = Link(name="ROOT", parent=None, joint=root.joint, visual=shape, collision=shape)
    return Body(name="far", links=(link,))


@pytest.mark.parametrize("distance", [1.0, 10.0])
def test_vertices_are_compared_as_finely_as_single_precision_has_them(distance, tmp_path):
    """A mesh file rounds them relative to where they are, not to where they are moved."""
    body = far_mesh(distance)
    report = report_of(body, tmp_path)
    assert report.passed, report
    assert 0.0 < row(report, "pinocchio", "visual meshes").difference < 1e-7
    made = convert(body, tmp_path / "meshes", diagnostics=silent())
    origin = next(x for x in made.urdf.split('"') if x.startswith("-"))
    x, *rest = origin.split()
    for step, good in ((1e-8, True), (1e-5, False)):  # of 22 m or 220 m
        (tmp_path / "robot.urdf").write_text(
            made.urdf.replace(origin, " ".join([repr(float(x) * (1.0 + step)), *rest]))
        )
        found = row(verify(body, tmp_path / "robot.urdf"), "pinocchio", "collision meshes")
        assert (found.outcome is Outcome.PASSED) is good, found
