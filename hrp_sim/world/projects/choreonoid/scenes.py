"""Bodies of one link with the shapes of a scene or mesh file: of BodyItems, and SceneItems.

Those of SceneItems do not move and collide with nothing.
"""

from __future__ import annotations

import json
from math import degrees
from pathlib import Path

import numpy as np

from hrp_model import Body, Diagnostic, Diagnostics, ModelError, Pose, Severity, load_body_text
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.rigid import Array

from ....engine.engine import Placement
from ...config import BodyEntry
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
