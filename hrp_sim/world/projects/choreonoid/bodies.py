"""Read bodies of a project: BodyItems, and scene or mesh files of BodyItems and SceneItems.

A BodyItem in the item of another one is attached to its body. Bodies of scenes and meshes have one
link; those of SceneItems do not move and collide with nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from math import degrees, radians
from pathlib import Path

import numpy as np

from hrp_model import (
    Body,
    BodyState,
    Diagnostic,
    Diagnostics,
    ModelError,
    Pose,
    Severity,
    load_body_text,
)
from hrp_model.body import ExtraJointType
from hrp_model.devices import Attachment, Holder
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.frames import add_unique
from hrp_model.readers.yaml.nodes import Mapping
from hrp_model.rigid import (
    Array,
    is_rotation,
    matrix_quaternion,
    quaternion_matrix,
)
from hrp_model.validate import validated_as

from ....control import HOLD, LIMP
from ....control.handling import JointEntry, grip_name
from ....engine.engine import Placement
from ...config import BodyEntry
from ...fields import ModelFiles
from ...motion.motion import joints_by_column
from ...naming import simulated_body
from ..common import ProjectOptions
from .items import Item, rotation_by_axis

SCENE = "SceneItem"
# Formats that Choreonoid writes into items whose file is a scene or a mesh.
_FORMATS = frozenset(
    ("GENERAL-3D-MODEL", "AVAILABLE-SCENE-FILE", "CHOREONOID-SCENE", "VRML-FILE", "STL-FILE")
)
_SUFFIXES = frozenset((".dae", ".glb", ".gltf", ".obj", ".ply", ".scen", ".stl"))
_UNITS = ("length_unit_hint", "meshLengthUnitHint")
_AXES = ("upper_axis_hint", "meshUpperAxisHint")
# As in Choreonoid, a link has 1 kg and the inertia 1 kg m^2 about all axes.
_BODY = (
    "{{ format: ChoreonoidBody, format_version: 2.0, name: scene, links: [ {{ name: {link}, "
    "joint_type: {joint}, mass: 1.0, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1], elements: [ {{ "
    "type: {kind}, elements: [ {{ type: Resource, uri: {file}, metadata: {metadata} }} ] }} ] }} ] "
    "}}"
)


def read_scene(
    item: Item, name: str, diagnostics: Diagnostics, options: ProjectOptions
) -> BodyEntry | None:
    """Return the shapes of a SceneItem as a body, or None if it shows none.

    A scene that cannot be shown is a warning, since no motion depends on it.

    Args:
        item: The item.
        name: Of the body.
        diagnostics: Receives warnings.
        options: How the project is read.
    """
    if not item.is_checked:  # Choreonoid does not show it either
        return None
    data = item.data
    written = item.file
    at = data.at("file", "filename")
    try:
        body = scene_body(item, written, options, is_visual=True)
    except (ResourceError, ModelError) as error:
        reason = error.diagnostics[0].message if isinstance(error, ModelError) else str(error)
        if not written:
            reason = "it has no 'file'"
        diagnostics.warn("unusable-scene", f"the scene '{item.name}' is not shown: {reason}", at)
        return None
    X_WL = Pose(_rotation(item), data.numbers("translation", count=3, default=np.zeros(3)))
    return BodyEntry(placement=Placement(name=name, body=body, X_WL=X_WL, fixed=True))


def _rotation(item: Item) -> Array:
    data = item.data
    if "rotation" not in data:
        return np.eye(3)
    unit = degrees(1.0) if data.text("angle_unit", default="") != "degree" else 1.0
    R = rotation_by_axis(data, "rotation", unit)
    return np.eye(3) if R is None else R


def has_scene(item: Item, file: str) -> bool:
    """Return whether the file of a BodyItem is a scene or a mesh, by its format or suffix."""
    form = item.data.text("format", default="").upper()
    return form in _FORMATS or (not form and Path(file).suffix.lower() in _SUFFIXES)


def scene_body(item: Item, file: str, options: ProjectOptions, *, is_visual: bool) -> Body:
    """Return a body with the shapes of a scene.

    Args:
        item: A SceneItem or BodyItem.
        file: Its file, as written.
        options: How the project is read.
        is_visual: Whether it does not move and collides with nothing; else it is free.

    Raises:
        ResourceError: The file does not exist.
        ModelError: It has no shapes that can be read; the first diagnostic states why.
    """
    path = resolve(options.expanded(file, item.folder), item.folder)
    data = item.data
    metadata = {
        "length_unit": data.text(*_UNITS, default="meter"),
        "upper_axis": data.text(*_AXES, default="Z"),
    }
    written = {key: x for key, x in metadata.items() if x in ("millimeter", "inch", "Y")}
    text = _BODY.format(
        link="SCENE" if is_visual else "Root",
        joint="fixed" if is_visual else "free",
        kind="Visual" if is_visual else "Transform",
        file=json.dumps(str(path)),
        metadata=json.dumps(written),
    )
    found: list[Diagnostic] = []
    body = load_body_text(text, Diagnostics(listener=found.append), kind="body")
    if not body.root.visual:
        serious = [x for x in found if x.severity is not Severity.NOTE]
        empty = Diagnostic(Severity.ERROR, "unusable-scene", "its file has no shapes")
        raise ModelError([*serious, empty])
    return simulated_body(body)


_FILE = ("file", "filename", "modelFile")
_POSITION = ("initial_root_translation", "initialRootPosition", "root_translation", "rootPosition")
# Rotations as axes with angles in degrees, and as matrices, those of the initial state first.
_ROTATIONS = (
    ("initial_root_rotation", "initialRootAttitude"),
    ("root_rotation", "rootAttitude"),
)
_ROTATION_TOLERANCE = 1e-3  # projects have numbers of six digits


class BodyReader:
    """Reads the bodies of a project.

    Args:
        diagnostics: Receives all problems.
        options: How the project is read.
    """

    def __init__(self, diagnostics: Diagnostics, options: ProjectOptions) -> None:
        self._diagnostics = diagnostics
        self._options = options
        self._models = ModelFiles(diagnostics)
        self._names: set[str] = set()
        self._variants: dict[tuple[int, bool, bool], Body] = {}

    def read(self, item: Item, *, is_controlled: bool) -> BodyEntry | None:
        """Return a body in its initial state, or None after reporting errors.

        Args:
            item: A BodyItem.
            is_controlled: Whether the project has a controller for it.
        """
        data = item.data
        written = data.text(*_FILE, default="")
        if not written:
            message = f"the body '{item.name}' has no 'file', the path of its model"
            self._diagnostics.error("missing-model", message, data.at(*_FILE))
            return None
        if has_scene(item, written):
            model = self._scene(item, written)
        else:
            uri = self._options.expanded(written, item.folder)
            model = self._models.load(uri, item.folder, data.at(*_FILE))
        if model is None:
            return None
        body = self._with_collision_of(item, model)
        placement = Placement(
            name=self._unique_name(item, body),
            body=body,
            X_WL=_root_pose(data, body),
            q=_joint_positions(data, body),
            fixed=_is_fixed(data, body),
        )
        # Nothing drives a joint without a controller in Choreonoid.
        return BodyEntry(placement=placement, control=HOLD if is_controlled else LIMP)

    def _scene(self, item: Item, file: str) -> Body | None:
        """Return the body of a scene or mesh file, or None after reporting errors."""
        at = item.data.at(*_FILE)
        try:
            return scene_body(item, file, self._options, is_visual=False)
        except ResourceError as error:
            self._diagnostics.error("missing-model", str(error), at)
        except ModelError as error:
            message = f"the body '{item.name}' cannot be used: {error.diagnostics[0].message}"
            self._diagnostics.error("unusable-scene", message, at)
        return None

    def _unique_name(self, item: Item, body: Body) -> str:
        """Return the name of a body in the world, which differs from all others."""
        wanted = item.name or body.name
        name = add_unique(wanted, self._names)
        if name != wanted:
            message = f"another body is named '{wanted}'; this one is named '{name}'"
            self._diagnostics.note("duplicate-name", message, item.node.at("name"))
        return name

    def _with_collision_of(self, item: Item, model: Body) -> Body:
        """Return the model with the collision settings of its item."""
        collides = item.data.boolean("collision_detection", "collisionDetection", default=True)
        with_itself = item.data.boolean(
            "self_collision_detection", "selfCollisionDetection", default=False
        )
        key = id(model), collides, with_itself
        if key not in self._variants:
            body = model
            if not collides:
                names = frozenset(link.name for link in model.links)
                body = replace(body, collision_disabled=names)
            elif not with_itself:
                shaped = [link.name for link in model.links if link.collision]
                pairs = frozenset(map(frozenset, combinations(shaped, 2)))
                body = replace(body, self_collision_disabled=pairs)
            self._variants[key] = validated_as(body, model)
        return self._variants[key]


def _root_pose(data: Mapping, body: Body) -> Pose:
    """Return X_WL of the root: the initial one, else the current one, else that of the model."""
    position = next((key for key in _POSITION if key in data), _POSITION[0])
    p = data.numbers(position, count=3, default=body.root.X_PL.p)
    for axis_angle, matrix in _ROTATIONS:
        if axis_angle in data:
            R = rotation_by_axis(data, axis_angle)
        elif matrix in data:
            R = _matrix(data, matrix)
        else:
            continue
        return Pose(body.root.X_PL.R if R is None else R, p)
    return Pose(body.root.X_PL.R, p)


def _matrix(data: Mapping, key: str) -> Array | None:
    numbers = data.numbers(key, count=9, default=None)
    if numbers is None:
        return None
    R = numbers.reshape(3, 3)
    if is_rotation(R, _ROTATION_TOLERANCE):
        return quaternion_matrix(matrix_quaternion(R))  # as precise as a rotation must be
    data.diagnostics.error("bad-rotation", f"'{key}' is no rotation matrix", data.at(key))
    return None


def _is_fixed(data: Mapping, body: Body) -> bool:
    if "fix_root" in data:
        return data.boolean("fix_root", default=body.is_root_fixed)
    if data.boolean("staticModel", default=body.is_static):
        return True
    return body.is_root_fixed and not body.is_static


def _joint_positions(data: Mapping, body: Body) -> Array:
    """Return the initial joint positions, shape (moving joints,).

    The newer keys have degrees, even for prismatic joints, where they are metres times 180/pi;
    the older ones have radians and metres.
    """
    q = BodyState(body).q
    if not data.lacks("joint_displacements", "jointDisplacements"):
        given = ("joint_displacements", "jointDisplacements")
        initial = ("initial_joint_displacements", "initialJointDisplacements")
        factor = radians(1.0)
    else:
        given, initial = ("jointPositions", ""), ("initialJointPositions", "")
        factor = 1.0
    columns = {link.name: i for i, link in enumerate(joints_by_column(body)) if link}
    for keys in (given, initial):
        values = data.numbers(*keys, count=None, default=np.empty(0))
        for i, link in enumerate(body.moving_links):
            if columns[link.name] < len(values):
                q[i] = values[columns[link.name]] * factor
    return q


def is_attached(item: Item) -> bool:
    """Return whether a BodyItem is attached to the body that contains it, if there is one."""
    linkage = item.data.text("parent_body_linkage", default="")
    return linkage == "attached" or (
        not linkage and item.data.boolean("enable_attachment", default=False)
    )


def attach(
    item: Item, entry: BodyEntry, parent: Placement, diagnostics: Diagnostics
) -> tuple[BodyEntry, JointEntry | None]:
    """Return a body where it is attached, and the joint by which it is.

    There is no joint if its place cannot move: then its root is fixed there. Without a link, a
    holder of the parent takes hold of the first attachment of the root that fits it; else the
    root of the parent counts, and the body remains where it is, if its item has no local pose.

    Args:
        item: Its BodyItem.
        entry: The body.
        parent: The body to which it is attached, in its initial state.
        diagnostics: Receives problems.
    """
    child, data = entry.placement, item.data
    links = {link.name: i for i, link in enumerate(parent.body.links)}
    written = data.text("parent_link", default="")
    if written and written not in links:
        hint = did_you_mean_or_all(written, links)
        message = (
            f"'{child.name}' is not attached: the body '{parent.name}' has no link "
            f"'{written}'.{hint}"
        )
        diagnostics.warn("unknown-link", message, data.at("parent_link"))
        return entry, None
    held = None if written else _held(child.body, parent.body)
    link = held[0].link if held else written or parent.body.root.name
    X_WA = _link_pose(parent, links[link])
    if held:
        X_AB = held[0].X_LS @ held[1].X_LS.inverse()
    elif data.lacks("local_translation", "local_rotation"):
        X_AB = X_WA.inverse() @ child.X_WL
    else:
        R = rotation_by_axis(data, "local_rotation")
        p = data.numbers("local_translation", count=3, default=np.zeros(3))
        X_AB = Pose(np.eye(3) if R is None else R, p)
    moves = not parent.fixed or _moves(parent.body, links[link])
    entry = replace(entry, placement=replace(child, X_WL=X_WA @ X_AB, fixed=not moves))
    if not moves:
        return entry, None
    # Named like a grip, so that the holder can let go of it.
    name = grip_name(parent.name, held[0].name) if held else f"{child.name}_attachment"
    root = child.body.root.name
    return entry, JointEntry(
        name=name,
        type=ExtraJointType.FIXED,
        bodies=(parent.name, child.name),
        links=(link, root),
        X_AJ=X_AB,
    )


def _held(child: Body, parent: Body) -> tuple[Holder, Attachment] | None:
    """Return the first holder of the parent that fits an attachment of the child's root."""
    for attachment in child.devices:
        if isinstance(attachment, Attachment) and attachment.link == child.root.name:
            for holder in parent.devices:
                if isinstance(holder, Holder) and (
                    not holder.categories or attachment.category in holder.categories
                ):
                    return holder, attachment
    return None


def _link_pose(placement: Placement, link: int) -> Pose:
    """Return the pose of a link of a body in its initial state."""
    state = BodyState(placement.body)
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    state.q[:] = placement.initial_q
    state.calc_forward_kinematics()
    return Pose(state.R[link].copy(), state.p[link].copy())


def _moves(body: Body, link: int) -> bool:
    """Return whether a link can move if the root cannot."""
    while (parent := body.parent_indices[link]) >= 0:
        if not body.links[link].joint.is_fixed:
            return True
        link = parent
    return False
