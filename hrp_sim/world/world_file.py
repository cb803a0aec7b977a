"""Read the syntax tree of a world file into a WorldConfig."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from hrp_model import Body, BodyState, Diagnostics, Pose
from hrp_model.body import ExtraJointType
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.readers.yaml.nodes import Mapping, Scalar, Sequence
from hrp_model.rigid import Array, unit_vector
from hrp_msgs.names import namespace_error

from ..control.handling import JointEntry
from ..engine.articulation.numeric_limits import MAX_COORDINATE
from ..engine.engine import PhysicsSettings, Placement
from ..engine.materials import MaterialTable
from ..sensors import IDEAL
from .config import BodyEntry, NamedPose, WorldConfig
from .control_file import read_control, read_controllers, report_unknown_joints
from .fields import ModelFiles, mappings, position_degrees_hint, read_rotation
from .physics_file import load_materials, read_materials, read_physics
from .sensor_options import read_common, read_single

_TYPES: dict[str, ExtraJointType | None] = {kind.value: kind for kind in ExtraJointType}
_AXIS_X = np.array([1.0, 0.0, 0.0])


class WorldReader:
    """Reads one world file; reports every problem and substitutes defaults."""

    def __init__(self, folder: Path, diagnostics: Diagnostics) -> None:
        self._folder = folder
        self._diagnostics = diagnostics
        self._models = ModelFiles(diagnostics)

    def read(self, root: Mapping) -> WorldConfig:
        """Read the whole file."""
        physics = _physics_node(root)
        settings = PhysicsSettings() if physics is None else self._physics(physics)
        sensors = root.mapping("sensors")
        bodies = root.sequence("bodies")
        entries: list[BodyEntry] = []
        names: set[str] = set()
        problem = "a body must be a mapping with 'model: FILE' and further keys"
        for item in mappings(bodies, root, problem):
            entry = self._body(item)
            if entry is None:
                continue
            name = entry.placement.name
            if name in names:
                message = f"two bodies are named '{name}'; give one of them another 'name'"
                self._diagnostics.error("duplicate-name", message, item.span)
            names.add(name)
            entries.append(entry)
        known = names if bodies and len(entries) == bodies.count else None  # else it was reported
        joints = _joints(root, {entry.placement.name: entry.placement.body for entry in entries})
        controllers = tuple(read_controllers(root, known, self._folder))
        poses = _named_poses(root)
        root.finish()
        return WorldConfig(
            physics=settings,
            sensors=IDEAL if sensors is None else read_common(sensors),
            bodies=tuple(entries),
            joints=joints,
            controllers=controllers,
            named_poses=poses,
        )

    def _physics(self, node: Mapping) -> PhysicsSettings:
        settings = replace(read_physics(node), materials=self._materials(node))
        node.finish()
        return settings

    def _materials(self, node: Mapping) -> MaterialTable:
        """Read the table of materials, given inline or as the path of a file."""
        written = node.get("materials")
        if isinstance(written, Scalar) and not (written.is_null or written.text == "none"):
            return load_materials(written.text, self._folder, self._diagnostics, written.span)
        inside = None if isinstance(written, Scalar) else node.mapping("materials")
        return MaterialTable() if inside is None else read_materials(inside)

    def _body(self, node: Mapping) -> BodyEntry | None:
        body = self._model(node)
        entry = None if body is None else self._entry(node, body)
        if entry is not None:
            node.finish()
        return entry

    def _model(self, node: Mapping) -> Body | None:
        uri = node.text("model", default=None)
        if not uri:
            if uri is not None or "model" not in node:  # else it was reported already
                message = "a body needs 'model', the path of its model file"
                self._diagnostics.error("missing-model", message, node.at("model"))
            return None
        given: dict[str, str] = {}
        if (arguments := node.mapping("arguments")) is not None:
            given = {key: arguments.text(key, default="") for key in arguments.entries()}
        return self._models.load(uri, self._folder, node.at("model"), given)

    def _entry(self, node: Mapping, body: Body) -> BodyEntry:
        velocity = node.mapping("velocity")
        linear = angular = np.zeros(3)
        if velocity is not None:
            linear = velocity.numbers("linear", count=3, default=linear)
            angular = velocity.numbers("angular", count=3, default=angular)
            velocity.finish()
        placement = Placement(
            name=node.text("name", default=body.name),
            body=body,
            X_WL=Pose(
                read_rotation(node, body.root.X_PL.R),
                node.numbers("position", count=3, default=body.root.X_PL.p),
            ),
            q=self._joint_positions(node.mapping("joints"), body),
            dq=self._joint_values(
                node.mapping("joint_velocities"), body, np.zeros(len(body.moving_links))
            ),
            v=linear,
            w=angular,
            fixed=node.boolean("fixed", default=body.is_root_fixed),
        )
        sensors = node.mapping("sensors")
        options = {} if sensors is None else read_single(sensors, body)
        return BodyEntry(
            placement=placement,
            control=read_control(node, body),
            sensors=options,
            namespace=self._namespace(node),
            surface_velocity=self._surface_velocity(node, body),
        )

    def _namespace(self, node: Mapping) -> str | None:
        namespace = node.text("namespace", default=None)
        if namespace is not None and (problem := namespace_error(namespace)):
            self._diagnostics.error("bad-namespace", problem, node.at("namespace"))
            return None
        return namespace

    def _surface_velocity(self, node: Mapping, body: Body) -> dict[str, Array]:
        """Read how the surfaces of links move, by link name."""
        given = node.mapping("surface_velocity")
        names = [link.name for link in body.links]
        found: dict[str, Array] = {}
        for name, (key, _) in given.entries().items() if given is not None else ():
            if name not in names:
                message = f"the model has no link '{name}'.{did_you_mean_or_all(name, names)}"
                self._diagnostics.error("unknown-link", message, key.span)
            elif given is not None:
                found[name] = given.numbers(name, count=3, default=np.zeros(3))
        return found

    def _joint_positions(self, given: Mapping | None, body: Body) -> Array:
        q = self._joint_values(given, body, BodyState(body).q)
        for link, value in zip(body.moving_links, q, strict=True):
            if given is None or link.joint.name not in given:
                continue
            if message := position_degrees_hint(link, float(value)):
                self._diagnostics.warn("maybe-degrees", message, given.at(link.joint.name))
        return q

    def _joint_values(self, given: Mapping | None, body: Body, values: Array) -> Array:
        joints = {link.joint.name: i for i, link in enumerate(body.moving_links)}
        if given is not None:
            for name in joints:
                values[joints[name]] = given.number(name, default=values[joints[name]])
            report_unknown_joints(given, list(joints))
        return values


def _physics_node(root: Mapping) -> Mapping | None:
    """Return the mapping under ``physics``, also if it is the only item of a list.

    So an item of a Choreonoid project can be pasted with its leading dash.
    """
    written = root.get("physics")
    if type(written) is Sequence and len(written.items) == 1 and type(written.items[0]) is Mapping:
        return written.items[0]
    return root.mapping("physics")


def _joints(root: Mapping, bodies: dict[str, Body]) -> tuple[JointEntry, ...]:
    """Read the joints between bodies, given by name."""
    joints: dict[str, JointEntry] = {}
    problem = "a joint must be a mapping with 'type', 'link1' and 'link2'"
    for number, item in enumerate(mappings(root.sequence("joints"), root, problem), 1):
        joint = _joint(item, f"joint{number}", bodies)
        if joint is None:
            continue
        if joint.name in joints:
            message = f"two joints are named '{joint.name}'; give one of them another 'name'"
            root.diagnostics.error("duplicate-name", message, item.at("name"))
        joints[joint.name] = joint
    return tuple(joints.values())


def _joint(node: Mapping, default_name: str, bodies: dict[str, Body]) -> JointEntry | None:
    name = node.text("name", default=default_name)
    kind = node.choice("type", choices=_TYPES, default=None)
    if "type" not in node:
        message = f"a joint needs a 'type': {', '.join(_TYPES)}"
        node.diagnostics.error("missing-key", message, node.span)
    ends = [_end(node, key, bodies) for key in ("link1", "link2")]
    axis = _axis(node)
    node.finish()
    if kind is None or ends[0] is None or ends[1] is None:
        return None
    (body_a, link_a, X_AJ), (body_b, link_b, X_BJ) = ends[0], ends[1]
    if body_a == body_b:
        message = (
            f"both links of joint '{name}' belong to body '{body_a}'; it must connect two bodies "
            "(extra joints within a body belong to its model)"
        )
        node.diagnostics.error("same-body", message, node.at("link2"))
        return None
    return JointEntry(
        name=name,
        type=kind,
        bodies=(body_a, body_b),
        links=(link_a, link_b),
        X_AJ=X_AJ,
        X_BJ=X_BJ,
        axis=axis,
    )


def _end(node: Mapping, key: str, bodies: dict[str, Body]) -> tuple[str, str, Pose] | None:
    """Read the body, the link and the pose of the joint's frame in it."""
    end = node.mapping(key)
    if end is None:
        if key not in node:
            message = f"a joint needs '{key}: {{body: NAME, link: NAME}}'"
            node.diagnostics.error("missing-key", message, node.span)
        return None
    name = end.text("body", default="")
    link = end.text("link", default=None)
    X_LJ = Pose(
        read_rotation(end, np.eye(3)), end.numbers("position", count=3, default=np.zeros(3))
    )
    end.finish()
    if name not in bodies:
        hint = did_you_mean_or_all(name, bodies)
        message = f"{key} of a joint refers to body '{name}', which this world does not have.{hint}"
        end.diagnostics.error("unknown-body", message, end.at("body"))
        return None
    links = [known.name for known in bodies[name].links]
    if link is None:
        link = links[0]
    if link not in links:
        message = f"body '{name}' has no link '{link}'.{did_you_mean_or_all(link, links)}"
        end.diagnostics.error("unknown-link", message, end.at("link"))
        return None
    return name, link, X_LJ


def _axis(node: Mapping) -> Array:
    axis = unit_vector(node.numbers("axis", count=3, default=_AXIS_X))
    if axis is None:
        node.diagnostics.error("zero-axis", "a joint axis must not be zero", node.at("axis"))
        return _AXIS_X
    return axis


def _named_poses(root: Mapping) -> tuple[NamedPose, ...]:
    found: dict[str, NamedPose] = {}
    problem = "a named pose must be a mapping with 'name' and further keys"
    for item in mappings(root.sequence("named_poses"), root, problem):
        pose = _named_pose(item)
        if not pose.name:
            root.diagnostics.error("missing-name", "a named pose needs a name", item.span)
        elif pose.name in found:
            message = f"two poses are named '{pose.name}'; give one of them another name"
            root.diagnostics.error("duplicate-name", message, item.at("name"))
        found[pose.name] = pose
    return tuple(found.values())


def _named_pose(node: Mapping) -> NamedPose:
    position = node.numbers("position", count=3, default=np.zeros(3))
    if not np.all(np.abs(position) < MAX_COORDINATE):
        message = f"the position must be within {MAX_COORDINATE:g} m of the origin"
        node.diagnostics.error("out-of-range", message, node.at("position"))
    pose = NamedPose(
        name=node.text("name", default=""),
        X_WP=Pose(read_rotation(node, np.eye(3)), position),
        description=node.text("description", default=""),
        tags=_tags(node),
        bounds=_bounds(node.mapping("bounds"), node),
    )
    node.finish()
    return pose


def _tags(node: Mapping) -> tuple[str, ...]:
    given = node.sequence("tags")
    tags: list[str] = []
    for item in () if given is None else given.items:
        if isinstance(item, Scalar):
            tags.append(item.text)
        else:
            node.diagnostics.error("wrong-type", "a tag must be a text", item.span)
    return tuple(tags)


def _bounds(box: Mapping | None, node: Mapping) -> Array | None:
    if box is None:
        return None
    lower = box.numbers("lower", count=3, default=None)
    upper = box.numbers("upper", count=3, default=None)
    box.finish()
    if lower is None or upper is None or not np.all(lower <= upper):
        message = "bounds need 'lower' and 'upper', corners [x, y, z] with lower below upper"
        node.diagnostics.error("bad-bounds", message, node.at("bounds"))
        return None
    return np.array([lower, upper])
