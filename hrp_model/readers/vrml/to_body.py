"""Build a Body from OpenHRP's nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path

import numpy as np

from ...body import Body, Joint, JointType, Link, Viewpoint, adjacent_pairs
from ...devices import Device
from ...diagnostics import Source, Span
from ...files.model_file import format_stem, format_suffix
from ...geometry import SceneNode, Shape
from ...inertia import MassProperties, merge
from ...late_dataclass import dataclass
from ...read_context import ReadContext, read_source
from ...rigid import Array, Pose, is_rotation
from .fields import Fields, known_types, scenery_types
from .nodes import Document, Expander, Node
from .parser import parse
from .parts import LIGHTS, DeviceReader, JointReader, is_device, written_values
from .shapes import MAX_DEPTH, SceneBuilder, ShapeReader

# Fields of a Joint that are read; all others become ``Link.info``.
_JOINT_FIELDS = (
    "children",
    "translation",
    "rotation",
    "jointType",
    "jointId",
    "jointAxis",
    "llimit",
    "ulimit",
    "lvlimit",
    "uvlimit",
    "gearRatio",
    "rotorInertia",
    "torqueConst",
    "encoderPulse",
)
_TOP_LEVEL = frozenset(("Humanoid", "ExtraJoint", *scenery_types()))
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
    """Context of a node within its link.

    Attributes:
        T_LN: Affine map from the node to the link, shape (4, 4).
        in_segment: Whether it is in a Segment or device, so that its shapes belong to the link.
        is_visual, is_collision: Use of its shapes.
    """

    T_LN: Array
    in_segment: bool = False
    is_visual: bool = True
    is_collision: bool = False


class BodyBuilder:
    """Builds a body from the tree below a Humanoid node."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context
        self._diagnostics = context.diagnostics
        self._expander = Expander(context.diagnostics)
        self._fields = Fields(context.diagnostics)
        self._shapes = ShapeReader(context, self._expander, self._fields)
        self._joints = JointReader(context.diagnostics, self._fields)
        self._devices = DeviceReader(context.diagnostics, self._fields)
        self._documents: dict[Path, Document | None] = {}
        self._drafts: dict[str, _Draft] = {}
        self._namesakes: defaultdict[str, int] = defaultdict(lambda: 1)
        self._walked: set[int] = set()
        self._depth = 0

    def body(self, document: Document) -> Body | None:
        """Return the robot of a file; without a Humanoid node, one fixed link of all its shapes."""
        nodes = list(self._expander.nodes(document.nodes))
        humanoids = [node for node in nodes if node.type_name == "Humanoid"]
        if not humanoids:
            return self._scenery(nodes, document.source)
        for another in humanoids[1:]:
            message = "a file can contain only one robot; this Humanoid is left out"
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
            self_collision_disabled=adjacent_pairs(links),
            viewpoints=tuple(self._viewpoints(humanoid)),
            info=written_values(humanoid, ()),
            path=source.path,
        )

    def _viewpoints(self, humanoid: Node) -> Iterator[Viewpoint]:
        """Yield the viewpoints of a Humanoid, whose own pose has no effect."""
        fields = self._fields
        for node in self._expander.nodes(humanoid.get("viewpoints")):
            if node.type_name != "Viewpoint":
                message = f"viewpoints must be Viewpoint nodes; this {node.type_name} is left out"
                self._diagnostics.warn("misplaced-node", message, node.span)
                continue
            yield Viewpoint(
                name=fields.text(node, "description") or node.name,
                X_MV=Pose(fields.rotation(node, "orientation"), fields.vector(node, "position")),
                field_of_view=fields.number(node, "fieldOfView"),
            )

    def _warn_outside(self, nodes: Iterable[Node]) -> None:
        """Warn about nodes beside the Humanoid, except those that the robot refers to by USE."""
        for node in nodes:
            left_out = node.type_name not in _TOP_LEVEL and node.type.is_known
            if left_out and id(node) not in self._walked:
                message = f"a {node.type_name} beside the Humanoid is not part of the robot"
                self._diagnostics.warn("outside-humanoid", message, node.span)

    def _root(self, humanoid: Node, name: str) -> Node | None:
        """Return the Joint of a Humanoid; reports an error unless there is exactly one."""
        nodes = self._expander.nodes(humanoid.get("humanoidBody"))
        roots = [node for node in nodes if node.type_name not in scenery_types()]
        joints = [node for node in roots if node.type_name == "Joint"]
        if len(joints) != 1 or len(roots) != 1:
            at = roots[1].span if len(roots) > 1 else humanoid.at("humanoidBody")
            message = f"humanoidBody of '{name}' must contain one Joint and nothing else"
            self._diagnostics.error("bad-humanoid-body", message, at)
        return joints[0] if joints else None

    def _scenery(self, nodes: list[Node], source: Source) -> Body | None:
        """Return a file without a Humanoid node as one fixed link, with its lights.

        As in Choreonoid it is named "Root" and has the default mass of 1 kg and unit inertia.
        """
        at = Span(source, 0, 0)
        if not nodes:
            if not self._diagnostics.has_errors:
                self._diagnostics.error("empty-file", "the file contains no nodes", at)
            return None
        builder = SceneBuilder(self._context, self._expander)
        shapes = builder.scene(nodes).flattened()
        for joint in builder.joints[:1]:
            message = "this Joint is not in a top-level Humanoid node; it is fixed"
            self._diagnostics.warn("loose-joint", message, joint.span)
        if not shapes and not self._diagnostics.found:  # else the reason was reported
            message = "the file has neither a Humanoid nor a shape; its only link is empty"
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
        """Read a Joint node and everything below it, parents before their children."""
        self._warn_ignored(node, "center", "scale")
        self._walked.add(id(node))
        self._context.count("links", at=node.span)
        name = self._unique_name(node)
        joint = self._joints.joint(node, name, is_root=parent is None)
        parent_name = None if parent is None else parent.name
        draft = _Draft(node, name, parent_name, joint, self._fields.pose(node))
        self._drafts[name] = draft
        self._walk(self._expander.nodes(node.get("children")), draft, _Place(_IDENTITY))

    def _unique_name(self, node: Node) -> str:
        wanted = node.name or f"link{len(self._drafts)}"
        name = wanted
        while name in self._drafts:
            self._namesakes[wanted] += 1
            name = f"{wanted}_{self._namesakes[wanted]}"
        if not node.name:
            message = f"a Joint has no DEF name; its link is named '{name}'"
            self._diagnostics.warn("unnamed-link", message, node.span)
        elif name != wanted:
            message = f"a Joint '{wanted}' already exists; this one is named '{name}'"
            self._diagnostics.warn("duplicate-link", message, node.span)
        return name

    def _warn_ignored(self, node: Node, *names: str) -> None:
        """Warn about fields of a transform that have no effect here in any loader."""
        for name in names:
            if name not in node.values:
                continue
            neutral = {"scale": (1.0, 1.0, 1.0)}.get(name, (0.0, 0.0, 0.0))
            value = node.values[name]
            if isinstance(value, tuple) and value != neutral and (name != "rotation" or value[3]):
                message = f"'{name}' of a {node.type_name} has no effect"
                self._diagnostics.warn("ignored-field", message, node.at(name))

    def _walk(self, nodes: Iterable[Node], draft: _Draft, place: _Place) -> None:
        """Read the nodes of one level of groups in a link."""
        if self._depth >= MAX_DEPTH:
            message = f"nodes are nested more than {MAX_DEPTH} levels deep"
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
                self._nested_humanoid(node, draft, place)
            elif kind == "ExtraJoint":
                message = (
                    "an ExtraJoint must be at the top level, beside the Humanoid; it is left out"
                )
                self._diagnostics.warn("misplaced-node", message, node.span)
            elif kind in LIGHTS:
                draft.devices.append(self._light(node, draft.name, place.T_LN))
            elif kind not in scenery_types():
                self._walk(self._shapes.members(node), draft, self._inside(node, draft, place))
        self._depth -= 1

    def _check_place(self, joint: Node, place: _Place) -> None:
        T_LN = place.T_LN
        if T_LN is not _IDENTITY and not np.allclose(T_LN, _IDENTITY, rtol=0.0, atol=1e-9):
            message = "a Joint must not be in a Transform that moves it"
            self._diagnostics.error("moved-joint", message, joint.span)
        if place.in_segment:
            message = "a Joint is in a Segment or a sensor, which other loaders reject"
            self._diagnostics.warn("joint-in-segment", message, joint.span)

    def _nested_humanoid(self, humanoid: Node, draft: _Draft, place: _Place) -> None:
        """Add the shapes of a Humanoid within a link."""
        message = "only the shapes of a Humanoid within a link are read; its joints are fixed"
        self._diagnostics.warn("nested-humanoid", message, humanoid.span)
        scene = SceneBuilder(self._context, self._expander).scene((humanoid,))
        self._scene(scene, humanoid, draft, place)

    def _inside(self, node: Node, draft: _Draft, place: _Place) -> _Place:
        """Return the place inside a Segment, device or group, and add its mass or device."""
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
        return _Place(T_LN, in_segment, place.is_visual, place.is_collision)

    def _mass(self, segment: Node, T_LN: Array) -> MassProperties:
        """Return the mass of a Segment in the link; a scale above it only moves the mass."""
        mass = self._joints.mass(segment)
        if mass.mass and not _is_orthonormal(T_LN[:3, :3]):
            message = "this Segment is in a Transform that scales, but its mass is not scaled"
            self._diagnostics.warn("scaled-mass", message, segment.span)
        return mass.expressed_in(Pose(T_LN[:3, :3], T_LN[:3, 3]))

    def _light(self, node: Node, link: str, T_LN: Array) -> Device:
        """Return a light of VRML97, which may have a location."""
        if "location" in node.type.fields:
            T_LN = T_LN.copy()
            T_LN[:3, 3] += T_LN[:3, :3] @ self._fields.vector(node, "location")
        return self._devices.device(node, link, self._device_pose(node, T_LN))

    def _device_pose(self, device: Node, T_LN: Array) -> Pose:
        """Return the pose of a device in its link, without the scale of the groups around it."""
        lengths = np.linalg.norm(T_LN[:3, :3], axis=0)
        if lengths.all() and is_rotation(T_LN[:3, :3] / lengths):
            exact = np.abs(lengths - 1.0).max() < 1e-12
            return Pose(T_LN[:3, :3] if exact else T_LN[:3, :3] / lengths, T_LN[:3, 3])
        message = f"a Transform mirrors or shears this {device.type_name}; its axes are approximate"
        self._diagnostics.warn("bent-device", message, device.span)
        if not np.isfinite(T_LN).all():  # validation reports it
            return Pose(p=T_LN[:3, 3])
        # The nearest rotation, by the singular value decomposition.
        U, _, Vt = np.linalg.svd(T_LN[:3, :3])
        return Pose(U @ np.diag((1.0, 1.0, np.linalg.det(U @ Vt))) @ Vt, T_LN[:3, 3])

    def _shape(self, node: Node, draft: _Draft, place: _Place) -> None:
        if not place.in_segment:
            message = (
                "a Shape below a Joint must be in a Segment; it is left out, as in other loaders"
            )
            self._diagnostics.warn("shape-outside-segment", message, node.span)
            return
        shape = self._shapes.shape(node, place.T_LN)
        if shape is not None:
            self._add_shape(shape, draft, place)

    def _add_shape(self, shape: Shape, draft: _Draft, place: _Place) -> None:
        if place.is_visual:
            draft.visual.append(shape)
        if place.is_collision:
            draft.collision.append(shape)

    def _surface(self, node: Node, draft: _Draft, place: _Place) -> None:
        """Read a Surface, which has separate visual and collision shapes."""
        draft.has_surface = True
        visual, collision = map(self._expander.nodes, map(node.get, ("visual", "collision")))
        self._walk(visual, draft, _Place(place.T_LN, place.in_segment))
        inside = _Place(place.T_LN, place.in_segment, is_visual=False, is_collision=True)
        self._walk(collision, draft, inside)

    def _inline(self, node: Node, draft: _Draft, place: _Place) -> None:
        """Read the file of an Inline; a VRML file may contain joints and sensors."""
        path = self._shapes.inline(node)
        if path is None:
            draft.lacks_shapes = True
            return
        at = node.at("url")
        if format_suffix(path) != ".wrl":
            lost = self._context.lost_shapes
            scene = self._context.read_scene(path, at)
            draft.lacks_shapes |= self._context.lost_shapes > lost
            self._scene(scene, node, draft, place)
            return
        with self._context.entering(path, at) as entered:
            document = self._document(path, at) if entered else None
            if document is not None:
                self._walk(self._expander.nodes(document.nodes), draft, place)
            else:
                draft.lacks_shapes = True

    def _scene(self, scene: SceneNode | None, node: Node, draft: _Draft, place: _Place) -> None:
        if scene is None:
            return
        if not place.in_segment:
            message = (
                "shapes below a Joint must be in a Segment; they are left out, as in other loaders"
            )
            self._diagnostics.warn("shape-outside-segment", message, node.span)
            return
        for shape in scene.flattened():
            self._add_shape(shape.moved(place.T_LN), draft, place)

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
    return format_stem(source.path or Path(source.name))
