"""Read the syntax tree of a world file into a WorldConfig."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from hrp_model import Body, BodyState, Diagnostics, Pose
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.readers.yaml.nodes import Mapping, Node, Scalar, Sequence
from hrp_model.rigid import Array
from hrp_msgs.names import namespace_error

from ..engine.engine import PhysicsSettings, Placement
from ..engine.materials import MaterialTable
from ..sensors import IDEAL
from .config import BodyEntry, WorldConfig
from .control_file import read_control, report_unknown_joints
from .controller_list import read_controllers
from .degrees import position_degrees_hint
from .joint_file import read_joints
from .material_file import load_materials, read_materials
from .model_files import ModelFiles
from .physics_file import read_physics
from .pose_file import read_named_poses
from .rotation import read_rotation
from .sensor_options import read_common, read_single


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
        for item in bodies.items if bodies else ():
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
        joints = read_joints(root, entries)
        controllers = tuple(read_controllers(root, known, self._folder, self._diagnostics))
        poses = root.sequence("named_poses")
        root.finish()
        return WorldConfig(
            physics=settings,
            sensors=IDEAL if sensors is None else read_common(sensors),
            bodies=tuple(entries),
            joints=joints,
            controllers=controllers,
            named_poses=() if poses is None else read_named_poses(poses, self._diagnostics),
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
        return MaterialTable() if inside is None else read_materials(inside, self._diagnostics)

    def _body(self, node: Node) -> BodyEntry | None:
        if not isinstance(node, Mapping):
            message = "a body must be a mapping with 'model: FILE' and further keys"
            self._diagnostics.error("wrong-type", message, node.span)
            return None
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
