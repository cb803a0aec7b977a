"""OpenHRP nodes to Body: the one place that knows what a tree of nodes means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..body import Body, Joint, JointType, Link, link_pair
from ..devices import Device
from ..diagnostics import Source, Span
from ..geometry import SceneNode, Shape
from ..inertia import MassProperties, merge
from ..reading import Reading, read_source
from ..rigid import Array, Pose
from .expand import Expander
from .fields import Fields
from .joints import JointReader
from .library import known_types, scenery_types
from .nodes import Document, Node
from .parser import parse
from .scene import MAX_DEPTH, SceneBuilder
from .sensors import DEVICES, DeviceReader, written_values
from .shapes import ShapeReader, members

# What a Joint's fields have become in the Link and its Joint; the rest is information.
_JOINT_FIELDS = (
    *("children", "translation", "rotation", "jointType", "jointId", "jointAxis"),
    *("llimit", "ulimit", "lvlimit", "uvlimit", "gearRatio", "rotorInertia", "torqueConst"),
)
_IDENTITY = np.eye(4)


@dataclass(eq=False)
class _Draft:
    """A link being read."""

    node: Node
    name: str
    parent: str | None
    joint: Joint
    X_PL: Pose
    masses: list[MassProperties] = field(default_factory=list)
    segments: list[str] = field(default_factory=list)
    visual: list[Shape] = field(default_factory=list)
    collision: list[Shape] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)
    has_surface: bool = False

    def link(self) -> Link:
        """Return the finished link."""
        mass = merge(self.masses)
        visual = tuple(self.visual)
        info = written_values(self.node, _JOINT_FIELDS)
        if self.segments:
            info["segments"] = list(self.segments)
        return Link(
            name=self.name,
            parent=self.parent,
            joint=self.joint,
            X_PL=self.X_PL,
            mass=mass.mass,
            center_of_mass=mass.center_of_mass,
            inertia=mass.inertia,
            visual=visual,
            collision=tuple(self.collision) if self.has_surface else visual,
            info=info,
            at=self.node.span,
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a link a node stands: its frame there, and what its shapes are good for."""

    T_LN: Array
    in_segment: bool = False
    drawn: bool = True
    touched: bool = False


class BodyBuilder:
    """Walks the tree below a Humanoid node."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._diagnostics = reading.diagnostics
        self._expander = Expander(reading.diagnostics)
        self._fields = Fields(reading.diagnostics)
        self._shapes = ShapeReader(reading, self._expander, self._fields)
        self._joints = JointReader(reading.diagnostics, self._fields)
        self._devices = DeviceReader(reading.diagnostics, self._fields)
        self._documents: dict[Path, Document | None] = {}
        self._drafts: dict[str, _Draft] = {}
        self._depth = 0

    def body(self, document: Document) -> Body | None:
        """Return the robot of a file; without a Humanoid, one fixed link of all its shapes."""
        nodes = list(self._expander.nodes(document.nodes))
        humanoids = [node for node in nodes if node.type_name == "Humanoid"]
        if not humanoids:
            return self._scenery(nodes, document.source)
        for another in humanoids[1:]:
            message = "a file holds one robot; this Humanoid is left out"
            self._diagnostics.warn("second-humanoid", message, another.span)
        return self._robot(humanoids[0], nodes, document.source)

    def _robot(self, humanoid: Node, nodes: list[Node], source: Source) -> Body | None:
        name = humanoid.name or self._fields.text(humanoid, "name") or _stem(source)
        self._warn_ignored(humanoid, "translation", "rotation", "scale")
        roots = list(self._expander.nodes(humanoid.get("humanoidBody")))
        joints = [node for node in roots if node.type_name == "Joint"]
        if len(joints) != 1 or len(roots) != 1:
            at = roots[1].span if len(roots) > 1 else humanoid.at("humanoidBody")
            message = f"humanoidBody of '{name}' must hold one Joint and nothing else"
            self._diagnostics.error("bad-humanoid-body", message, at)
            if not joints:
                return None
        self._joint(joints[0], None)
        links = tuple(draft.link() for draft in self._drafts.values())
        extra = (n for n in nodes if n.type_name == "ExtraJoint")
        found = (self._joints.extra_joint(n, frozenset(self._drafts)) for n in extra)
        return Body(
            name=name,
            links=links,
            devices=tuple(d for draft in self._drafts.values() for d in draft.devices),
            extra_joints=tuple(joint for joint in found if joint is not None),
            # Links that a joint connects overlap at it by nature.
            self_collision_disabled=frozenset(
                link_pair(link.name, link.parent) for link in links if link.parent is not None
            ),
            info=written_values(humanoid, ()),
            path=source.path,
        )

    def _scenery(self, nodes: list[Node], source: Source) -> Body | None:
        """Return a file without a Humanoid as one fixed link.

        Choreonoid names it "Root" and gives it 1 kg and a unit inertia, the values of a
        link about which nothing is said; nothing can move it.
        """
        at = Span(source, 0, 0)
        if not nodes:
            if not self._diagnostics.has_errors:
                self._diagnostics.error("empty-file", "there is no node in this file", at)
            return None
        shapes = SceneBuilder(self._reading, self._expander).scene(nodes).flattened()
        link = Link(
            name="Root",
            parent=None,
            joint=Joint(type=JointType.FIXED, name="Root"),
            mass=1.0,
            inertia=np.eye(3),
            visual=shapes,
            collision=shapes,
            at=at,
        )
        return Body(name=_stem(source), links=(link,), path=source.path)

    def _joint(self, node: Node, parent: _Draft | None) -> None:
        """Read a Joint node and all that hangs on it, parents before their children."""
        self._warn_ignored(node, "center", "scale")
        name = self._unique_name(node)
        joint = self._joints.joint(node, name, is_root=parent is None)
        above = None if parent is None else parent.name
        draft = _Draft(node, name, above, joint, self._fields.pose(node))
        self._drafts[name] = draft
        self._walk(self._expander.nodes(node.get("children")), draft, _Place(_IDENTITY))

    def _unique_name(self, node: Node) -> str:
        wanted = node.name or f"link{len(self._drafts)}"
        name, number = wanted, 2
        while name in self._drafts:
            name, number = f"{wanted}_{number}", number + 1
        if not node.name:
            message = f"a Joint has no DEF name; its link is called '{name}'"
            self._diagnostics.warn("unnamed-link", message, node.span)
        elif name != wanted:
            message = f"there is a Joint '{wanted}' already; this one is called '{name}'"
            self._diagnostics.warn("duplicate-link", message, node.span)
        return name

    def _warn_ignored(self, node: Node, *names: str) -> None:
        """Warn about fields that place a node, and that no loader heeds here."""
        for name in names:
            if name not in node.values:
                continue
            neutral = {"scale": (1.0, 1.0, 1.0)}.get(name, (0.0, 0.0, 0.0))
            value = node.values[name]
            if isinstance(value, tuple) and value != neutral and (name != "rotation" or value[3]):
                message = f"'{name}' of a {node.type_name} has no effect"
                self._diagnostics.warn("ignored-field", message, node.at(name))

    def _walk(self, nodes: Iterable[Node], draft: _Draft, place: _Place) -> None:
        """Read what stands in a link, at one level of groups."""
        if self._depth >= MAX_DEPTH:
            message = f"nodes stand more than {MAX_DEPTH} deep in one another"
            self._diagnostics.error("too-deep", message, draft.node.span)
            return
        self._depth += 1
        for node in nodes:
            kind = node.type_name
            if kind == "Shape":
                self._shape(node, draft, place)
            elif kind == "Joint":
                if not np.allclose(place.T_LN, _IDENTITY, rtol=0.0, atol=1e-9):
                    message = "a Joint may not stand in a Transform that moves it"
                    self._diagnostics.error("moved-joint", message, node.span)
                self._joint(node, draft)
            elif kind == "Surface":
                self._surface(node, draft, place)
            elif kind == "Inline":
                self._inline(node, draft, place)
            elif kind not in scenery_types():
                self._walk(members(node, self._expander), draft, self._inside(node, draft, place))
        self._depth -= 1

    def _inside(self, node: Node, draft: _Draft, place: _Place) -> _Place:
        """Return the place inside a Segment, device or group, and keep what the node says."""
        matrix = self._fields.affine(node)
        T_LN = place.T_LN if matrix is None else place.T_LN @ matrix
        in_segment = place.in_segment
        if node.type_name == "Segment":
            mass = self._joints.mass(node)
            draft.masses.append(mass.expressed_in(Pose(T_LN[:3, :3], T_LN[:3, 3])))
            draft.segments.append(node.name)
            in_segment = True
        elif node.type_name in DEVICES:
            draft.devices.append(self._devices.device(node, draft.name, _unscaled(T_LN)))
            in_segment = True
        return _Place(T_LN, in_segment, place.drawn, place.touched)

    def _shape(self, node: Node, draft: _Draft, place: _Place) -> None:
        if not place.in_segment:
            message = "a Shape below a Joint stands in a Segment, else no loader shows it"
            self._diagnostics.warn("shape-outside-segment", message, node.span)
            return
        shape = self._shapes.shape(node, place.T_LN)
        if shape is not None:
            self._keep(shape, draft, place)

    def _keep(self, shape: Shape, draft: _Draft, place: _Place) -> None:
        if place.drawn:
            draft.visual.append(shape)
        if place.touched:
            draft.collision.append(shape)

    def _surface(self, node: Node, draft: _Draft, place: _Place) -> None:
        """Read a Surface: what is drawn and what touches, apart."""
        visual = list(self._expander.nodes(node.get("visual")))
        collision = list(self._expander.nodes(node.get("collision")))
        draft.has_surface = draft.has_surface or bool(visual or collision)
        self._walk(visual, draft, _Place(place.T_LN, place.in_segment))
        only_touched = _Place(place.T_LN, place.in_segment, drawn=False, touched=True)
        self._walk(collision, draft, only_touched)

    def _inline(self, node: Node, draft: _Draft, place: _Place) -> None:
        """Read the part that an Inline draws in; one of VRML may hold joints and sensors."""
        path = self._shapes.inline(node)
        if path is None:
            return
        at = node.at("url")
        if path.suffix.lower() != ".wrl":
            scene = self._reading.read_scene(path, at)
            self._scene(scene, node, draft, place)
            return
        with self._reading.entering(path, at) as entered:
            document = self._document(path, at) if entered else None
            if document is not None:
                self._walk(self._expander.nodes(document.nodes), draft, place)

    def _scene(self, scene: SceneNode | None, node: Node, draft: _Draft, place: _Place) -> None:
        if scene is None:
            return
        if not place.in_segment:
            message = "shapes below a Joint stand in a Segment, else no loader shows them"
            self._diagnostics.warn("shape-outside-segment", message, node.span)
            return
        for shape in scene.flattened():
            self._keep(shape.moved(place.T_LN), draft, place)

    def _document(self, path: Path, at: Span) -> Document | None:
        if path not in self._documents:
            try:
                document = parse(read_source(path), self._diagnostics, known_types())
            except OSError as error:
                message = f"'{path.name}' is left out: {error.strerror or error}"
                self._diagnostics.warn("unreadable-resource", message, at)
                self._documents[path] = None
            else:
                self._documents[path] = document
        return self._documents[path]


def _unscaled(T: Array) -> Pose:
    """Return the pose in an affine map: where a device sits in a group that is scaled."""
    columns = T[:3, :3]
    lengths = np.linalg.norm(columns, axis=0)
    if np.abs(lengths - 1.0).max() < 1e-12 or not lengths.all():
        return Pose(columns, T[:3, 3])
    return Pose(columns / lengths, T[:3, 3])


def _stem(source: Source) -> str:
    return (source.path or Path(source.name)).stem
