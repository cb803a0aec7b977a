"""OpenHRP nodes to Body: the one place that knows what a tree of nodes means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...body import Body, Joint, JointType, Link, link_pair
from ...devices import Device
from ...diagnostics import Source, Span
from ...geometry import SceneNode, Shape
from ...inertia import MassProperties, merge
from ...reading import Reading, read_source
from ...rigid import Array, Pose, is_rotation
from .expand import Expander
from .fields import Fields
from .joints import JointReader
from .library import known_types, scenery_types
from .nodes import Document, Node
from .parser import parse
from .scene import MAX_DEPTH, SceneBuilder
from .sensors import LIGHTS, DeviceReader, is_device, written_values
from .shapes import ShapeReader

# What a Joint's fields have become in the Link and its Joint; the rest is information.
_JOINT_FIELDS = (
    *("children", "translation", "rotation", "jointType", "jointId", "jointAxis"),
    *("llimit", "ulimit", "lvlimit", "uvlimit", "gearRatio", "rotorInertia", "torqueConst"),
    "encoderPulse",
)
_AT_THE_TOP = frozenset(("Humanoid", "ExtraJoint", *scenery_types()))
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
    lacks_shapes: bool = False

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
            lacks_shapes=self.lacks_shapes,
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
        self._namesakes: defaultdict[str, int] = defaultdict(lambda: 1)
        self._walked: set[int] = set()
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
        root = self._root(humanoid, name)
        if root is None:
            return None
        self._joint(root, None)
        self._warn_outside(nodes)
        links = tuple(draft.link() for draft in self._drafts.values())
        extra = (n for n in nodes if n.type_name == "ExtraJoint")
        found = (self._joints.extra_joint(n, frozenset(self._drafts)) for n in extra)
        return Body(
            name=name,
            links=links,
            devices=tuple(d for draft in self._drafts.values() for d in draft.devices),
            extra_joints=tuple(joint for joint in found if joint is not None),
            # Links that a joint connects overlap at it by nature; a free one connects nothing.
            self_collision_disabled=frozenset(
                link_pair(link.name, link.parent)
                for link in links
                if link.parent is not None and link.joint.type is not JointType.FREE
            ),
            info=written_values(humanoid, ()),
            path=source.path,
        )

    def _warn_outside(self, nodes: Iterable[Node]) -> None:
        """Warn about what stands beside the Humanoid, unless the robot uses it by its name."""
        for node in nodes:
            left_out = node.type_name not in _AT_THE_TOP and node.type.is_known
            if left_out and id(node) not in self._walked:
                message = f"a {node.type_name} beside the Humanoid is no part of the robot"
                self._diagnostics.warn("outside-humanoid", message, node.span)

    def _root(self, humanoid: Node, name: str) -> Node | None:
        """Return the one Joint of a Humanoid; the first, or none, after an error."""
        nodes = self._expander.nodes(humanoid.get("humanoidBody"))
        roots = [node for node in nodes if node.type_name not in scenery_types()]
        joints = [node for node in roots if node.type_name == "Joint"]
        if len(joints) != 1 or len(roots) != 1:
            at = roots[1].span if len(roots) > 1 else humanoid.at("humanoidBody")
            message = f"humanoidBody of '{name}' must hold one Joint and nothing else"
            self._diagnostics.error("bad-humanoid-body", message, at)
        return joints[0] if joints else None

    def _scenery(self, nodes: list[Node], source: Source) -> Body | None:
        """Return a file without a Humanoid as one fixed link, with its lights.

        Choreonoid names it "Root" and gives it 1 kg and a unit inertia, the values of a
        link about which nothing is said; nothing can move it.
        """
        at = Span(source, 0, 0)
        if not nodes:
            if not self._diagnostics.has_errors:
                self._diagnostics.error("empty-file", "there is no node in this file", at)
            return None
        builder = SceneBuilder(self._reading, self._expander)
        shapes = builder.scene(nodes).flattened()
        for joint in builder.joints[:1]:
            message = "no Humanoid at the top of the file holds this Joint; nothing here moves"
            self._diagnostics.warn("loose-joint", message, joint.span)
        if not shapes and not self._diagnostics.found:  # else that says why
            message = "there is neither a Humanoid nor a shape in this file; its one link is empty"
            self._diagnostics.warn("empty-scene", message, at)
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
        lights = tuple(self._light(node, link.name, T_LN) for node, T_LN in builder.lights)
        return Body(name=_stem(source), links=(link,), devices=lights, path=source.path)

    def _joint(self, node: Node, parent: _Draft | None) -> None:
        """Read a Joint node and all that hangs on it, parents before their children."""
        self._warn_ignored(node, "center", "scale")
        self._walked.add(id(node))
        self._reading.count("links", at=node.span)
        name = self._unique_name(node)
        joint = self._joints.joint(node, name, is_root=parent is None)
        above = None if parent is None else parent.name
        draft = _Draft(node, name, above, joint, self._fields.pose(node))
        self._drafts[name] = draft
        self._walk(self._expander.nodes(node.get("children")), draft, _Place(_IDENTITY))

    def _unique_name(self, node: Node) -> str:
        wanted = node.name or f"link{len(self._drafts)}"
        name = wanted
        while name in self._drafts:
            self._namesakes[wanted] += 1
            name = f"{wanted}_{self._namesakes[wanted]}"
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
            self._walked.add(id(node))
            if kind == "Shape":
                self._shape(node, draft, place)
            elif kind == "Joint":
                self._check_place(node, place)
                self._joint(node, draft)
            elif kind == "Surface":
                self._surface(node, draft, place)
            elif kind == "Inline":
                self._inline(node, draft, place)
            elif kind == "Humanoid":
                self._statue(node, draft, place)
            elif kind == "ExtraJoint":
                message = "an ExtraJoint stands at the top of a file, beside the Humanoid"
                self._diagnostics.warn("misplaced-node", message, node.span)
            elif kind in LIGHTS:
                draft.devices.append(self._light(node, draft.name, place.T_LN))
            elif kind not in scenery_types():
                self._walk(self._shapes.members(node), draft, self._inside(node, draft, place))
        self._depth -= 1

    def _check_place(self, joint: Node, place: _Place) -> None:
        T_LN = place.T_LN
        if T_LN is not _IDENTITY and not np.allclose(T_LN, _IDENTITY, rtol=0.0, atol=1e-9):
            message = "a Joint may not stand in a Transform that moves it"
            self._diagnostics.error("moved-joint", message, joint.span)
        if place.in_segment:
            message = "a Joint stands in a Segment or a sensor, where other loaders refuse it"
            self._diagnostics.warn("joint-in-segment", message, joint.span)

    def _statue(self, humanoid: Node, draft: _Draft, place: _Place) -> None:
        """Draw a robot that stands in a link of another: one file holds one that moves."""
        message = "a Humanoid within a link is drawn only; none of its joints moves"
        self._diagnostics.warn("nested-humanoid", message, humanoid.span)
        scene = SceneBuilder(self._reading, self._expander).scene((humanoid,))
        self._scene(scene, humanoid, draft, place)

    def _inside(self, node: Node, draft: _Draft, place: _Place) -> _Place:
        """Return the place inside a Segment, device or group, and keep what the node says."""
        matrix = self._fields.affine(node)
        T_LN = place.T_LN if matrix is None else place.T_LN @ matrix
        in_segment = place.in_segment
        device = node if is_device(node) else node.instance
        if node.type_name == "Segment":
            draft.masses.append(self._mass(node, T_LN))
            draft.segments.append(node.name)
            in_segment = True
        elif device is not None and is_device(device):
            X_LS = self._device_pose(device, T_LN)
            draft.devices.append(self._devices.device(device, draft.name, X_LS))
            in_segment = True
        return _Place(T_LN, in_segment, place.drawn, place.touched)

    def _mass(self, segment: Node, T_LN: Array) -> MassProperties:
        """Return the mass of a Segment in the link; a scale moves it, but leaves it as it is."""
        mass = self._joints.mass(segment)
        if mass.mass and not _is_orthonormal(T_LN[:3, :3]):
            message = "this Segment stands in a Transform that scales, but its mass is not scaled"
            self._diagnostics.warn("scaled-mass", message, segment.span)
        return mass.expressed_in(Pose(T_LN[:3, :3], T_LN[:3, 3]))

    def _light(self, node: Node, link: str, T_LN: Array) -> Device:
        """Return a light of VRML97, which says where it is by a point."""
        if "location" in node.type.fields:
            T_LN = T_LN.copy()
            T_LN[:3, 3] += T_LN[:3, :3] @ self._fields.vector(node, "location")
        return self._devices.device(node, link, self._device_pose(node, T_LN))

    def _device_pose(self, device: Node, T_LN: Array) -> Pose:
        """Return where a device sits: in a group that is scaled, its axes stay of length one."""
        lengths = np.linalg.norm(T_LN[:3, :3], axis=0)
        if lengths.all() and is_rotation(T_LN[:3, :3] / lengths):
            exact = np.abs(lengths - 1.0).max() < 1e-12
            return Pose(T_LN[:3, :3] if exact else T_LN[:3, :3] / lengths, T_LN[:3, 3])
        message = f"a Transform mirrors or bends this {device.type_name}; its axes are approximate"
        self._diagnostics.warn("bent-device", message, device.span)
        if not np.isfinite(T_LN).all():  # refused, once the body is checked
            return Pose(p=T_LN[:3, 3])
        # The nearest rotation, by the singular value decomposition.
        U, _, Vt = np.linalg.svd(T_LN[:3, :3])
        return Pose(U @ np.diag((1.0, 1.0, np.linalg.det(U @ Vt))) @ Vt, T_LN[:3, 3])

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
        draft.has_surface = True
        visual, collision = map(self._expander.nodes, map(node.get, ("visual", "collision")))
        self._walk(visual, draft, _Place(place.T_LN, place.in_segment))
        only_touched = _Place(place.T_LN, place.in_segment, drawn=False, touched=True)
        self._walk(collision, draft, only_touched)

    def _inline(self, node: Node, draft: _Draft, place: _Place) -> None:
        """Read the part that an Inline draws in; one of VRML may hold joints and sensors."""
        path = self._shapes.inline(node)
        if path is None:
            draft.lacks_shapes = True
            return
        at = node.at("url")
        if path.suffix.lower() != ".wrl":
            lost = self._reading.lost_shapes
            scene = self._reading.read_scene(path, at)
            draft.lacks_shapes |= self._reading.lost_shapes > lost
            self._scene(scene, node, draft, place)
            return
        with self._reading.entering(path, at) as entered:
            document = self._document(path, at) if entered else None
            if document is not None:
                self._walk(self._expander.nodes(document.nodes), draft, place)
            else:
                draft.lacks_shapes = True

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


def _is_orthonormal(matrix: Array) -> bool:
    return bool(np.abs(matrix.T @ matrix - _IDENTITY[:3, :3]).max() < 1e-6)


def _stem(source: Source) -> str:
    return (source.path or Path(source.name)).stem
