"""Pairs without collision tests, against the algorithm of MoveIt's Setup Assistant on the URDF."""

import sys
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from paths import SHARED, needs_shared
from silent_diagnostics import silent
from srdf_tools import CHOREONOID, OPENHRP, OURS, limb, link, tree

from hrp_model import load_body
from hrp_model.body import JointType, Mimic, Range
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.rigid import Pose
from hrp_model.urdf import MOVEIT, convert, write_package
from hrp_model.urdf.moveit import collisions
from hrp_model.urdf.moveit.collisions import SAMPLES, Postures, sampled_pairs

pytest.importorskip("coal", reason="coal is not installed")
MODELS = SHARED / "models"
ROBOTS = {
    "HRP4C": MODELS / "isri-aist__hrp4c_description/vrml/HRP4Cmain.wrl",
    "NEXTAGE": MODELS / "tork-a__rtmros_nextage/nextage_description/models/main.wrl",
    "sample1": OPENHRP / "sample1.wrl",
    "PA10": CHOREONOID / "PA10/PA10.body",
    "SR1": CHOREONOID / "SR1/SR1.body",
    "GR001": CHOREONOID / "GR001/GR001.body",
    "AizuSpider": CHOREONOID / "AizuSpider/AizuSpiderNA.body",
    "Tank": CHOREONOID / "Tank/Tank.body",
    "JACO2": CHOREONOID / "JACO2/JACO2.body",
    "PA10 of OpenHRP": OPENHRP / "PA10/pa10.main.wrl",
}
RARELY = 10  # collisions in one set of samples, of a pair that may have none in another


TOUCHING = 1e-3  # [m], between shapes of which rounding decides whether they collide
ENDLESS = 1e6  # limits in a URDF that stand for none; samples as far away would collide never


class SetupAssistant:
    """Its rules on a URDF, with the kinematics and shapes of pinocchio.

    Args:
        urdf: The file.
        samples: Number of postures in which pairs never collide.
    """

    def __init__(self, urdf, samples):
        self.pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
        self.model = self.pin.buildModelFromUrdf(str(urdf), mimic=True)
        self.shapes = self.pin.buildGeomFromUrdf(self.model, str(urdf), self.pin.COLLISION)
        self.links = [self.model.frames[x.parentFrame].name for x in self.shapes.geometryObjects]
        self.random = np.random.default_rng(77)
        self.reasons, self.where = {}, {}
        self.run(ElementTree.parse(urdf).getroot(), samples)

    def run(self, root, samples):
        self.reasons = dict.fromkeys(self.adjacent(root), "Adjacent")
        lower, upper = self.limits()
        allows_zero = (lower <= 0) & (upper >= 0)
        self.default = np.where(allows_zero, 0.0, (lower + upper) / 2)
        for pair in self.colliding([self.default]):
            self.reasons[pair] = "Default"
        seen, found = set(), True
        while found:
            counts = self.colliding(self.postures(200))
            seen |= counts.keys()
            found = [pair for pair, count in counts.items() if count > 190]
            self.reasons.update(dict.fromkeys(found, "Always"))
        seen |= self.colliding(self.postures(samples), once=True).keys()
        for pair in map(frozenset, combinations(set(self.links), 2)):
            if pair not in seen:
                self.reasons.setdefault(pair, "Never")

    def adjacent(self, root):
        """Return the pairs that a joint connects, after links without shapes are taken out."""
        around = {link.get("name"): set() for link in root.findall("link")}
        for joint in root.findall("joint"):
            ends = joint.find("parent").get("link"), joint.find("child").get("link")
            for a, b in (ends, ends[::-1]):
                around[a].add(b)
        for name in [name for name in around if name not in self.links]:
            neighbours = around.pop(name)
            for a in neighbours:
                around[a] = (around[a] | neighbours) - {a, name}
        return {frozenset((a, b)) for a, others in around.items() for b in others}

    def limits(self):
        """Return limits of angles and lengths; at the first of the two places of a circle."""
        lower, upper = self.model.lowerPositionLimit.copy(), self.model.upperPositionLimit.copy()
        lower[lower <= -ENDLESS], upper[upper >= ENDLESS] = -np.pi, np.pi
        for joint in self.model.joints:
            if joint.nq == 2 and joint.nv == 1:  # its limits are those of cosine and sine
                lower[joint.idx_q], upper[joint.idx_q] = -np.pi, np.pi
        return lower, upper

    def postures(self, count):
        return self.random.uniform(*self.limits(), (count, self.model.nq))

    def colliding(self, postures, *, once=False):
        """Return in how many postures each pair collides, for pairs without a reason.

        With ``once`` a pair is tested until it collides, and the posture is kept.
        """
        pin, names = self.pin, self.links
        self.shapes.removeAllCollisionPairs()
        for i, j in combinations(range(len(names)), 2):
            if names[i] != names[j] and frozenset((names[i], names[j])) not in self.reasons:
                self.shapes.addCollisionPair(pin.CollisionPair(i, j))
        pairs = [frozenset((names[p.first], names[p.second])) for p in self.shapes.collisionPairs]
        data, shapes = self.model.createData(), pin.GeometryData(self.shapes)
        counts = {}
        for q in postures:
            whole = self.whole(q)
            if not pin.computeCollisions(self.model, data, self.shapes, shapes, whole, False):
                continue
            active = [i for i, is_active in enumerate(shapes.activeCollisionPairs) if is_active]
            hits = {pairs[i] for i in active if shapes.collisionResults[i].isCollision()}
            for pair in hits:
                counts[pair] = counts.get(pair, 0) + 1
                self.where.setdefault(pair, q)
            for i in active if once else ():
                if pairs[i] in hits:
                    shapes.deactivateCollisionPair(i)
        return counts

    def gap(self, pair):
        """Return the distance of two links in the default posture, negative where they overlap."""
        self.shapes.removeAllCollisionPairs()
        for i, j in combinations(range(len(self.links)), 2):
            if {self.links[i], self.links[j]} == pair:
                self.shapes.addCollisionPair(self.pin.CollisionPair(i, j))
        data, shapes = self.model.createData(), self.pin.GeometryData(self.shapes)
        self.pin.computeDistances(self.model, data, self.shapes, shapes, self.whole(self.default))
        return min(result.min_distance for result in shapes.distanceResults)

    def positions(self, q):
        """Return a posture by the names of joints."""
        joints = zip(self.model.names, self.model.joints, strict=True)
        return {name: q[joint.idx_q] for name, joint in joints if joint.nv == 1}

    def whole(self, q):
        """Return a posture, in which joints without limits are points on a circle."""
        whole = self.pin.neutral(self.model)
        for joint in self.model.joints:
            if joint.nq == 2 and joint.nv == 1:
                angle = q[joint.idx_q]
                whole[joint.idx_q : joint.idx_q + 2] = np.cos(angle), np.sin(angle)
            elif joint.nq == 1:
                whole[joint.idx_q] = q[joint.idx_q]
        return whole


def compare(body, folder, samples):
    """Check that both disable the same pairs, but for those that collide in few samples.

    Of such a pair, both agree on the posture in which the other found a collision.
    """
    made = convert(body, folder / "meshes", diagnostics=silent())
    urdf = folder / "robot.urdf"
    urdf.write_text(made.urdf, encoding="utf-8")
    theirs = SetupAssistant(urdf, samples)
    links = made.frames.links
    study = sampled_pairs(made.body, samples)
    pairs = {frozenset(links[x] for x in pair): pair for pair in study.collisions.pairs}
    assert pairs.keys() == set(map(frozenset, combinations(set(theirs.links), 2)))
    known = {frozenset(links.get(x) for x in pair) for pair in made.body.self_collision_disabled}
    others = study.postures.random(samples, np.random.default_rng(5))
    for key, pair in pairs.items():
        mine, other = study.reasons.get(pair), theirs.reasons.get(key)
        if mine == other or key in known:
            continue
        if "Default" in (mine, other):  # the shapes just touch at zero
            assert abs(theirs.gap(key)) < TOUCHING, sorted(key)
            continue
        assert {mine, other} == {"Never", None}, (sorted(key), mine, other)
        assert study.collisions.in_postures(others, [pair]).get(pair, 0) <= RARELY, sorted(key)
        if mine == "Never":
            q = in_order(made, theirs.positions(theirs.where[key]))
            assert study.collisions.in_postures(q[None], [pair]), sorted(key)
    return study


def in_order(made, positions):
    """Return a posture in the order of joint vectors."""
    names = [made.frames.joints[link.name] for link in made.body.moving_links]
    return np.array([positions.get(name, 0.0) for name in names])


@pytest.mark.parametrize("name", ["arm.body", "humanoid.wrl", "rover.body"])
def test_pairs_are_those_of_the_setup_assistant(name, tmp_path):
    compare(load_body(OURS[name], silent()), tmp_path, 2000)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("name", ROBOTS)
def test_so_they_are_for_robots_of_others(name, tmp_path):
    if not Path(ROBOTS[name]).is_file():
        pytest.skip(f"{ROBOTS[name]} is missing")
    study = compare(load_body(ROBOTS[name], silent()), tmp_path, SAMPLES)
    if name == "HRP4C":
        assert study.often[("WAIST", "R_HIP_P")] == pytest.approx(172, abs=20)


def test_all_links_around_one_without_shapes_are_adjacent():
    bare = link("BARE", "ROOT", collision=())
    body = tree(bare, link("A", "BARE"), link("B", "BARE", X_PL=Pose(p=(1.0, 0.0, 0.0))))
    reasons = sampled_pairs(body, 1).reasons
    assert reasons == dict.fromkeys([("ROOT", "A"), ("ROOT", "B"), ("A", "B")], "Adjacent")


def folded(**joint):
    """Return an arm whose hand lies in its base at zero, and leaves it when the arm turns."""
    return tree(link("A", "ROOT", joint=joint), link("B", "A", X_PL=Pose(p=(0.0, 0.0, -0.3))))


def test_pairs_that_collide_at_zero_or_always_or_never_are_told_apart():
    turning = folded(position=Range(-3.0, 3.0))
    assert sampled_pairs(turning, 1).reasons["ROOT", "B"] == "Default"
    assert sampled_pairs(folded(position=Range(0.5, 1.0)), 100).reasons["ROOT", "B"] == "Never"
    assert ("ROOT", "B") in sampled_pairs(folded(position=Range(0.2, 0.8)), 100).tested
    # At zero 1 mm above the base, and in it from there on.
    pressed = {"position": Range(0.0, 0.1), "axis": (0.0, 0.0, -1.0)}
    press = link("B", "A", JointType.PRISMATIC, X_PL=Pose(p=(0.0, 0.0, -0.199)), joint=pressed)
    study = sampled_pairs(tree(link("A", "ROOT", JointType.FIXED), press), 1)
    assert study.reasons["ROOT", "B"] == "Always"
    assert study.often["ROOT", "B"] > 190


def test_joints_follow_their_leaders_in_samples():
    follower = {"mimic": Mimic(link="A", multiplier=-2.0, offset=0.1)}
    body = tree(
        link("A", "ROOT", joint={"position": Range(0.2, 0.4)}), link("B", "A", joint=follower)
    )
    postures = Postures(body)
    q = postures.random(50, np.random.default_rng(1))
    assert q[:, 0].min() >= 0.2
    assert q[:, 0].max() <= 0.4
    np.testing.assert_allclose(q[:, 1], -2.0 * q[:, 0] + 0.1)
    np.testing.assert_allclose(postures.default(), [0.3, -0.5])


def test_more_pairs_than_can_be_tested_are_refused(monkeypatch):
    body = tree(*limb("ROOT", "A"))
    monkeypatch.setattr(collisions, "MAX_PAIRS", len(sampled_pairs(body, 1).collisions.pairs))
    sampled_pairs(body, 1)
    with pytest.raises(ValueError, match="to test for collisions"):
        sampled_pairs(tree(*limb("ROOT", "A"), link("B", "ROOT")), 1)


def test_a_missing_library_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(MissingLibraryError, match="pip install"):
        sampled_pairs(tree(*limb("ROOT", "A")), 1)


def test_the_srdf_of_a_package_has_the_sampled_pairs(tmp_path):
    motor = {"position": Range(0.5, 1.0), "effort": Range(-9.0, 9.0), "velocity": Range(-2.0, 2.0)}
    arm = [
        link(name, parent, X_PL=Pose(p=(0.0, 0.0, 0.5)), joint={**motor, "id": i})
        for i, (parent, name) in enumerate((("ROOT", "A"), ("A", "B"), ("B", "C")))
    ]
    options = {"additions": [MOVEIT], "diagnostics": silent()}
    package = write_package(tree(*arm), tmp_path / "p", **options)
    pairs = ElementTree.parse(package.srdf).getroot().findall("disable_collisions")
    reasons = sampled_pairs(package.body).reasons
    assert {(x.get("link1"), x.get("link2"), x.get("reason")) for x in pairs} == {
        (a, b, reason) for (a, b), reason in reasons.items()
    }
    with pytest.raises(ValueError, match="has no arm"):
        write_package(tree(link("A", "ROOT")), tmp_path / "q", **options)
    assert not (tmp_path / "q").exists()
