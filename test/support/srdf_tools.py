"""Bodies and their SRDF; the errors of srdfdom and MoveIt's RobotModel as rules."""

from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
from paths import MODELS, SHARED, needs_shared
from silent_diagnostics import silent

from hrp_model import load_body
from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.geometry import Box, Shape
from hrp_model.rigid import Pose
from hrp_model.urdf import body_to_srdf, convert

CHOREONOID = SHARED / "models" / "choreonoid__choreonoid" / "share" / "model"
OPENHRP = SHARED / "models" / "fkanehiro__openhrp3" / "sample" / "model"
OURS = {
    path.name: path for path in sorted(MODELS.glob("*/*.*")) if path.suffix in (".body", ".wrl")
}
THEIRS = {
    "sample1.wrl": OPENHRP / "sample1.wrl",
    "HRP4Cmain.wrl": SHARED / "models/isri-aist__hrp4c_description/vrml/HRP4Cmain.wrl",
    **{
        name: CHOREONOID / folder / name
        for folder, name in (
            ("PA10", "PA10.body"),
            ("SR1", "SR1.body"),
            ("GR001", "GR001.body"),
            ("AizuSpider", "AizuSpiderNA.body"),
            ("misc", "ClosedLinkSample.body"),
            ("Tank", "Tank.body"),
        )
    },
}
IN_DEFAULT = ("humanoid.wrl", "rover.body", "SR1.body", "ClosedLinkSample.body")
robots = pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=name,
            marks=[needs_shared] * (name in THEIRS) + [pytest.mark.slow] * (name not in IN_DEFAULT),
        )
        for name, path in (OURS | THEIRS).items()
    ],
)

MOVING = ("revolute", "continuous", "prismatic")


class Description:
    """A URDF and its SRDF, parsed."""

    def __init__(self, urdf, srdf):
        self.urdf, self.srdf = (ElementTree.fromstring(text.encode()) for text in (urdf, srdf))
        self.links = {link.get("name"): link for link in self.urdf.findall("link")}
        self.joints = {joint.get("name"): joint for joint in self.urdf.findall("joint")}
        self.above = {j.find("child").get("link"): j for j in self.joints.values()}
        self.groups = {group.get("name"): group for group in self.srdf.findall("group")}

    def root(self):
        (root,) = self.links.keys() - self.above.keys()
        return root

    def parent(self, link):
        joint = self.above.get(link)
        return None if joint is None else joint.find("parent").get("link")

    def chain(self, base, tip):
        """Return the joints of a chain from base to tip."""
        joints, link = [], tip
        while link is not None and link != base:
            joints.append(self.above[link].get("name") if link in self.above else None)
            link = self.parent(link)
        return joints[::-1] if link == base else []

    def members(self, group):
        """Return the joints and links that a group has in MoveIt."""
        element = self.groups[group]
        joints = [joint.get("name") for joint in element.findall("joint")]
        for chain in element.findall("chain"):
            joints += self.chain(chain.get("base_link"), chain.get("tip_link"))
        links = [link.get("name") for link in element.findall("link")]
        joints += [self.above[link].get("name") for link in links if link in self.above]
        links += [self.joints[joint].find("child").get("link") for joint in joints]
        for sub in element.findall("group"):
            more_joints, more_links = self.members(sub.get("name"))
            joints, links = joints + more_joints, links + more_links
        return joints, links

    def active(self, group):
        """Return the joints of a group that have a position of their own."""
        joints = {name: self.joints[name] for name in self.members(group)[0]}
        return {n for n, j in joints.items() if j.get("type") in MOVING and j.find("mimic") is None}

    def disabled(self):
        """Return the reasons why pairs of links are not tested, by pair."""
        pairs = self.srdf.findall("disable_collisions")
        return {frozenset((p.get("link1"), p.get("link2"))): p.get("reason") for p in pairs}


def complaints(urdf, srdf):
    """Return what MoveIt would print about an SRDF, as sentences."""
    d = Description(urdf, srdf)
    found = []
    if d.srdf.tag != "robot" or d.srdf.get("name", "").strip() != d.urdf.get("name"):
        found.append("the SRDF is not of the same robot")
    if len(d.groups) != len(d.srdf.findall("group")):
        found.append("two groups have the same name")
    return [
        *found,
        *_of_virtual_joints(d),
        *_of_groups(d),
        *_of_states(d),
        *_of_end_effectors(d),
        *_of_pairs(d),
    ]


def _of_virtual_joints(d):
    for joint in d.srdf.findall("virtual_joint"):
        if joint.get("child_link") != d.root():
            yield "a virtual joint is not attached to the root"
        if joint.get("type") not in ("fixed", "floating", "planar"):
            yield f"unknown type {joint.get('type')}"
        if joint.get("parent_frame") in d.links or joint.get("name") in d.joints:
            yield "a virtual joint takes a name of the robot"
    for joint in d.srdf.findall("passive_joint"):
        if joint.get("name") not in d.joints:
            yield f"unknown passive joint {joint.get('name')}"


def _of_groups(d):
    seen = set()
    for name, group in d.groups.items():
        named = [(x.tag, x.get("name")) for x in group if x.tag != "chain"]
        known = {"link": d.links, "joint": d.joints, "group": seen}
        yield from (f"{name}: unknown {tag} {x}" for tag, x in named if x not in known[tag])
        for chain in group.findall("chain"):
            if not d.chain(chain.get("base_link"), chain.get("tip_link")):
                yield f"{name}: no chain"
        seen.add(name)
        if not d.members(name)[0]:
            yield f"{name} is empty"
        if not name.isascii() or not name.replace("_", "").isalnum():
            yield f"{name} cannot be the name of a parameter"


def _of_states(d):
    seen = set()
    for state in d.srdf.findall("group_state"):
        group = state.get("group")
        key = (state.get("name"), group)
        if group not in d.groups or key in seen:
            yield f"{key}: unknown group, or twice"
            continue
        seen.add(key)
        given = [joint.get("name") for joint in state.findall("joint")]
        if not d.active(group) <= set(given):
            yield f"{key}: joints are missing"
        if not set(given) <= set(d.members(group)[0]) or len(set(given)) < len(given):
            yield f"{key}: joints are not of the group, or twice"
        for joint in state.findall("joint"):
            float(joint.get("value"))


def _of_end_effectors(d):
    for end in d.srdf.findall("end_effector"):
        group, parent = end.get("group"), end.get("parent_group")
        if group not in d.groups or parent not in d.groups or group == parent:
            yield f"{end.get('name')}: unknown groups, or its own parent"
        elif end.get("parent_link") not in d.members(parent)[1]:
            yield f"{end.get('name')}: the parent group has no such link"


def _of_pairs(d):
    pairs = d.srdf.findall("disable_collisions")
    if len(d.disabled()) < len(pairs):
        yield "a pair is disabled twice"
    for pair in pairs:
        for name in (pair.get("link1"), pair.get("link2")):
            if name not in d.links or d.links[name].find("collision") is None:
                yield f"{name} collides with nothing"
        if pair.get("link1") == pair.get("link2"):
            yield "a pair of one link"


@cache
def loaded(path):
    return load_body(path, silent())


def described(body, options=None, folder=None):
    """Return the URDF and the SRDF of a body."""
    made = convert(body, folder, options=options, diagnostics=silent())
    return made.urdf, body_to_srdf(made.body, made.frames, silent())


def read(body, options=None, folder=None):
    return Description(*described(body, options, folder))


BLOCK = Shape(Box([0.1, 0.1, 0.1]))


def link(name, parent, kind=JointType.REVOLUTE, **more):
    """Return a link 0.3 m above its parent, with a block of 0.1 m to collide with."""
    joint = more.pop("joint", {})
    settings = {"X_PL": Pose(p=(0.0, 0.0, 0.3)), "mass": 1.0, "inertia": np.eye(3)}
    settings |= {"visual": (BLOCK,), "collision": (BLOCK,)}
    made = Joint(type=kind, **{"name": name, "axis": (1.0, 0.0, 0.0), **joint})
    return Link(name=name, parent=parent, joint=made, **{**settings, **more})


def tree(*links, **more):
    kind = more.pop("root", JointType.FIXED)
    root = link("ROOT", None, kind, X_PL=more.pop("at", Pose()))
    return Body(name="tree", links=(root, *links), **more)


def limb(parent, *names):
    return [link(name, above) for name, above in zip(names, (parent, *names), strict=False)]
